public import SignalboxCore

/// Why a script source cannot be set up, or cannot go on.
public struct JSBridgeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case invalidConfiguration, noResources, alreadyRunning, executionTimeLimit, heapLimit
            case noDisplay, noSandbox, pageFailed, notRunning, snapshotFailed
        }
        private let word: Word

        /// A value of the configuration is out of its range.
        public static let invalidConfiguration = Code(word: .invalidConfiguration)
        /// The system gave no thread, no descriptor or no memory.
        public static let noResources = Code(word: .noResources)
        /// The engine runs already; one engine is one page.
        public static let alreadyRunning = Code(word: .alreadyRunning)
        /// A script used more time in one turn than it may have; the page was closed.
        public static let executionTimeLimit = Code(word: .executionTimeLimit)
        /// The scripts' objects need more memory than they may have; the page was closed.
        public static let heapLimit = Code(word: .heapLimit)
        /// There is no display that a web view could be made for.
        public static let noDisplay = Code(word: .noDisplay)
        /// The system does not let the web view's processes be shut in, and the engine was told to insist.
        public static let noSandbox = Code(word: .noSandbox)
        /// The page's process ended, and was begun again as often as it may be.
        public static let pageFailed = Code(word: .pageFailed)
        /// What was asked for needs a page, and the engine does not run.
        public static let notRunning = Code(word: .notRunning)
        /// The engine gave no picture of the page.
        public static let snapshotFailed = Code(word: .snapshotFailed)

        /// The word used in logs, such as `executionTimeLimit`.
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

    /// A turn took too long.
    static func overrun(_ limit: Duration, source: SourceName) -> JSBridgeError {
        JSBridgeError(.executionTimeLimit, "a script ran for \(limit) without giving the thread back", source: source)
    }

    /// The source and the detail.
    public var description: String { "source \(source): \(detail)" }
}
