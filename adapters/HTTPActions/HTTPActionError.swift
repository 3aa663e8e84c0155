public import SignalboxCore
import WebSocketChat

/// The error thrown when a source of HTTP requests cannot be set up or cannot continue.
///
/// Use ``code`` to handle the error in a program; ``detail`` is a human-readable explanation. Neither ever contains a secret,
/// so you can log the error as is.
public struct HTTPActionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of error. Later versions may add more kinds.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `notListening`.
        public let rawValue: String

        /// Creates a code with the given name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A configuration value is out of range, or two values conflict.
        public static let invalidConfiguration = Code(rawValue: "invalidConfiguration")
        /// A token or a key could not be read.
        public static let secretUnavailable = Code(rawValue: "secretUnavailable")
        /// The source is already running.
        public static let alreadyRunning = Code(rawValue: "alreadyRunning")
        /// The listener cannot listen because the port is in use, the address is not local, or the certificate is unusable.
        public static let notListening = Code(rawValue: "notListening")
        /// The system could not provide a thread, a descriptor or memory.
        public static let noResources = Code(rawValue: "noResources")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The source that the error is about.
    public let source: SourceName
    /// A sentence that states the problem and how to fix it.
    public let detail: String

    package init(_ code: Code, _ detail: String, source: SourceName) {
        self.code = code
        self.source = source
        self.detail = detail
    }

    /// Converts an error of the listener, whose codes have the same names.
    init(_ error: WebSocketChatError, source: SourceName) {
        self.init(Code(rawValue: error.code.rawValue), error.detail, source: source)
    }

    /// The name of the source, followed by the detail and the code, such as `[HTTPActionError.notListening]`.
    public var description: String { coded("source \(source): \(detail)") }
}

extension HTTPActionError: CodedError {
    /// The name of ``code``.
    package var codeName: String { code.rawValue }
}
