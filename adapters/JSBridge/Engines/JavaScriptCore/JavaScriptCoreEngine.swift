import AdapterSupport
public import Logging
public import SignalboxCore

/// An engine for a page without a window. Scripts run in JavaScriptCore with `signalbox`, timers, `console` and
/// `window.webkit.messageHandlers`, but without a DOM, `fetch`, navigation, modules or other browser features.
///
/// ```swift
/// let script = PageScript(name: "page.js", source: "signalbox.on('show', (body) => ({ shown: body.card }))")
/// let configuration = JavaScriptCoreConfiguration(source: "page", scripts: [script])
/// let engine = try JavaScriptCoreEngine(configuration, logger: logger)
/// try supervisor.add(engine)
/// ```
///
/// One thread per run executes all JavaScript. Each call is answered with its outcome, but messages are neither
/// acknowledged nor redelivered. While the window of the source is full, the script blocks in its call.
///
/// The first page of a process takes about 25 MB of resident memory, most of which belongs to the library. Each further
/// page takes about 2 MB in addition to the objects of its scripts.
public final class JavaScriptCoreEngine: Adapter {
    /// The engine's configuration.
    public let configuration: JavaScriptCoreConfiguration
    /// The page, which is the same for all runs.
    ///
    /// Messages that are sent between runs wait for the next run in a bounded queue. After ``PageHandle/close()``, the
    /// page refuses messages until the next run begins.
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

    /// - Parameter endProcess: A closure that ends the process, for a process that has only this page. It is called
    ///   when the library fails to end a turn that exceeded its limit.
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

    /// The engine replies to each call, and delivers messages that the program pushes to the page.
    public var features: AdapterFeatures { [.replies, .pushes] }

    /// The number of script exceptions and unhandled promise rejections since the engine was created.
    public var scriptErrors: Int { counters.value.scriptErrors }

    /// Runs the scripts, and then timers and answers, until the task is cancelled, the page is closed, or the page is
    /// idle and ``JavaScriptCoreConfiguration/endsWhenIdle`` is set.
    ///
    /// Each run is a new page. When the task is cancelled, the run stops gracefully. New calls are answered `drain`,
    /// calls in flight get their outcome, and then the page ends. ``PageHandle/close()`` and the limits end the page
    /// immediately and reject calls in flight with `closed`. In each case, the function returns once everything that
    /// was submitted has settled.
    ///
    /// - Throws: ``JSBridgeError`` `alreadyRunning`, `noResources`, `executionTimeLimit` or `heapLimit`. With a
    ///   separate process, the error may also be `pageFailed`. After `executionTimeLimit`, the thread of the page may
    ///   remain if its script cannot be ended.
    public func run(into intake: any Intake) async throws {
        guard mailbox.begin() else { throw JSBridgeError.alreadyRunning(source) }
        defer { mailbox.end() }
        // A run that is cancelled before it starts sends nothing.
        guard !Task.isCancelled else { return }
        let control: PageControl
        do throws(SystemResourceError) {
            control = try PageControl()
            try control.bridge.start { [self] () throws(JSBridgeError) in try runPage(control, intake) }
        } catch {
            throw JSBridgeError(.noResources, error.description, source: source)
        }
        // This task is unstructured, because the watch must continue while the task of the run is cancelled.
        let watch = Task { [configuration, endProcess] in
            let limit = configuration.executionTimeLimit
            if let endProcess {
                await control.waitForOverrun(limit)
                if !Task.isCancelled { endProcess(JSBridgeError.overrun(limit, source: configuration.source)) }
            } else if configuration.process == nil {
                // A separate process has its own watch, and the program can kill it.
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

    /// Runs the page. This is the body of the page's thread.
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
