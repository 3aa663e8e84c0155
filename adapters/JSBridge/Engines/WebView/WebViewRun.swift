import AdapterSupport
import SignalboxCore
import SignalboxRoutes
import Synchronization

/// Serves a run of a web view, for any web view library. It handles incoming and outgoing messages, documents, and the
/// end of the page.
///
/// An engine creates a surface and a run, starts loading, and awaits ``serve()``, which returns once every submitted
/// message has settled and the surface has ended.
final class WebViewRun: SettlementSink, MailboxReader {
    let host: WebViewHost
    private let intake: any Intake
    private let surface: any WebViewSurface
    /// The origins of pages that have the bridge, keyed by their text.
    let origins: [String: Origin]
    /// The origin reported for raw calls.
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

    /// Changes the state and then performs the resulting effects.
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

    /// Serves the page until it ends. Call this method only once. Cancelling its task has the same effect as
    /// ``stop()``.
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

    /// Begins the graceful end. New messages are answered with `drain`, earlier ones receive their outcomes, and then
    /// the surface ends.
    func stop() {
        change { state, effects in state.stop(&effects) }
    }

    /// Ends the page immediately. Outcomes for messages that were already submitted are discarded.
    func close() {
        change { state, effects in state.end(nil, &effects) }
    }

    /// Ends the page immediately with an error, unless it has already ended.
    func fail(_ error: JSBridgeError) {
        change { state, effects in state.end(error, &effects) }
    }

    /// Records that the surface has ended. See ``WebViewSurface/end()``.
    func surfaceEnded() {
        change { state, _ in state.hasSurfaceEnded = true }
    }

    func messagesArrived() {
        change { state, _ in state.messagesArrived() }
    }

    // MARK: - SettlementSink

    func mayAcknowledge(_ token: UInt64) {}

    func accepted(_ token: UInt64) {
        change { state, _ in state.accept(token) }
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        change { state, effects in state.settle(token, outcome, &effects) }
    }

    /// Submits batches in order for as long as the intake has room. Safe to call from any thread.
    func submit() {
        while let batch = change({ state, _ in state.takeBatch() }) {
            let taken = intake.take(batch, to: self)
            change { state, effects in state.submitted(batch, taken, &effects) }
        }
    }
}

/// Methods that the engine calls on its thread when the page or one of its scripts reports something.
extension WebViewRun {
    /// Records that a load was committed in the main frame, which ends the previous document.
    ///
    /// Call this method before passing any text from the new document to ``received(_:)``. The web view library emits
    /// its signals in this order.
    func committed() {
        change { state, effects in state.loseDocument(&effects) }
    }

    /// Returns the next script to evaluate in the main frame's private world.
    ///
    /// Call ``scriptDone()`` after each script has been evaluated or has failed.
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
    /// - Returns: How many of the messages are calls.
    private func addMessages(into script: inout RelayScript) -> Int {
        let room = RunState.scriptPieces - script.count
        let bytes = RunState.scriptBytes - script.byteCount
        guard room > 0, bytes > 0 else { return 0 }
        let messages = host.mailbox.takeMessages(atMost: room, bytes: bytes)
        for message in messages { script.add(message) }
        return messages.count { $0.number != 0 }
    }

    /// Records that a script has succeeded or failed.
    func scriptDone() {
        change { state, _ in state.scriptDone() }
    }

    /// Records that the page's process has ended, and with it every script in progress.
    func processEnded() {
        host.counters.add(to: \.processesEnded)
        change { state, effects in
            state.loseDocument(&effects)
            state.scripts = 0
        }
    }

    /// Sets the page's title to the document's title. `nil` or an empty title restores the configured title.
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
        case .notice(let number, .accepted, _): add(acceptanceOf: number)
        case .notice(let number, .outcome(.handled(let reply)), _): add(reply: reply, to: number)
        case .notice(let number, .outcome(let outcome), _): add(ErrorReply(outcome, to: "page"), of: number)
        case .close: addClose("the page is closing")
        }
    }
}

/// The view that a ``WebViewRun`` uses. An engine creates it, and the engine's thread owns it.
///
/// Both methods may be called from any thread, even during a call to the run. They must neither block nor call the run
/// before they return; instead, they pass the request on to the engine's thread.
protocol WebViewSurface: AnyObject, Sendable {
    /// Called when there are scripts to evaluate. The surface then calls ``WebViewRun/nextScript()`` until it returns
    /// `nil`, and evaluates each script.
    func wake()

    /// Closes the page because the run is ending. The run calls this method once.
    ///
    /// The surface first makes all its other calls to the run, including those for scripts in progress. It then calls
    /// ``WebViewRun/surfaceEnded()`` and releases the run.
    func end()
}
