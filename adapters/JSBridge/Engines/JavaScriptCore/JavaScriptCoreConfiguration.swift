public import SignalboxCore

/// What a headless page runs, and its bounds.
public struct JavaScriptCoreConfiguration: Sendable {
    /// The configured source whose arrivals these are.
    public var source: SourceName
    /// Run in this order when the page begins, in one global scope.
    public var scripts: [PageScript]
    /// What ``PageHandle/title`` answers, as a script has no document of its own; none by default.
    public var title: String?
    /// Whether the page ends by itself once no timer, no call in flight and no message to it is left; `false` by default.
    public var endsWhenIdle = false
    /// How much processor time scripts may use without giving the thread back, above zero and at most 1 h; 10 s by
    /// default. A page that uses more is closed; a chain of promises without end may use some times as much first. Not
    /// enforced on Apple platforms, where the call for it is private.
    public var executionTimeLimit: Duration = .seconds(10)
    /// How much memory the scripts' objects may take, in bytes, at least 1 MiB; 256 MiB by default. Checked at most ten
    /// times a second, between turns and within them, so a page may exceed it for a moment; one that stays over it is closed. A
    /// single call into the library, such as a sort, is not interrupted. Not enforced on Apple platforms.
    public var heapLimit = 256 * 1_024 * 1_024
    /// The most timers at once, 1 to 1,000,000; 1,000 by default. `setTimeout` throws a `RangeError` beyond it.
    public var timerLimit = 1_000
    /// The most calls and messages from the program that wait for the page's thread, 1 to 1,000,000; 1,000 by default.
    /// Beyond it a ``PageHandle`` answers `full`.
    public var messagesToPage = 1_000
    /// The most messages that wait in the page for a listener of `signalbox.on`, 1 to 1,000,000; 256 by default. Beyond it
    /// the oldest is dropped, which is logged; a call that waited for an answer gets an error.
    public var messagesWithoutListener = 256
    /// The most messages from the page that are submitted at once, 1 to 1,000; 256 by default. While the source's window is
    /// full the script stands still in its `postMessage` or `call`.
    public var batchMessages = 256
    /// The bounds of one message, either way.
    public var limits = MessageLimits()
    /// The most lines a second that `console` may log, at least 1; 100 by default. What is over is counted and told in one
    /// line.
    public var consoleLinesPerSecond = 100

    /// The process in which the scripts run; `nil` (default): the program's own.
    public var process: ScriptProcess?

    /// A page of these scripts, with the defaults.
    public init(source: SourceName, scripts: [PageScript]) {
        self.source = source
        self.scripts = scripts
    }
}

extension JavaScriptCoreConfiguration {
    /// Checks every range.
    ///
    /// - Throws: ``JSBridgeError`` `invalidConfiguration` for the first fault, with what to do.
    public func validate() throws(JSBridgeError) {
        guard executionTimeLimit > .zero, executionTimeLimit <= .seconds(3_600) else {
            throw fault("the execution time limit is above zero and at most 1 h")
        }
        guard heapLimit >= 1_048_576 else { throw fault("the heap limit is at least 1 MiB") }
        guard (1...1_000_000).contains(timerLimit) else { throw fault("the timer limit is 1 to 1000000") }
        guard (1...1_000_000).contains(messagesToPage) else { throw fault("the messages to the page are 1 to 1000000") }
        guard (1...1_000_000).contains(messagesWithoutListener) else {
            throw fault("the messages without a listener are 1 to 1000000")
        }
        guard (1...1_000).contains(batchMessages) else { throw fault("the messages of a batch are 1 to 1000") }
        if let process {
            guard process.program.hasPrefix("/") else {
                throw fault("the program of the page's process must be an absolute path")
            }
            guard process.memoryLimit >= 64 << 20 else {
                throw fault("the memory limit of a process must be at least 64 MiB")
            }
        }
        guard consoleLinesPerSecond >= 1 else { throw fault("the console lines a second are at least 1") }
    }

    private func fault(_ detail: String) -> JSBridgeError {
        JSBridgeError(.invalidConfiguration, detail, source: source)
    }
}

/// One script of a page: its source text and the name that errors show.
public struct PageScript: Sendable, Hashable {
    /// Shown in errors as `name:line:column`; for a file its path.
    public let name: String
    /// JavaScript, run as a classic script and not as a module.
    public let source: String

    /// A script made in the program.
    public init(name: String, source: String) {
        self.name = name
        self.source = source
    }
}
