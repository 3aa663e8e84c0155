public import SignalboxCore

/// An error that prevents a script source from starting or continuing.
public struct JSBridgeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `executionTimeLimit`.
        public let rawValue: String

        /// Creates a code by its name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A configuration value is out of its range.
        public static let invalidConfiguration = Code(rawValue: "invalidConfiguration")
        /// The system has no thread, descriptor or memory left.
        public static let noResources = Code(rawValue: "noResources")
        /// The engine is already running. One engine runs one page at a time.
        public static let alreadyRunning = Code(rawValue: "alreadyRunning")
        /// A script exceeded the time limit of one turn, so the page was closed.
        public static let executionTimeLimit = Code(rawValue: "executionTimeLimit")
        /// The objects of the scripts exceeded the heap limit, so the page was closed.
        public static let heapLimit = Code(rawValue: "heapLimit")
        /// There is no display for a web view.
        public static let noDisplay = Code(rawValue: "noDisplay")
        /// The system cannot sandbox the processes of the web view, and the configuration requires it.
        public static let noSandbox = Code(rawValue: "noSandbox")
        /// The separate process of a page failed. In a web view, the process of the page ended or the first page failed
        /// to load, more often in a row than the configuration allows.
        public static let pageFailed = Code(rawValue: "pageFailed")
        /// The operation requires a page, but the engine is not running.
        public static let notRunning = Code(rawValue: "notRunning")
        /// The engine could not capture an image of the page.
        public static let snapshotFailed = Code(rawValue: "snapshotFailed")

        /// The name.
        public var description: String { rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// The source that failed.
    public let source: SourceName
    /// A sentence that describes the error and its remedy.
    public let detail: String

    package init(_ code: Code, _ detail: String, source: SourceName) {
        self.code = code
        self.source = source
        self.detail = detail
    }

    /// Returns the error of a run that was started while another one is active.
    static func alreadyRunning(_ source: SourceName) -> JSBridgeError {
        JSBridgeError(.alreadyRunning, "the engine is already running; create one engine per page", source: source)
    }

    /// Returns the error of a turn that exceeded `limit`.
    static func overrun(_ limit: Duration, source: SourceName) -> JSBridgeError {
        JSBridgeError(.executionTimeLimit, "a script ran for \(limit) without returning", source: source)
    }

    /// The source and the detail.
    public var description: String { "source \(source): \(detail)" }
}

/// A checker of an engine's configuration. Every error that it throws is `invalidConfiguration`.
struct ConfigurationCheck {
    let source: SourceName

    func require(_ isValid: Bool, _ detail: @autoclosure () -> String) throws(JSBridgeError) {
        guard isValid else { throw JSBridgeError(.invalidConfiguration, detail(), source: source) }
    }

    /// - Parameter name: The subject of the error's sentence, which states the range.
    func require(_ value: Int, in range: ClosedRange<Int>, _ name: String) throws(JSBridgeError) {
        try require(range.contains(value), "\(name) must be \(range.lowerBound) to \(range.upperBound)")
    }
}
