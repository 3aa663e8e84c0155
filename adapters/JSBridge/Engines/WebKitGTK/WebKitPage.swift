#if WebKitGTK
import AdapterThreads
import Logging
import NavigationChain
import SignalboxRoutes
import Synchronization

/// The page of one run: its view, navigation questions and reloads. Its last action is to notify the run of its end.
@GLibThread
final class WebKitPage: WebViewSurface {
    /// The dependencies of a page.
    struct Parts: Sendable {
        let configuration: WebViewConfiguration
        let settings: WebKitView.Settings
        let handle: PageHandle
        let counters: WebViewCounters
        let log: AdapterLog
    }

    let parts: Parts
    /// The questions for the run's task to answer; those beyond the bound are refused.
    nonisolated let questions: AsyncStream<PolicyQuestion>
    let asking: AsyncStream<PolicyQuestion>.Continuation
    private(set) var view: WebKitView?
    private(set) var run: WebViewRun?
    /// The URL of the current document, if any.
    var current: String?
    var reloadPlan: ReloadPlan
    var reloadTimer: GLibTimer?
    var liveness: Liveness
    var processesEnded = 0
    var rawBudget = RawBudget()
    /// Whether there is a process whose responsiveness can be checked.
    var hasProcess = true
    private var livenessTimer: GLibTimer?
    private var open: [ObjectIdentifier: PolicyQuestion] = [:]
    private var waiters: [UInt64: @GLibThread () -> Void] = [:]
    private var lastWaiter: UInt64 = 0
    private let isAwake = Atomic(false)

    init(_ parts: Parts) {
        self.parts = parts
        let bound = parts.configuration.navigationsWaiting
        (questions, asking) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(bound))
        reloadPlan = ReloadPlan(parts.configuration)
        liveness = Liveness(limit: parts.configuration.unresponsiveLimit)
        OpenObjects.add(1, to: \.pages)
    }

    deinit {
        OpenObjects.add(-1, to: \.pages)
    }

    /// Creates the view and loads the first page.
    func begin(_ run: WebViewRun) {
        self.run = run
        let view = WebKitView(parts.settings, listener: self)
        self.view = view
        showTitle()
        livenessTimer = GLibTimer(after: liveness.interval, repeats: true) { [weak self] in self?.lookWhetherItReacts()
        }
        view.load(parts.configuration.page.url.text)
    }

    // MARK: - WebViewSurface

    nonisolated func wake() {
        guard !isAwake.exchange(true, ordering: .acquiringAndReleasing) else { return }
        GLibThread.post { self.evaluateWhatWaits() }
    }

    nonisolated func end() {
        GLibThread.post { self.close() }
    }

    private func evaluateWhatWaits() {
        isAwake.store(false, ordering: .releasing)
        guard let run, let view else { return }
        while let script = run.nextScript() {
            view.evaluate(script, world: WebViewScripts.world) { [weak self, processesEnded] _ in
                // The run has already discarded the scripts of an ended process.
                guard let self, let run = self.run, self.processesEnded == processesEnded else { return }
                self.liveness.reacted()
                run.scriptDone()
                self.evaluateWhatWaits()
            }
        }
    }

    private func close() {
        guard let run else { return }
        self.run = nil
        livenessTimer?.stop()
        reloadTimer?.stop()
        asking.finish()
        refuseOpenQuestions()
        view?.close()
        view = nil
        for waiter in waiters.values { waiter() }
        waiters = [:]
        run.surfaceEnded()
    }

    // MARK: - Questions

    func ask(_ question: PolicyQuestion) {
        open[ObjectIdentifier(question)] = question
        switch asking.yield(question) {
        case .enqueued: break
        case .dropped(let question):
            parts.counters.add(to: \.navigationsUndecided)
            answer(question, .refuse)
        case .terminated: answer(question, .refuse)
        @unknown default: answer(question, .refuse)
        }
    }

    func answer(_ question: PolicyQuestion, _ answer: PolicyQuestion.Answer) {
        open[ObjectIdentifier(question)] = nil
        question.answer(answer)
    }

    func refuseOpenQuestions() {
        let questions = open.values
        open = [:]
        for question in questions { question.answer(.refuse) }
    }

    // MARK: - Callbacks

    /// Waits for a callback of the library or for the end of the page.
    ///
    /// - Parameters:
    ///   - ended: The result if the page ends first.
    ///   - begin: A closure that starts the operation and calls its argument once.
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

extension WebKitPage: WebKitViewListener {
    func committed(_ url: String) {
        view?.openRawHandlers()
        // The library shows the empty document when it has nothing else to show.
        if url != "about:blank" { current = url }
        hasProcess = true
        liveness.reacted()
        reloadPlan.lives(at: .now)
        run?.committed()
    }

    func loadFailed(_ url: String, _ message: String, isRefusal: Bool) {
        // A refused load is not a failure of the page.
        guard !isRefusal else { return }
        let line = LineText.escaped(message)
        parts.log.say(.warning, "load", "a page cannot be loaded: \(line)")
        if current == nil { loadAgain("the first page cannot be loaded: \(line)") }
    }

