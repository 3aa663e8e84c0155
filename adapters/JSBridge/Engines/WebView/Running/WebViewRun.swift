import AdapterThreads
import Logging
import SignalboxCore
import SignalboxRoutes
import Synchronization

/// One run of a web view, whatever library shows it: messages on their way in and out, the documents that come and go,
/// and the end.
///
/// An engine makes its surface and the run, begins to load, and awaits ``serve()``, which returns when everything
/// submitted is settled and the surface has ended.
final class WebViewRun: SettlementSink, MailboxReader {
    /// What a run is made of.
    struct Parts: Sendable {
        let configuration: WebViewConfiguration
        /// As ``ScriptFacts/engine`` has it.
        let engine: String
        let mailbox: PageMailbox
        let handle: PageHandle
        let intake: any Intake
        let surface: any WebViewSurface
        let counters: WebViewCounters
        let logger: Logger
    }

    let parts: Parts
    let log: WebViewLog
    /// Of the pages that have the bridge, by their text.
    let origins: [String: Origin]
    /// Of raw calls.
    let unknownOrigin: Origin
    let envelopes: [String: Envelope]
    let pool = ArrivalPool()
    private let state: Mutex<RunState>

    /// - Precondition: the configuration is valid.
    init(_ parts: Parts) {
        self.parts = parts
        let configuration = parts.configuration
        log = WebViewLog(parts.logger, configuration: configuration, counters: parts.counters)
        func origin(_ frame: ScriptFacts.Knowledge, _ origin: WebOrigin?) -> Origin {
            let facts = ScriptFacts(engine: parts.engine, isMainFrame: frame, origin: origin)
            return Origin(source: configuration.source, facts: facts)
        }
        let page = configuration.page
        origins = Dictionary(page.origins.map { ($0.description, origin(.yes, $0)) }) { first, _ in first }
        unknownOrigin = origin(.unknown, nil)
        envelopes = Dictionary(page.handlers.map { ($0.identifier.text, .handler($0.action)) }) { first, _ in first }
        state = Mutex(RunState(configuration))
    }

    /// Changes the state, and does what follows from it.
    func change<Result: Sendable>(_ body: (inout RunState, inout RunEffects) -> Result) -> Result {
        let (result, effects) = state.withLock { state in
            var effects = RunEffects()
            let result = body(&state, &effects)
            state.conclude(&effects)
            return (result, effects)
        }
        perform(effects)
        return result
    }

    private func perform(_ effects: RunEffects) {
        for (reply, answer) in effects.answers { reply(answer) }
        if effects.losesDocument { parts.mailbox.endDelivered() }
        if effects.wakes { parts.surface.wake() }
        if effects.endsSurface { parts.surface.end() }
        if let (waiter, event) = effects.event { waiter.resume(returning: event) }
    }

    // MARK: - The task of the engine's run

    /// Serves the page until its end. Cancellation of the task is ``stop()``. To be called once.
    ///
    /// - Throws: what ``fail(_:)`` was given.
    func serve() async throws(JSBridgeError) {
        parts.mailbox.attach(self)
        await withTaskCancellationHandler {
            await serveEvents()
        } onCancel: {
            stop()
        }
        let failure = state.withLock { $0.failure }
        parts.mailbox.detach(self, hasFailed: failure != nil)
        log.end()
        if let failure { throw failure }
    }

    private func serveEvents() async {
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        while true {
            switch await nextEvent() {
            case .roomWanted:
                do throws(SourceClosed) {
                    try await parts.intake.room()
                    change { state, _ in state.isWaitingForRoom = false }
                    submit()
                } catch {
                    stop()
                }
            case .lastWords:
                // Not a part of this task, which is cancelled already.
                timer = Task { [self] in
                    if (try? await Task.sleep(for: parts.configuration.lastWords)) != nil { close() }
                }
            case .over: return
            }
        }
    }

    private func nextEvent() async -> RunState.Event {
        await withCheckedContinuation { continuation in
            change { state, _ in state.waiter = continuation }
        }
    }

    // MARK: - Any thread

    /// The graceful end: messages are answered `drain` from now on, those in flight get their outcome, then the surface ends.
    func stop() {
        change { state, effects in state.stop(&effects) }
    }

    /// The end at once. Messages that were submitted still get their outcome, which nobody hears.
    func close() {
        change { state, effects in state.end(nil, &effects) }
    }

    /// The end at once, with an error, unless it ends already.
    func fail(_ error: JSBridgeError) {
        change { state, effects in state.end(error, &effects) }
    }

    /// The surface has ended; see ``WebViewSurface/end()``.
    func surfaceEnded() {
        change { state, _ in state.hasSurfaceEnded = true }
    }

    func mailArrived() {
        change { state, _ in state.mailArrived() }
    }

    // MARK: - The sink

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        change { state, effects in state.settle(token, outcome, &effects) }
    }

    /// Gives the intake what it has room for, in order; from whatever thread has something to give.
    func submit() {
        while let batch = change({ state, _ in state.takeBatch() }) {
            // Never trusts the answer further than the batch reaches.
            let taken = min(max(0, parts.intake.submit(batch, to: self)), batch.count)
            change { state, effects in state.submitted(batch, taken, &effects) }
        }
    }
}
