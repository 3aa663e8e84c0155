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

/// What the engine calls on its thread about the page, and what it takes for it.
extension WebViewRun {
    /// A load was committed in the main frame: the document before it is gone. To be called before any text of the new
    /// one is given to ``received(_:)``, as the library's signals come.
    func committed() {
        change { state, effects in state.loseDocument(&effects) }
    }

    /// What is to be evaluated next, in the private world of the main frame. For each, ``scriptDone()`` is to be called
    /// when it was evaluated or has failed.
    func nextScript() -> String? {
        while let beginning = change({ state, _ in state.beginScript() }) {
            var script = RelayScript()
            for piece in beginning.pieces { script.add(piece) }
            let calls = beginning.takesMail ? takeMail(into: &script) : 0
            let count = script.count
            switch change({ state, _ in state.endScript(telling: count, calls: calls) }) {
            case .given(let token, let grant, let answers):
                return script.text(to: token, grant: grant, answers: answers)
            case .none: return nil
            case .again: continue
            }
        }
        return nil
    }

    /// Adds messages from the program.
    ///
    /// - Returns: how many of them are calls.
    private func takeMail(into script: inout RelayScript) -> Int {
        let room = RunState.scriptPieces - script.count
        let bytes = RunState.scriptBytes - script.byteCount
        guard room > 0, bytes > 0 else { return 0 }
        let messages = parts.mailbox.takeMessages(atMost: room, bytes: bytes)
        for message in messages { script.add(message) }
        return messages.count { $0.number != 0 }
    }

    /// A script is done, whether it failed or not.
    func scriptDone() {
        change { state, _ in state.scriptDone() }
    }

    /// The page's process is gone, and every script under way with it.
    func processEnded() {
        parts.counters.add(to: \.processesEnded)
        change { state, effects in
            state.loseDocument(&effects)
            state.scripts = 0
        }
    }

    /// The document's title has changed; `nil` and an empty one are none.
    func titleChanged(_ title: String?) {
        let page = parts.configuration.page
        guard page.overridesTitle else { return }
        guard let title, !title.isEmpty else { return parts.mailbox.call(it: page.title) }
        parts.mailbox.call(it: String(String.UnicodeScalarView(title.unicodeScalars.prefix(WebViewRun.longestTitle))))
    }

    /// The most characters (Unicode scalars) of a title that are kept.
    static let longestTitle = 1_000
}

extension RelayScript {
    fileprivate mutating func add(_ piece: RunState.Piece) {
        switch piece {
        case .outcome(let number, .handled(let reply), _): add(reply: reply, to: number)
        case .outcome(let number, let outcome, _): add(OutcomeRefusal(outcome, to: "page"), of: number)
        case .close: addClose("the page ends")
        }
    }
}

/// The view of a ``WebViewRun``, made by an engine and owned by the engine's thread.
///
/// Both calls come from any thread, also from within a call of the run, and must not block or call the run before they
/// return: they pass the wish on to the engine's thread.
protocol WebViewSurface: AnyObject, Sendable {
    /// There are scripts: call ``WebViewRun/nextScript()`` soon, until it is `nil`, and evaluate each.
    func wake()

    /// The run ends: the page is to be closed now. Called once. When no call of the run comes any more, not even of a
    /// script under way, ``WebViewRun/surfaceEnded()`` is to be called, and the run let go.
    func end()
}

/// What a run of a web view says to the log.
final class WebViewLog: Sendable {
    /// Of the page's scripts.
    let page: PageLog
    private let lines: AdapterLog

    init(_ logger: Logger, configuration: WebViewConfiguration, counters: WebViewCounters) {
        page = PageLog(
            logger,
            source: configuration.source,
            linesPerSecond: configuration.consoleLinesPerSecond,
            errors: counters.scriptErrors
        )
        lines = AdapterLog(logger, source: configuration.source)
    }

    func heardMalformed(_ error: RelayTextError) {
        lines.say(
            .warning,
            "malformed",
            "the page's process sent what the bridge never sends, which was dropped: \(error)"
        )
    }

    func heardFull() {
        lines.say(.warning, "full", "calls were rejected in the page, as too many messages wait there for their turn")
    }

    func refusedRawCall() {
        let bound = RunState.mostRawCalls
        lines.say(.warning, "raw", "a call past the bridge was rejected: \(bound) such calls have no outcome yet")
    }

    /// The run is over.
    func end() {
        page.tellWithheld(isLast: true)
    }
}