    func received(_ text: String) {
        liveness.reacted()
        run?.received(text)
    }

    func receivedRaw(_ post: RawPost, _ reply: RawReply) {
        guard let run else { return }
        if !rawBudget.take(post.json?.utf8.count ?? 0, in: post.time, at: .now) {
            // Posted, because handlers must not be closed within one of their signals.
            GLibThread.post { self.view?.closeRawHandlers() }
            let text = "a frame, or a page of another origin, posts too much to handlers; they are closed to it"
            parts.log.say(.warning, "flood", text)
        }
        run.receivedRaw(post.handler, post.json) { answer in GLibThread.post { reply.settle(answer) } }
    }

    func asked(_ question: PolicyQuestion) {
        ask(question)
    }

    func titleChanged(_ title: String?) {
        run?.titleChanged(title)
        showTitle()
    }

    func processEnded(_ reason: String) {
        hasProcess = false
        processesEnded += 1
        liveness.reacted()
        run?.processEnded()
        parts.log.say(.warning, "process", "the page's process has ended: \(reason)")
        loadAgain("the page's process ended: \(reason)")
    }

    func dialogOpened() {
        liveness.waitForUser()
    }

    func windowClosed() {
        parts.handle.close()
    }

    func refused(_ wish: String) {
        parts.log.say(.info, wish, "the page wanted \(wish), which pages are not given")
    }

    /// Sets the window's title to the page's.
    func showTitle() {
        view?.entitle(parts.handle.title ?? "")
    }

    private func loadAgain(_ reason: String) {
        guard run != nil, reloadTimer == nil else { return }
        guard let wait = reloadPlan.ended(at: .now, share: .random(in: 0...1)) else {
            let times = parts.configuration.reloads
            let detail = "\(reason), and was begun again \(times) times in a row; raise `reloads` or mend the page"
            run?.fail(JSBridgeError(.pageFailed, detail, source: parts.configuration.source))
            return
        }
        reloadTimer = GLibTimer(after: wait) { [weak self] in self?.reload() }
    }

    /// Loads the current or last page from its server.
    func reload() {
        load(current ?? parts.configuration.page.url.text)
    }

    /// Loads a page and cancels a scheduled reload.
    func load(_ url: String) {
        reloadTimer?.stop()
        reloadTimer = nil
        hasProcess = true
        liveness.reacted()
        view?.load(url)
    }

    /// Checks whether the process responds, and ends it after the time limit.
    func lookWhetherItReacts() {
        guard hasProcess, let view else { return }
        switch liveness.look(at: .now) {
        case .wait: break
        case .ask: view.evaluate("0", world: WebViewScripts.world) { [weak self] _ in self?.liveness.reacted() }
        case .end:
            let limit = parts.configuration.unresponsiveLimit
            parts.log.say(.warning, "unresponsive", "the page did not react for \(limit); its process is ended")
            view.endProcess()
        }
    }
}

extension WebKitPage {
    /// Answers the library's questions concurrently until the page or the task ends, then refuses the rest.
    nonisolated func answerQuestions(_ gate: NavigationGate) async {
        await withDiscardingTaskGroup { group in
            for await question in questions {
                group.addTask { await self.answer(question, gate) }
            }
            group.cancelAll()
        }
        await stopAsking()
    }

    /// Answers a question outside the library's thread, because handlers and observers of the chain may take time.
    nonisolated private func answer(_ question: PolicyQuestion, _ gate: NavigationGate) async {
        let page = await currentURL
        let verdict = await gate.decide(question.text, kind: question.kind, frame: question.frame, page: page)
        await settle(question, verdict)
    }

    private var currentURL: URLText? { current.flatMap { try? URLText($0) } }

    private func settle(_ question: PolicyQuestion, _ verdict: NavigationVerdict) {
        switch (verdict.policy, question.kind) {
        case (.cancel, _):
            if current == nil { parts.log.say(.warning, "first", "the first page may not be loaded: \(verdict)") }
            answer(question, .refuse)
        case (.download, _), (.allow, .download):
            parts.log.say(.warning, "download", "something was to be stored, which this engine does not: \(verdict)")
            answer(question, .refuse)
        case (.allow, .newWindow):
            answer(question, .refuse)
            openHere(verdict)
        case (.allow, _):
            answer(question, .load)
        }
    }

    /// Opens a page's new window in this view. The load is subject to the navigation chain like any other.
    private func openHere(_ verdict: NavigationVerdict) {
        guard let url = verdict.url, url.scheme == "http" || url.scheme == "https" else {
            parts.log.say(.warning, "window", "only pages of the web are loaded in place of a new window: \(verdict)")
            return
        }
        view?.load(url.text)
    }

    private func stopAsking() {
        asking.finish()
        refuseOpenQuestions()
    }
}
#endif
