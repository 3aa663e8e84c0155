public import SignalboxCore

/// Why pages in browsers cannot be served. Never contains a secret.
public struct BrowserBridgeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case invalidConfiguration, secretUnavailable, alreadyRunning, notListening, noResources
        }
        private let word: Word

        /// A value of the configuration is out of its range, or two do not go together.
        public static let invalidConfiguration = Code(word: .invalidConfiguration)
        /// The token could not be read from where it is kept.
        public static let secretUnavailable = Code(word: .secretUnavailable)
        /// The engine runs already.
        public static let alreadyRunning = Code(word: .alreadyRunning)
        /// It cannot listen: the port is taken, the address is not this machine's, or its certificate is unusable.
        public static let notListening = Code(word: .notListening)
        /// The system gave no thread, no descriptor or no memory.
        public static let noResources = Code(word: .noResources)

        /// The word used in logs, such as `notListening`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// The source it is about.
    public let source: SourceName
    /// What is wrong and what to do about it, in a sentence.
    public let detail: String

    init(_ code: Code, _ detail: String, source: SourceName) {
        self.code = code
        self.source = source
        self.detail = detail
    }

    /// The source and the detail.
    public var description: String { "source \(source): \(detail)" }
}
