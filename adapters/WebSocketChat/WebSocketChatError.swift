public import SignalboxCore

/// Why a WebSocket source cannot be set up, or cannot go on. Never contains a secret.
public struct WebSocketChatError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case invalidURL, invalidConfiguration, secretUnavailable, alreadyRunning, notConnected, ended, notListening
            case noResources
        }
        private let word: Word

        /// A URL that no WebSocket can be opened with.
        public static let invalidURL = Code(word: .invalidURL)
        /// A value of the configuration is out of its range, or two do not go together.
        public static let invalidConfiguration = Code(word: .invalidConfiguration)
        /// A token could not be read from where it is kept.
        public static let secretUnavailable = Code(word: .secretUnavailable)
        /// The source runs already.
        public static let alreadyRunning = Code(word: .alreadyRunning)
        /// There was no connection, and the configuration says that there must be one.
        public static let notConnected = Code(word: .notConnected)
        /// The connection ended otherwise than by a normal close, and the configuration says that it is not made again.
        public static let ended = Code(word: .ended)
        /// The server cannot listen: the port is taken, the address is not this machine's, or its certificate is unusable.
        public static let notListening = Code(word: .notListening)
        /// The system gave no thread, no descriptor or no memory.
        public static let noResources = Code(word: .noResources)

        /// The word used in logs, such as `invalidURL`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// The source it is about, where that was known.
    public let source: SourceName?
    /// What is wrong and what to do about it, in a sentence.
    public let detail: String
    /// How the connection ended that it is about, of `notConnected` and `ended`.
    package private(set) var ending: WebSocketEnding?

    init(_ code: Code, _ detail: String, source: SourceName? = nil) {
        self.code = code
        self.source = source
        self.detail = detail
    }

    func with(_ ending: WebSocketEnding) -> WebSocketChatError {
        var error = self
        error.ending = ending
        return error
    }

    func about(_ source: SourceName) -> WebSocketChatError {
        var error = WebSocketChatError(code, detail, source: source)
        error.ending = ending
        return error
    }

    /// The source, where known, and the detail.
    public var description: String {
        guard let source else { return detail }
        return "source \(source): \(detail)"
    }
}

/// Text from anywhere, for a line that people read.
enum ShownText {
    private static let limit = 128

    /// In quotes, with everything escaped that has no shape of its own or moves what stands around it; of a long text the
    /// beginning.
    static func quoted(_ text: String) -> String {
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
