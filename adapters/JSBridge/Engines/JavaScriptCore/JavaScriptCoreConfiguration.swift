public import SignalboxCore

/// The scripts and limits of a headless page.
///
/// Set ``process`` to run the scripts in a separate process instead of inside the program.
///
/// ```swift
/// let script = PageScript(name: "page.js", source: "signalbox.on('show', (body) => ({ shown: body.card }))")
/// var configuration = JavaScriptCoreConfiguration(source: "page", scripts: [script])
/// configuration.executionTimeLimit = .seconds(2)
/// ```
public struct JavaScriptCoreConfiguration: Sendable, Hashable {
    /// The source name of the messages that the page sends.
    public var source: SourceName
    /// The scripts, which run in this order in one global scope when the page starts.
    public var scripts: [PageScript]
    /// The title that ``PageHandle/title`` returns, because a headless page has no document. The default is `nil`.
    public var title: String?
    /// Whether the page ends once it has no timers, no calls in flight, and no messages left to receive. The default is
    /// `false`.
    public var endsWhenIdle = false
    /// The maximum processor time of one turn. Must be above zero and at most 1 h; the default is 10 s.
    ///
    /// A page that exceeds the limit is closed, although an endless promise chain may use several times the limit
    /// first. The limit is not enforced on Apple platforms, where the JavaScriptCore function that it requires is
    /// private.
    public var executionTimeLimit: Duration = .seconds(10)
    /// The maximum memory of the scripts' objects, in bytes. Must be at least 1 MiB; the default is 256 MiB.
    ///
    /// The memory is checked between turns and during them, at most ten times a second. A page that stays over the
    /// limit is closed, but a single call into JavaScriptCore, such as a sort, is not interrupted. The limit is not
    /// enforced on Apple platforms.
    public var heapLimit = 256 * 1_024 * 1_024
    /// The maximum number of timers, from 1 to 1,000,000. The default is 1,000. When the limit is reached, `setTimeout`
    /// throws a `RangeError`.
    public var timerLimit = 1_000
    /// The maximum number of calls and messages from the program that can wait for the page's thread, from 1 to
    /// 1,000,000. The default is 1,000. When the limit is reached, a ``PageHandle`` throws `full`.
    public var messagesToPage = 1_000
    /// The maximum number of messages that can wait in the page for a `signalbox.on` listener, from 1 to 1,000,000. The
    /// default is 256. When the limit is exceeded, the page logs and drops the oldest message. If that message was a
    /// call, the call fails.
    public var messagesWithoutListener = 256
    /// The maximum number of messages in one batch from the page, from 1 to 1,000. The default is 256. The page's
    /// `postMessage` and `call` block the script while the source's window is full.
    public var batchMessages = 256
    /// The limits for a single message, in either direction.
    public var limits = MessageLimits()
    /// The maximum number of `console` lines logged per second. Must be at least 1; the default is 100. One extra line
    /// reports how many lines were withheld.
    public var consoleLinesPerSecond = 100

    /// The process that runs the scripts, or `nil` to run them inside the program. The default is `nil`.
    public var process: ScriptProcess?

    /// Creates a configuration for a page with these scripts and default limits.
    public init(source: SourceName, scripts: [PageScript]) {
        self.source = source
        self.scripts = scripts
    }
}

extension JavaScriptCoreConfiguration {
    /// Checks that every value is in range.
    ///
    /// - Throws: ``JSBridgeError`` `invalidConfiguration`, which describes the first invalid value and how to fix it.
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

/// A script for a page, and the name under which the script appears in errors.
public struct PageScript: Sendable, Hashable {
    /// The name shown in errors, which have the form `name:line:column`. For a script from a file, use the file's path.
    public let name: String
    /// The JavaScript text. It runs as a classic script, not as a module.
    public let source: String

    /// Creates a script from its text.
    public init(name: String, source: String) {
        self.name = name
        self.source = source
    }
}
