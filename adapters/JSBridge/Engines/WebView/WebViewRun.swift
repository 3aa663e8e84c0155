import AdapterSupport
import SignalboxCore
import SignalboxRoutes
import Synchronization

/// A run of a web view for any library. It handles incoming and outgoing messages, documents, and the end of the page.
///
/// An engine creates its surface and the run, starts loading, and awaits ``serve()``. That method returns once
/// everything that was submitted has settled and the surface has ended.
final class WebViewRun: SettlementSink, MailboxReader {
    let host: WebViewHost
    private let intake: any Intake
    private let surface: any WebViewSurface
    /// The origins of pages that have the bridge, by their text.
    let origins: [String: Origin]
    /// The origin of raw calls.
    let unknownOrigin: Origin
    let envelopes: [String: Envelope]
    let pool = ArrivalPool()
    private let state: Mutex<RunState>

    /// - Precondition: The configuration is valid.
    init(_ host: WebViewHost, intake: any Intake, surface: any WebViewSurface) {
        self.host = host
        self.intake = intake
        self.surface = surface
        let configuration = host.configuration
        func origin(_ frame: ScriptFacts.Knowledge, _ origin: WebOrigin?) -> Origin {
            let facts = ScriptFacts(engine: host.engine, isMainFrame: frame, origin: origin)
            return Origin(source: configuration.source, facts: facts)
        }
        let page = configuration.page
        origins = Dictionary(page.origins.map { ($0.description, origin(.yes, $0)) }) { first, _ in first }
        unknownOrigin = origin(.unknown, nil)
        envelopes = Dictionary(page.handlers.map { ($0.identifier.text, .handler($0.action)) }) { first, _ in first }
        state = Mutex(RunState(configuration))
    }

    /// Changes the state and performs the resulting effects.
    func change<Result: Sendable>(_ body: (inout RunState, inout WebViewEffects) -> Result) -> Result {
        let (result, effects) = state.withLock { state in
            var effects = WebViewEffects()
            let result = body(&state, &effects)
            state.conclude(&effects)
            return (result, effects)
        }
        perform(effects)
        return result
    }

    private func perform(_ effects: WebViewEffects) {
        for (reply, answer) in effects.answers { reply(answer) }
        if effects.losesDocument { host.mailbox.endDelivered() }
        if effects.wakes { surface.wake() }
        if effects.endsSurface { surface.end() }
        if let (waiter, event) = effects.event { waiter.resume(returning: event) }
    }

    // MARK: - Serving

    /// Serves the page to its end. Call this method once. If its task is cancelled, it calls ``stop()``.
    ///
    /// - Throws: The error that was passed to ``fail(_:)``.
    func serve() async throws(JSBridgeError) {
        host.mailbox.attach(self)
        await withTaskCancellationHandler {
            await serveEvents()
        } onCancel: {
            stop()
        }
        let failure = state.withLock { $0.failure }
        host.mailbox.detach(self, hasFailed: failure != nil)
        host.scriptLog.reportWithheld(isLast: true)
        if let failure { throw failure }
    }

