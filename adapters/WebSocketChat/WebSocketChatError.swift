public import SignalboxCore

/// The error thrown when a WebSocket source cannot be set up or cannot continue.
///
/// Use ``code`` to handle the error in a program; ``detail`` is a human-readable explanation. Neither ever contains a
/// secret, so you can log the error as is.
public struct WebSocketChatError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error. Later versions may add more kinds.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `invalidURL`.
        public let rawValue: String

        /// Creates a code with the given name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The URL cannot be used to open a WebSocket.
        public static let invalidURL = Code(rawValue: "invalidURL")
        /// A configuration value is out of range, or two values conflict.
        public static let invalidConfiguration = Code(rawValue: "invalidConfiguration")
        /// A token could not be read.
        public static let secretUnavailable = Code(rawValue: "secretUnavailable")
        /// The source is already running.
        public static let alreadyRunning = Code(rawValue: "alreadyRunning")
        /// The first connection failed, and the configuration requires it to succeed.
        public static let notConnected = Code(rawValue: "notConnected")
        /// The connection ended abnormally, and the configuration disables reconnection.
        public static let ended = Code(rawValue: "ended")
        /// The server cannot listen because the port is in use, the address is not local, or the certificate is
        /// unusable.
        public static let notListening = Code(rawValue: "notListening")
        /// The system could not provide a thread, a descriptor or memory.
        public static let noResources = Code(rawValue: "noResources")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The source that the error is about, if known.
    public let source: SourceName?
    /// A sentence that states the problem and how to fix it.
    public let detail: String
    /// How the connection ended, for `notConnected` and `ended`.
    package private(set) var disconnectReason: WebSocketDisconnectReason?

    package init(_ code: Code, _ detail: String, source: SourceName? = nil) {
        self.code = code
        self.source = source
        self.detail = detail
    }

    static func invalid(_ detail: String) -> WebSocketChatError {
        WebSocketChatError(.invalidConfiguration, detail)
    }

    func with(_ disconnectReason: WebSocketDisconnectReason) -> WebSocketChatError {
        var error = self
        error.disconnectReason = disconnectReason
        return error
    }

    func about(_ source: SourceName) -> WebSocketChatError {
        var error = WebSocketChatError(code, detail, source: source)
        error.disconnectReason = disconnectReason
        return error
    }

    /// The name of the source, if known, followed by the detail and the code, such as `[WebSocketChatError.notListening]`.
    public var description: String { coded(source.map { "source \($0): \(detail)" } ?? detail) }
}

extension WebSocketChatError: CodedError {
    /// The name of ``code``.
    package var codeName: String { code.rawValue }
}

/// Formats untrusted text for logs and errors.
package enum UntrustedText {
    private static let limit = 128

    /// Returns the text in quotes. Characters that are invisible or change the text's direction are escaped, and long
    /// text is truncated.
    package static func quoted(_ text: String) -> String {
        var shown = "\""
        for scalar in text.unicodeScalars.prefix(limit) {
            if scalar == "\"" || scalar == "\\" {
                shown += "\\\(scalar)"
            } else if isVisible(scalar) {
                shown.unicodeScalars.append(scalar)
            } else {
                shown += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return shown + (text.unicodeScalars.count > limit ? "\"..." : "\"")
    }

    private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
        default: true
        }
    }
}
