#if WebKitGTK
import AdapterSupport
import Logging
import NavigationChain
import SignalboxRoutes
import Synchronization

/// The page of one run, with its view, policy requests and reloads. The page's last action is to notify the run that
/// the page has ended.
@GLibThread
final class WebKitPage: WebViewSurface {
    let host: WebViewHost
    private let isSandboxed: Bool
    /// The policy requests for the run's task to answer. Requests beyond the bound are refused.
    nonisolated let policyRequests: AsyncStream<PolicyRequest>
    let requestContinuation: AsyncStream<PolicyRequest>.Continuation
    private(set) var view: WebKitView?
    private(set) var run: WebViewRun?
    /// The URL of the current document, if any.
    var current: String?
    var reloadPolicy: CrashReloadPolicy
    var reloadTimer: GLibTimer?
    var liveness: Liveness
    var processesEnded = 0
    var rawRateLimit = RawRateLimit()
    /// Whether there is a process that can be checked for responsiveness.
    var hasProcess = true
    private var livenessTimer: GLibTimer?
    private var open: [ObjectIdentifier: PolicyRequest] = [:]
    private var waiters: [UInt64: @GLibThread () -> Void] = [:]
    private var lastWaiter: UInt64 = 0
    private let isAwake = Atomic(false)

    /// - Parameter isSandboxed: Whether the page's process is sandboxed.
    init(_ host: WebViewHost, isSandboxed: Bool) {
        self.host = host
        self.isSandboxed = isSandboxed
        let bound = host.configuration.navigationsWaiting
        (policyRequests, requestContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(bound))
        reloadPolicy = CrashReloadPolicy(host.configuration)
        liveness = Liveness(limit: host.configuration.unresponsiveLimit)
        OpenObjects.add(1, to: \.pages)
    }

    deinit {
        OpenObjects.add(-1, to: \.pages)
    }

    /// Creates the view and loads the first page.
    func begin(_ run: WebViewRun) {
        self.run = run
        let view = WebKitView(host.configuration, isSandboxed: isSandboxed, page: self)
        self.view = view
        showTitle()
        livenessTimer = GLibTimer(after: liveness.interval, repeats: true) { [weak self] in self?.checkLiveness()
        }
        view.load(host.configuration.page.url.text)
    }

    // MARK: - WebViewSurface

    nonisolated func wake() {
        guard !isAwake.exchange(true, ordering: .acquiringAndReleasing) else { return }
        GLibThread.post { self.evaluatePendingScripts() }
    }

    nonisolated func end() {
        GLibThread.post { self.close() }
    }

    private func evaluatePendingScripts() {
        isAwake.store(false, ordering: .releasing)
        guard let run, let view else { return }
        while let script = run.nextScript() {
            view.evaluate(script, world: WebViewScripts.world) { [weak self, processesEnded] _ in
                // The run has already discarded the scripts of a process that ended.
                guard let self, let run = self.run, self.processesEnded == processesEnded else { return }
                self.liveness.responded()
                run.scriptDone()
                self.evaluatePendingScripts()
            }
        }
    }

    private func close() {
        guard let run else { return }
        self.run = nil
        livenessTimer?.stop()
        reloadTimer?.stop()
        requestContinuation.finish()
        refusePendingRequests()
        view?.close()
        view = nil
        for waiter in waiters.values { waiter() }
        waiters = [:]
        run.surfaceEnded()
    }

    // MARK: - Policy requests

    /// Adds a request for a verdict on a navigation. Requests beyond the bound are refused.
    func policyRequested(_ request: PolicyRequest) {
        open[ObjectIdentifier(request)] = request
        switch requestContinuation.yield(request) {
        case .enqueued: break
        case .dropped(let request):
            host.counters.add(to: \.navigationsUndecided)
            answer(request, .refuse)
        case .terminated: answer(request, .refuse)
        @unknown default: answer(request, .refuse)
        }
    }

    func answer(_ request: PolicyRequest, _ answer: PolicyRequest.Answer) {
        open[ObjectIdentifier(request)] = nil
        request.answer(answer)
    }

    func refusePendingRequests() {
        let policyRequests = open.values
        open = [:]
        for request in policyRequests { request.answer(.refuse) }
    }

    // MARK: - Callbacks

    /// Waits until WebKitGTK calls back or the page ends.
    ///
    /// - Parameters:
    ///   - ended: The result to return if the page ends first.
    ///   - begin: A closure that starts the operation, and calls its argument once.
    func wait<Value: Sendable>(
        ended: Value,
        _ begin: (WebKitView, @escaping @GLibThread (Value) -> Void) -> Void
    ) async -> Value {
        guard let view else { return ended }
        return await withCheckedContinuation { continuation in
            lastWaiter += 1
            let number = lastWaiter
            waiters[number] = { continuation.resume(returning: ended) }
            begin(view) { value in
                guard self.waiters.removeValue(forKey: number) != nil else { return }
                continuation.resume(returning: value)
            }
        }
    }
}

/// Handles the view's events.
extension WebKitPage {
    /// Records that a document with this URL was committed and replaces the previous one.
    func committed(_ url: String) {
        view?.openRawHandlers()
        // The library shows this empty document when it has nothing else to show.
        if url != "about:blank" { current = url }
        hasProcess = true
        liveness.responded()
        reloadPolicy.loadCommitted(at: .now)
        run?.committed()
    }