    private func serveEvents() async {
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        while true {
            switch await nextEvent() {
            case .roomWanted:
                do throws(SourceClosed) {
                    try await intake.room()
                    change { state, _ in state.isWaitingForRoom = false }
                    submit()
                } catch {
                    stop()
                }
            case .gracefulClose:
                // This task is unstructured, because the current task is already cancelled.
                timer = Task { [self] in
                    if (try? await Task.sleep(for: host.configuration.gracefulCloseTimeout)) != nil { close() }
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

    /// Begins the graceful end. New messages are answered `drain`, the others get their outcome, and then the surface
    /// ends.
    func stop() {
        change { state, effects in state.stop(&effects) }
    }

    /// Ends the page immediately. Outcomes of messages that were already submitted are discarded.
    func close() {
        change { state, effects in state.end(nil, &effects) }
    }

    /// Ends the page immediately with an error, unless it has already ended.
    func fail(_ error: JSBridgeError) {
        change { state, effects in state.end(error, &effects) }
    }

    /// Records the end of the surface. See ``WebViewSurface/end()``.
    func surfaceEnded() {
        change { state, _ in state.hasSurfaceEnded = true }
    }

    func messagesArrived() {
        change { state, _ in state.messagesArrived() }
    }

    // MARK: - SettlementSink

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        change { state, effects in state.settle(token, outcome, &effects) }
    }

    /// Submits the batches for which the intake has room, in order. This method is safe to call from any thread.
    func submit() {
        while let batch = change({ state, _ in state.takeBatch() }) {
            let taken = intake.take(batch, to: self)
            change { state, effects in state.submitted(batch, taken, &effects) }
        }
    }
}

/// The methods that the engine calls on its thread for the events and scripts of the page.
extension WebViewRun {
    /// Records a load that was committed in the main frame, which ends the document before it.
    ///
    /// Call this method before passing any text of the new document to ``received(_:)``. The signals of the library
    /// have this order.
    func committed() {
        change { state, effects in state.loseDocument(&effects) }
    }

    /// Returns the next script to evaluate in the private world of the main frame.
    ///
    /// Call ``scriptDone()`` for each script after it was evaluated or has failed.
    func nextScript() -> String? {
        while let beginning = change({ state, _ in state.beginScript() }) {
            var script = RelayScript()
            for piece in beginning.pieces { script.add(piece) }
            let calls = beginning.includesMessages ? addMessages(into: &script) : 0
            let count = script.count
            switch change({ state, _ in state.endScript(pieces: count, calls: calls) }) {
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
    /// - Returns: The number of calls among them.
    private func addMessages(into script: inout RelayScript) -> Int {
        let room = RunState.scriptPieces - script.count
        let bytes = RunState.scriptBytes - script.byteCount
        guard room > 0, bytes > 0 else { return 0 }
        let messages = host.mailbox.takeMessages(atMost: room, bytes: bytes)
        for message in messages { script.add(message) }
        return messages.count { $0.number != 0 }
    }

    /// Records the end of a script, whether it succeeded or failed.
    func scriptDone() {
        change { state, _ in state.scriptDone() }
    }

    /// Records the end of the page's process, which ends every script in progress.
    func processEnded() {
        host.counters.add(to: \.processesEnded)
        change { state, effects in
            state.loseDocument(&effects)
            state.scripts = 0
        }
    }

    /// Sets the title of the page from that of the document. `nil` and an empty title restore the configured one.
    func titleChanged(_ title: String?) {
        let page = host.configuration.page
        guard page.overridesTitle else { return }
        guard let title, !title.isEmpty else { return host.mailbox.setTitle(page.title) }
        host.mailbox.setTitle(String(String.UnicodeScalarView(title.unicodeScalars.prefix(WebViewRun.longestTitle))))
    }

    /// The maximum length of a title, in Unicode scalars.
    static let longestTitle = 1_000
}

extension RelayScript {
    fileprivate mutating func add(_ piece: RunState.Piece) {
        switch piece {
        case .outcome(let number, .handled(let reply), _): add(reply: reply, to: number)
        case .outcome(let number, let outcome, _): add(ErrorReply(outcome, to: "page"), of: number)
        case .close: addClose("the page is closing")
        }
    }
}

/// The view of a ``WebViewRun``. An engine creates it, and the thread of the engine owns it.
///
/// Both methods may be called from any thread, even within a call of the run. They must not block, and they must not
/// call the run before they return. They pass the request to the thread of the engine instead.
protocol WebViewSurface: AnyObject, Sendable {
    /// Announces scripts. The surface then calls ``WebViewRun/nextScript()`` until that returns `nil`, and evaluates
    /// each script.
    func wake()

    /// Closes the page, because the run ends. The run calls this method once.
    ///
    /// The surface calls ``WebViewRun/surfaceEnded()`` after all its other calls of the run, including those for
    /// scripts in progress, and then releases the run.
    func end()
}
