public import SignalboxCore

/// The scripts and limits of a headless page.
///
/// Set ``process`` to run the scripts in a separate process instead of in the program.
///
/// ```swift
/// let script = PageScript(name: "page.js", source: "signalbox.on('show', (body) => ({ shown: body.card }))")
/// var configuration = JavaScriptCoreConfiguration(source: "page", scripts: [script])
/// configuration.executionTimeLimit = .seconds(2)
/// ```
public struct JavaScriptCoreConfiguration: Sendable, Hashable {
    /// The configured source of the arrivals.
    public var source: SourceName
    /// The scripts, which run in this order in one global scope when the page begins.
    public var scripts: [PageScript]
    /// The value of ``PageHandle/title``, because a script has no document. The default is `nil`.
    public var title: String?
    /// Whether the page ends once no timer, call in flight or message to the page remains. The default is `false`.
    public var endsWhenIdle = false
    /// The maximum processor time of one turn. It is above zero and at most 1 h. The default is 10 s.
    ///
    /// A page that exceeds the limit is closed, but an endless promise chain may use several times as much before that.
    /// The limit is not enforced on Apple platforms, where the required function is private.
    public var executionTimeLimit: Duration = .seconds(10)
    /// The maximum memory of the objects of the scripts, in bytes. It is at least 1 MiB. The default is 256 MiB.
    ///
    /// The memory is checked at most ten times a second, between turns and within them, and a page that stays over the
    /// limit is closed. A single call into the library, such as a sort, is not interrupted. The limit is not enforced
    /// on Apple platforms.
    public var heapLimit = 256 * 1_024 * 1_024
    /// The maximum number of timers, from 1 to 1,000,000. The default is 1,000. Beyond it, `setTimeout` throws a
    /// `RangeError`.
    public var timerLimit = 1_000
    /// The maximum number of calls and messages from the program that wait for the thread of the page, from 1 to
    /// 1,000,000. The default is 1,000. Beyond it, a ``PageHandle`` throws `full`.
    public var messagesToPage = 1_000
    /// The maximum number of messages that wait in the page for a listener of `signalbox.on`, from 1 to 1,000,000. The
    /// default is 256. Beyond it, the page logs and drops the oldest message. If that message was a call, the call
    /// fails.
    public var messagesWithoutListener = 256
    /// The maximum number of messages in one batch from the page, from 1 to 1,000. The default is 256. While the window
    /// of the source is full, the script blocks in its `postMessage` or `call`.
    public var batchMessages = 256
    /// The limits of one message, in either direction.
    public var limits = MessageLimits()
    /// The maximum number of `console` lines that are logged per second. It is at least 1. The default is 100. One
    /// further line reports the number of lines that were withheld.
    public var consoleLinesPerSecond = 100

    /// The process that runs the scripts, or `nil` to run them in the program itself. The default is `nil`.
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

/// A script of a page, with the name that appears in errors.
public struct PageScript: Sendable, Hashable {
    /// The name in errors, which have the form `name:line:column`. For a script from a file, it is the path of the
    /// file.
    public let name: String
    /// The JavaScript text, which runs as a classic script instead of a module.
    public let source: String

    /// Creates a script from text.
    public init(name: String, source: String) {
        self.name = name
        self.source = source
    }
}
