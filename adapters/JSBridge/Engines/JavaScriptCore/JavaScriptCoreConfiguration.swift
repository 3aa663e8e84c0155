public import SignalboxCore

/// The scripts and limits of a headless page.
public struct JavaScriptCoreConfiguration: Sendable, Hashable {
    /// The configured source of the arrivals.
    public var source: SourceName
    /// The scripts, run in this order in one global scope when the page begins.
    public var scripts: [PageScript]
    /// The value of ``PageHandle/title``, because a script has no document; `nil` by default.
    public var title: String?
    /// Whether the page ends once no timer, call in flight or message to it remains; `false` by default.
    public var endsWhenIdle = false
    /// The maximum processor time of one turn, above zero and at most 1 h; 10 s by default. A page that exceeds it is
    /// closed; an endless promise chain may use several times as much first. Not enforced on Apple platforms, where the
    /// required function is private.
    public var executionTimeLimit: Duration = .seconds(10)
    /// The maximum memory of the scripts' objects in bytes, at least 1 MiB; 256 MiB by default. Checked at most ten
    /// times a second, between turns and within them. A page that stays over the limit is closed. A single call into
    /// the library, such as a sort, is not interrupted. Not enforced on Apple platforms.
    public var heapLimit = 256 * 1_024 * 1_024
    /// The maximum number of timers, 1 to 1,000,000; 1,000 by default. Beyond it, `setTimeout` throws a `RangeError`.
    public var timerLimit = 1_000
    /// The maximum number of calls and messages from the program that wait for the page's thread, 1 to 1,000,000; 1,000
    /// by default. Beyond it, a ``PageHandle`` throws `full`.
    public var messagesToPage = 1_000
    /// The maximum number of messages that wait in the page for a listener of `signalbox.on`, 1 to 1,000,000; 256 by
    /// default. Beyond it, the page logs and drops the oldest; a call waiting for its answer fails.
    public var messagesWithoutListener = 256
    /// The maximum number of messages in one batch from the page, 1 to 1,000; 256 by default. While the source's window
    /// is full, the script blocks in its `postMessage` or `call`.
    public var batchMessages = 256
    /// The limits of one message, in either direction.
    public var limits = MessageLimits()
    /// The maximum number of `console` lines logged per second, at least 1; 100 by default. One line reports the rest.
    public var consoleLinesPerSecond = 100

    /// The process that runs the scripts, or `nil` for the program's own; `nil` by default.
    public var process: ScriptProcess?

    /// Creates the configuration of a page with these scripts and default limits.
    public init(source: SourceName, scripts: [PageScript]) {
        self.source = source
        self.scripts = scripts
    }
}

extension JavaScriptCoreConfiguration {
    /// Validates the range of every value.
    ///
    /// - Throws: ``JSBridgeError`` `invalidConfiguration` for the first invalid value, with its remedy.
    public func validate() throws(JSBridgeError) {
        let check = ConfigurationCheck(source: source)
        let isBounded = executionTimeLimit > .zero && executionTimeLimit <= .seconds(3_600)
        try check.require(isBounded, "the execution time limit must be above zero and at most 1 h")
        try check.require(heapLimit >= 1_048_576, "the heap limit must be at least 1 MiB")
        try check.require(timerLimit, in: 1...1_000_000, "the timer limit")
        try check.require(messagesToPage, in: 1...1_000_000, "the messages to the page")
        try check.require(messagesWithoutListener, in: 1...1_000_000, "the messages without a listener")
        try check.require(batchMessages, in: 1...1_000, "the messages of a batch")
        if let process {
            let isAbsolute = process.program.hasPrefix("/")
            try check.require(isAbsolute, "the program of the page's process must be an absolute path")
            let isEnough = process.memoryLimit >= 64 << 20
            try check.require(isEnough, "the memory limit of a process must be at least 64 MiB")
        }
        try check.require(consoleLinesPerSecond >= 1, "the console lines per second must be at least 1")
    }
}

/// A script of a page, with the name that errors show.
public struct PageScript: Sendable, Hashable {
    /// The name in errors, which have the form `name:line:column`; the path of a file.
    public let name: String
    /// The JavaScript text, run as a classic script instead of a module.
    public let source: String

    /// Creates a script from text.
    public init(name: String, source: String) {
        self.name = name
        self.source = source
    }
}
