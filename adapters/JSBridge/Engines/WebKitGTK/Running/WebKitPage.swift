#if WebKitGTK
import AdapterThreads
import SignalboxRoutes
import Synchronization

/// The page of one run: the view, what it is asked, and when it is loaded again. Its last act is to tell the run that it has
/// ended.
@GLibThread
final class WebKitPage: WebViewSurface {
    /// What a page is made of.
    struct Parts: Sendable {
        let configuration: WebViewConfiguration
        let settings: WebKitView.Settings
        let handle: PageHandle
        let counters: WebViewCounters
        let log: AdapterLog
    }

    let parts: Parts
    /// What the run's task answers; beyond the bound it is refused unasked.
    nonisolated let questions: AsyncStream<PolicyQuestion>
    let asking: AsyncStream<PolicyQuestion>.Continuation
    private(set) var view: WebKitView?
    private(set) var run: WebViewRun?
    /// The URL of the document that is there, once there is one.
    var current: String?
    var reloadPlan: ReloadPlan
    var reloadTimer: GLibTimer?
    var liveness: Liveness
    var processesEnded = 0
    var rawBudget = RawBudget()
    /// Whether there is a process to ask whether it reacts.
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

    /// Makes the view and loads the first page.
    func begin(_ run: WebViewRun) {
        self.run = run
        let view = WebKitView(parts.settings, listener: self)
        self.view = view
        showTitle()
        livenessTimer = GLibTimer(after: liveness.interval, repeats: true) { [weak self] in self?.lookWhetherItReacts()
        }
        view.load(parts.configuration.page.url.text)
    }

    // MARK: - The surface

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
                // Of a process that has ended the run knows.
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

    // MARK: - Waiting

    /// Waits for what the library calls back for, or for the end of the page.
    ///
    /// - Parameters:
    ///   - ended: the result when the page ends first.
    ///   - begin: begins; what it is given is to be called once.
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
#endif
