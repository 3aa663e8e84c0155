#if JavaScriptCore
import AdapterSupport
public import Logging
public import SignalboxCore

/// Runs a page that has no window, using JavaScriptCore.
///
/// The scripts can use `signalbox`, timers, `console` and `window.webkit.messageHandlers`. There is no DOM, `fetch`,
/// navigation, module support or any other browser feature.
///
/// ```swift
/// let script = PageScript(name: "page.js", source: "signalbox.on('show', (body) => ({ shown: body.card }))")
/// let configuration = JavaScriptCoreConfiguration(source: "page", scripts: [script])
/// let engine = try JavaScriptCoreEngine(configuration, logger: logger)
/// try supervisor.add(engine)
/// ```
///
/// Each run executes all JavaScript on one thread. Every call is answered with its outcome, but messages are neither
/// acknowledged nor redelivered. A call blocks the script while the source's window is full.
///
/// The first page in a process takes about 25 MB of resident memory, most of which belongs to JavaScriptCore. Each
/// additional page takes about 2 MB plus the memory of its scripts' objects.
public final class JavaScriptCoreEngine: Adapter {
    /// The engine's configuration.
    public let configuration: JavaScriptCoreConfiguration
    /// The page, which stays the same across runs.
    ///
    /// Messages that the program sends between runs wait in a bounded queue for the next run. After
    /// ``PageHandle/close()``, the page refuses messages until the next run begins.
    public let page: PageHandle
    let mailbox: PageMailbox
    private let counters = PageCounters()
    private let logger: Logger
    private let endProcess: (@Sendable (JSBridgeError) -> Never)?

    /// Creates an engine and validates its configuration.
    ///
    /// - Parameters:
    ///   - configuration: The page's scripts and limits.
    ///   - logger: The logger for script errors, `console` output and reports of dropped messages.
    /// - Throws: ``JSBridgeError`` `invalidConfiguration`.
    public convenience init(_ configuration: JavaScriptCoreConfiguration, logger: Logger) throws(JSBridgeError) {
        try self.init(configuration, logger: logger, endProcess: nil)
    }

    /// - Parameter endProcess: A closure that ends the process, for a process that runs only this page. It is called
    ///   when JavaScriptCore fails to end a turn that exceeded the time limit.
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

    /// The source name from the configuration.
    public var source: SourceName { configuration.source }

    /// The engine replies to every call, and delivers messages that the program pushes to the page.
    public var features: AdapterFeatures { [.replies, .pushes] }

    /// The number of script exceptions and unhandled promise rejections since the engine was created.
    public var scriptErrors: Int { counters.value.scriptErrors }

    /// Runs the scripts, and then handles timers and answers until the page ends.
    ///
    /// Each run begins a new page. The page ends when the task is cancelled, when the page is closed, or when it is
    /// idle and ``JavaScriptCoreConfiguration/endsWhenIdle`` is set.
    ///
    /// Cancelling the task stops the run gracefully: new calls are answered with `drain`, calls in flight receive their
    /// outcomes, and then the page ends. ``PageHandle/close()`` and the limits end the page immediately and reject
    /// calls in flight with `closed`. In every case, this method returns once every submitted message has settled.
    ///
    /// - Throws: ``JSBridgeError`` `alreadyRunning`, `noResources`, `executionTimeLimit` or `heapLimit`. If the page
    ///   runs in a separate process, the error can also be `pageFailed`. After `executionTimeLimit`, the page's thread
    ///   may keep running if its script cannot be ended.
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
        // This task is unstructured, because it must keep watching while the run's task is cancelled.
        let watch = Task { [configuration, endProcess] in
            let limit = configuration.executionTimeLimit
            if let endProcess {
                await control.waitForOverrun(limit)
                if !Task.isCancelled { endProcess(JSBridgeError.overrun(limit, source: configuration.source)) }
            } else if configuration.process == nil {
                // A separate process has its own watch, and the program can kill the process.
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

    /// Runs the page. This is the entry point of the page's thread.
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

extension JavaScriptCoreEngine: RestoringAdapter {
    /// Reads stored messages again, with the current limits. The messages have no ``PageHandle``, and the facts that they had
    /// when they arrived.
    public func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        PageBatch.restoring(messages, of: source, limits: configuration.limits, at: now)
    }
}
#endif
