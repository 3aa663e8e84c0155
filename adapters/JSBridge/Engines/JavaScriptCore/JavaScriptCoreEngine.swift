import AdapterThreads
public import Logging
public import SignalboxCore

/// A page without a window: scripts in JavaScriptCore, with `signalbox`, `window.webkit.messageHandlers`, timers and
/// `console`, and nothing else of a browser: no DOM, no `fetch`, no navigation, no modules.
///
/// One thread per run executes all of its JavaScript. A call is answered with its outcome; nothing is acknowledged and
/// nothing comes again. While the source's window is full the script stands still in its call.
///
/// The first page of a process takes about 25 MB of resident memory, most of it the library's; each further one about
/// 2 MB and what its scripts keep.
public final class JavaScriptCoreEngine: Adapter {
    /// What the engine was made with.
    public let configuration: JavaScriptCoreConfiguration
    /// The page, the same for all runs. What is sent while none runs waits for the next, bounded; after
    /// ``PageHandle/close()`` nothing is taken until the next run begins.
    public let page: PageHandle
    private let mailbox: PageMailbox
    private let errors = ScriptErrorCount()
    private let logger: Logger
    private let endProcess: (@Sendable (JSBridgeError) -> Never)?

    /// - Parameters:
    ///   - configuration: checked here.
    ///   - logger: hears of script errors, of `console`, and of dropped messages.
    /// - Throws: ``JSBridgeError`` `invalidConfiguration`.
    public convenience init(_ configuration: JavaScriptCoreConfiguration, logger: Logger) throws(JSBridgeError) {
        try self.init(configuration, logger: logger, endProcess: nil)
    }

    /// - Parameter endProcess: ends the process, which has only this page; called when a turn goes on although the library should
    ///   have ended it.
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

    /// Every call is answered, and the program can send unasked.
    public var features: AdapterFeatures { [.replies, .pushes] }

    /// How many scripts, timers and listeners threw, or were rejected without anybody looking, since the engine was made.
    public var scriptErrors: Int { errors.value }

    /// Runs the scripts, and then timers and answers, until its task is cancelled, the page is closed, or it is idle and
    /// ``JavaScriptCoreConfiguration/endsWhenIdle``.
    ///
    /// Each run is a new page. Cancellation is the graceful stop: calls made from then on are answered `drain`, those in
    /// flight get their outcome, then the page ends. ``PageHandle/close()`` and the limits end it at once: its calls in
    /// flight are rejected with `closed`. In each case it returns when everything submitted is settled.
    ///
    /// - Throws: ``JSBridgeError`` `alreadyRunning`, `noResources`, `executionTimeLimit`, `heapLimit`. After
    ///   `executionTimeLimit` the thread may be left behind, when the script is one that nothing can end.
    public func run(into intake: any Intake) async throws {
        guard mailbox.begin() else {
            throw JSBridgeError(.alreadyRunning, "the engine runs already; one engine is one page", source: source)
        }
        defer { mailbox.end() }
        // A page that is not wanted any more sends nothing.
        guard !Task.isCancelled else { return }
        let control: PageControl
        let thread: OwnedThread
        do throws(NoSystemResource) {
            control = try PageControl()
            thread = try OwnedThread { [self] in runPage(control, intake) }
        } catch {
            throw JSBridgeError(.noResources, error.description, source: source)
        }
        // Not a part of this task: it watches while this one is cancelled, too.
        let watch = Task { [configuration, endProcess] in
            let limit = configuration.executionTimeLimit
            if let endProcess {
                await control.untilOverrun(limit)
                if !Task.isCancelled { endProcess(JSBridgeError.overrun(limit, source: configuration.source)) }
            } else if configuration.process == nil {
                // A separate process has its own watch, and can be killed.
                await control.watch(limit)
            }
        }
        defer { watch.cancel() }
        try await withTaskCancellationHandler {
            try await serve(control, thread, intake)
        } onCancel: {
            control.stop()
        }
    }

    /// The page's answer to a call, as JSON.
    func answer(of action: ActionName, body: Bytes, timeout: Duration) async throws(PageCallError) -> Bytes? {
        try await mailbox.call(action, body: body, timeout: timeout)
    }

    /// The page's thread.
    private func runPage(_ control: PageControl, _ intake: any Intake) {
        control.processorTime.begin()
        do throws(JSBridgeError) {
            let parts = HeadlessPage.Parts(
                configuration: configuration,
                control: control,
                mailbox: mailbox,
                handle: page,
                intake: intake,
                log: PageLog(
                    logger,
                    source: configuration.source,
                    linesPerSecond: configuration.consoleLinesPerSecond,
                    errors: errors
                )
            )
            if let process = configuration.process {
                let page = try RemotePage(parts, in: process)
                mailbox.attach(control)
                try page.run()
            } else {
                let page = try HeadlessPage(parts)
                mailbox.attach(control)
                try page.run()
            }
            control.end(nil)
        } catch {
            control.end(error)
        }
    }

    private func serve(_ control: PageControl, _ thread: OwnedThread, _ intake: any Intake) async throws {
        while true {
            switch await control.nextEvent() {
            case .roomWanted:
                do throws(SourceClosed) {
                    try await intake.room()
                    control.answer(.free)
                } catch {
                    control.answer(.closed)
                    control.stop()
                }
            case .ended(let error):
                thread.join()
                if let error { throw error }
                return
            case .leftBehind:
                thread.leave()
                mailbox.detach(control, hasFailed: true)
                let detail = "a script runs without end and cannot be stopped; its thread is left behind"
                throw JSBridgeError(.executionTimeLimit, detail, source: source)
            }
        }
    }
}
