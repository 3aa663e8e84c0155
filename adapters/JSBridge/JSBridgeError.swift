public import SignalboxCore

/// An error that prevents a script source from starting or continuing.
public struct JSBridgeError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name used in logs, such as `executionTimeLimit`.
        public let rawValue: String

        /// Creates a code with the given name.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// A configuration value is out of range.
        public static let invalidConfiguration = Code(rawValue: "invalidConfiguration")
        /// The system has no threads, descriptors or memory left.
        public static let noResources = Code(rawValue: "noResources")
        /// The engine is already running. One engine runs one page at a time.
        public static let alreadyRunning = Code(rawValue: "alreadyRunning")
        /// A script exceeded the time limit for one turn, so the page was closed.
        public static let executionTimeLimit = Code(rawValue: "executionTimeLimit")
        /// The scripts' objects exceeded the heap limit, so the page was closed.
        public static let heapLimit = Code(rawValue: "heapLimit")
        /// No display is available for a web view.
        public static let noDisplay = Code(rawValue: "noDisplay")
        /// The system cannot sandbox the web view's processes, and the configuration requires a sandbox.
        public static let noSandbox = Code(rawValue: "noSandbox")
        /// A page's separate process failed, or a web view failed more times in a row than the configuration allows. A
        /// web view fails when the page's process ends or when the first page cannot be loaded.
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
    /// A sentence that describes the error and how to fix it.
    public let detail: String

    package init(_ code: Code, _ detail: String, source: SourceName) {
        self.code = code
        self.source = source
        self.detail = detail
    }

    /// Returns the error for a run that was started while another run was active.
    static func alreadyRunning(_ source: SourceName) -> JSBridgeError {
        JSBridgeError(.alreadyRunning, "the engine is already running; create one engine per page", source: source)
    }

    /// Returns the error for a turn that exceeded `limit`.
    static func overrun(_ limit: Duration, source: SourceName) -> JSBridgeError {
        JSBridgeError(.executionTimeLimit, "a script ran for \(limit) without returning", source: source)
    }

    /// The source and the detail, followed by the code, such as `[JSBridgeError.pageFailed]`.
    public var description: String { coded("source \(source): \(detail)") }
}

extension JSBridgeError: CodedError {
    /// The name of ``code``.
    package var codeName: String { code.rawValue }
}

/// Checks an engine's configuration. Every error that it throws has the code `invalidConfiguration`.
struct ConfigurationCheck {
    let source: SourceName

    func require(_ isValid: Bool, _ detail: @autoclosure () -> String) throws(JSBridgeError) {
        guard isValid else { throw JSBridgeError(.invalidConfiguration, detail(), source: source) }
    }

    /// - Parameter name: The subject of the error message, which also states the range.
    func require(_ value: Int, in range: ClosedRange<Int>, _ name: String) throws(JSBridgeError) {
        try require(range.contains(value), "\(name) must be \(range.lowerBound) to \(range.upperBound)")
    }
}
