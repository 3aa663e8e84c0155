import AdapterSupport
public import Logging
public import SignalboxCore

/// An engine for a page without a window. Scripts run in JavaScriptCore with `signalbox`, timers, `console` and
/// `window.webkit.messageHandlers`, but without a DOM, `fetch`, navigation, modules or other browser features.
///
/// One thread per run executes all JavaScript. Each call is answered with its outcome; messages are neither
/// acknowledged nor redelivered. While the source's window is full, the script blocks in its call.
///
/// The first page of a process takes about 25 MB of resident memory, most of it the library's. Each further page takes
/// about 2 MB plus its scripts' objects.
public final class JavaScriptCoreEngine: Adapter {
    /// The engine's configuration.
    public let configuration: JavaScriptCoreConfiguration
    /// The page, the same for all runs. Messages sent between runs wait for the next run, in a bounded queue. After
    /// ``PageHandle/close()`` the page refuses messages until the next run begins.
    public let page: PageHandle
    let mailbox: PageMailbox
    private let counters = PageCounters()
    private let logger: Logger
    private let endProcess: (@Sendable (JSBridgeError) -> Never)?

    /// Creates an engine and validates its configuration.
    ///
    /// - Parameters:
    ///   - configuration: The scripts and limits of the page.
    ///   - logger: The destination of script errors, `console` output and reports of dropped messages.
    /// - Throws: ``JSBridgeError`` `invalidConfiguration`.
    public convenience init(_ configuration: JavaScriptCoreConfiguration, logger: Logger) throws(JSBridgeError) {
        try self.init(configuration, logger: logger, endProcess: nil)
    }

    /// - Parameter endProcess: A closure that ends the process, which has only this page. Called when the library fails
    ///   to end a turn that exceeded its limit.
    init(
        _ configuration: JavaScriptCoreConfiguration,
        logger: Logger,
        endProcess: (@Sendable (JSBridgeError) -> Never)?
    ) throws(JSBridgeError) {
        try configuration.validate()
        self.configuration = configuration
        self.logger = logger
        self.endProcess = endProcess
        mailbox = PageMailbox(
            title: configuration.title,
            bound: configuration.messagesToPage,
            limits: configuration.limits
        )
        page = PageHandle(port: mailbox)
    }

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// Replies to each call, and pushes from the program.
    public var features: AdapterFeatures { [.replies, .pushes] }

    /// The number of script exceptions and unhandled promise rejections since the engine was created.
    public var scriptErrors: Int { counters.value.scriptErrors }

    /// Runs the scripts, then timers and answers, until the task is cancelled, the page is closed, or the page is idle
    /// and ``JavaScriptCoreConfiguration/endsWhenIdle`` is set.
    ///
    /// Each run is a new page. Cancellation stops it gracefully: new calls are answered `drain`, calls in flight get
    /// their outcome, then the page ends. ``PageHandle/close()`` and the limits end it immediately and reject calls in
    /// flight with `closed`. In each case the function returns once everything submitted has settled.
    ///
    /// - Throws: ``JSBridgeError`` `alreadyRunning`, `noResources`, `executionTimeLimit`, `heapLimit`; with a separate
    ///   process also `pageFailed`. After `executionTimeLimit` the page's thread may remain, if its script cannot be
    ///   ended.
    public func run(into intake: any Intake) async throws {
        guard mailbox.begin() else { throw JSBridgeError.alreadyRunning(source) }
        defer { mailbox.end() }
        // A run cancelled before it starts sends nothing.
        guard !Task.isCancelled else { return }
        let control: PageControl
        do throws(SystemResourceError) {
            control = try PageControl()
            try control.bridge.start { [self] () throws(JSBridgeError) in try runPage(control, intake) }
        } catch {
            throw JSBridgeError(.noResources, error.description, source: source)
        }
        // An unstructured task, because the watch must continue while this task is cancelled.
        let watch = Task { [configuration, endProcess] in
            let limit = configuration.executionTimeLimit
            if let endProcess {
                await control.waitForOverrun(limit)
                if !Task.isCancelled { endProcess(JSBridgeError.overrun(limit, source: configuration.source)) }
            } else if configuration.process == nil {
                // A separate process has its own watch, and can be killed.
                await control.watch(limit)
            }
        }
        defer { watch.cancel() }
        switch await control.bridge.served(by: intake) {
        case .returned(let failure):
            if let failure { throw failure }
        case .detached:
            mailbox.detach(control, hasFailed: true)
            let detail = "a script does not end and cannot be stopped; its thread keeps running"
            throw JSBridgeError(.executionTimeLimit, detail, source: source)
        }
    }

    /// The body of the page's thread.
    private func runPage(_ control: PageControl, _ intake: any Intake) throws(JSBridgeError) {
        control.processorTime.begin()
        let parts = PageRun.Parts(
            configuration: configuration,
            control: control,
            mailbox: mailbox,
            handle: page,
            intake: intake,
            log: PageLog(
                logger,
                source: configuration.source,
                linesPerSecond: configuration.consoleLinesPerSecond,
                counters: counters
            )
        )
        let run = PageRun(parts)
        if let process = configuration.process {
            let page = try RemotePage(run, in: process)
            mailbox.attach(control)
            page.serve()
        } else {
            let page = try HeadlessPage(run)
            mailbox.attach(control)
            page.serve()
        }
        try run.end()
    }
}