    /// Records that a load in the main frame failed. The frame keeps its document.
    ///
    /// - Parameter isRefusal: Whether the load was refused or replaced by another load.
    func loadFailed(_ message: String, isRefusal: Bool) {
        // A refused load is not a failure of the page.
        guard !isRefusal else { return }
        let line = PageLogText.escaped(message)
        host.log.writeLimited(.warning, "load", "a page cannot be loaded: \(line)")
        if current == nil { scheduleReload("the first page cannot be loaded: \(line)") }
    }

    /// Receives a text posted in the private world.
    func received(_ text: String) {
        liveness.responded()
        run?.received(text)
    }

    /// Receives a value posted in the page's world.
    func receivedRaw(_ post: RawPost, _ reply: RawReply) {
        guard let run else { return }
        if !rawRateLimit.take(post.json?.utf8.count ?? 0, in: post.time, at: .now) {
            // This call is posted, because a handler must not be closed during one of its signals.
            GLibThread.post { self.view?.closeRawHandlers() }
            let text =
                "a frame or a page of another origin posts too much to handlers; they no longer accept its messages"
            host.log.writeLimited(.warning, "flood", text)
        }
        run.receivedRaw(post.handler, post.json) { answer in GLibThread.post { reply.settle(answer) } }
    }

    /// Passes on the document's new title.
    func titleChanged(_ title: String?) {
        run?.titleChanged(title)
        showTitle()
    }

    /// Records that the page's process ended, and schedules a reload.
    func processEnded(_ reason: String) {
        hasProcess = false
        processesEnded += 1
        liveness.responded()
        run?.processEnded()
        host.log.writeLimited(.warning, "process", "the page's process has ended: \(reason)")
        scheduleReload("the page's process ended: \(reason)")
    }

    /// Records that a dialog is blocking the page until the user answers.
    func dialogOpened() {
        liveness.waitForUser()
    }

    /// Ends the page because the user has closed the window.
    func windowClosed() {
        host.page.close()
    }

    /// Logs that a request from the page was denied. Pages are never granted such requests.
    func denied(_ request: String) {
        host.log.writeLimited(.info, request, "the page requested \(request), which was denied")
    }

    /// Sets the window's title to the page's title.
    func showTitle() {
        view?.setTitle(host.page.title ?? "")
    }

    private func scheduleReload(_ reason: String) {
        guard run != nil, reloadTimer == nil else { return }
        guard let wait = reloadPolicy.failed(at: .now, jitter: .random(in: 0...1)) else {
            run?.fail(reloadPolicy.error(reason))
            return
        }
        reloadTimer = GLibTimer(after: wait) { [weak self] in self?.reload() }
    }

    /// Loads the most recent page from its server, or the first page if none was loaded.
    func reload() {
        load(current ?? host.configuration.page.url.text)
    }

    /// Loads a page and cancels any scheduled reload.
    func load(_ url: String) {
        reloadTimer?.stop()
        reloadTimer = nil
        hasProcess = true
        liveness.responded()
        view?.load(url)
    }

    /// Checks whether the process responds, and ends the process if the time limit has expired.
    func checkLiveness() {
        guard hasProcess, let view else { return }
        switch liveness.check(at: .now) {
        case .wait: break
        case .ping: view.evaluate("0", world: WebViewScripts.world) { [weak self] _ in self?.liveness.responded() }
        case .terminate:
            let limit = host.configuration.unresponsiveLimit
            host.log.writeLimited(
                .warning,
                "unresponsive",
                "the page did not respond for \(limit); its process is terminated"
            )
            view.terminateProcess()
        }
    }
}

extension WebKitPage {
    /// Answers WebKitGTK's policy requests concurrently until the page or the task ends, and then refuses all remaining
    /// requests.
    nonisolated func answerPolicyRequests() async {
        await withDiscardingTaskGroup { group in
            for await request in policyRequests {
                group.addTask { await self.answer(request) }
            }
            group.cancelAll()
        }
        await finishRequests()
    }

    /// Answers a request away from the library's thread, because the chain's handlers and observers may take time.
    nonisolated private func answer(_ request: PolicyRequest) async {
        let page = await currentURL
        let verdict = await host.gate.decide(request.text, kind: request.kind, frame: request.frame, page: page)
        await settle(request, verdict)
    }

    private var currentURL: URLText? { current.flatMap { try? URLText($0, paths: .lenient) } }

    private func settle(_ request: PolicyRequest, _ verdict: NavigationVerdict) {
        switch (verdict.policy, request.kind) {
        case (.allow, .newWindow):
            answer(request, .refuse)
            // The load is subject to the navigation chain, like any other.
            if let url = host.windowURL(of: verdict) { view?.load(url.text) }
        case (.cancel, _), (.download, _), (.allow, .download):
            host.reportRefused(verdict, hasPage: current != nil)
            answer(request, .refuse)
        case (.allow, _):
            answer(request, .load)
        }
    }

    private func finishRequests() {
        requestContinuation.finish()
        refusePendingRequests()
    }
}
#endif
