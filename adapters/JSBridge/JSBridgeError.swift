public import SignalboxCore

/// An error that prevents a script source from starting or continuing.
public struct JSBridgeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Name: String {
            case invalidConfiguration, noResources, alreadyRunning, executionTimeLimit, heapLimit
            case noDisplay, noSandbox, pageFailed, notRunning, snapshotFailed
        }
        private let name: Name

        /// A configuration value is out of its range.
        public static let invalidConfiguration = Code(name: .invalidConfiguration)
        /// The system has no thread, descriptor or memory left.
        public static let noResources = Code(name: .noResources)
        /// The engine is already running; one engine is one page.
        public static let alreadyRunning = Code(name: .alreadyRunning)
        /// A script exceeded the time limit of one turn; the page was closed.
        public static let executionTimeLimit = Code(name: .executionTimeLimit)
        /// The scripts' objects exceeded the heap limit; the page was closed.
        public static let heapLimit = Code(name: .heapLimit)
        /// There is no display for a web view.
        public static let noDisplay = Code(name: .noDisplay)
        /// The system cannot sandbox the web view's processes, and the configuration requires it.
        public static let noSandbox = Code(name: .noSandbox)
        /// The separate process of a page failed. In a web view: the page's process ended, or its first page failed to
        /// load, more often in a row than the configuration allows.
        public static let pageFailed = Code(name: .pageFailed)
        /// The operation requires a page, and the engine is not running.
        public static let notRunning = Code(name: .notRunning)
        /// The engine could not capture an image of the page.
        public static let snapshotFailed = Code(name: .snapshotFailed)

        /// The name used in logs, such as `executionTimeLimit`.
        public var description: String { name.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The source that failed.
    public let source: SourceName
    /// A sentence that describes the error and its remedy.
    public let detail: String

    init(_ code: Code, _ detail: String, source: SourceName) {
        self.code = code
        self.source = source
        self.detail = detail
    }

    /// Returns the error of a turn that exceeded `limit`.
    static func overrun(_ limit: Duration, source: SourceName) -> JSBridgeError {
        JSBridgeError(.executionTimeLimit, "a script ran for \(limit) without returning", source: source)
    }

    /// The source and the detail.
    public var description: String { "source \(source): \(detail)" }
}
