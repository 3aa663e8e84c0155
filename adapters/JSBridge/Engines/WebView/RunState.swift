import DequeModule
import SignalboxCore

/// The state machine for a web view's run. It has no side effects, and returns the actions to perform as
/// ``WebViewEffects``.
struct RunState: Sendable {
    enum Life { case open, stopping, over }

    /// A request for the run's task.
    enum Event: Sendable {
        /// Wait until the intake has room.
        case roomWanted
        /// Start the time limit for the page's graceful end.
        case gracefulClose
        /// Everything has settled and the surface has ended.
        case over
    }

    /// A page with the bridge.
    struct Document {
        let token: String
        let origin: Origin
        /// The document's ordinal within the run.
        let serial: Int
        /// The number of calls from the program that the document has received.
        var calls = 0
    }

    /// A message that has no outcome yet.
    enum Call {
        /// `units` is `nil` if the call no longer uses credit, because it is accepted.
        case page(number: UInt64, document: Int, units: Int?)
        case raw(WebViewEffects.Reply)
        /// A call whose caller is gone.
        case gone
    }

    /// A notification for the document, other than a message from the program.
    enum Piece {
        /// `units` is the credit to release, if the call uses any.
        case notice(number: UInt64, PageNotice, units: Int?)
        case close
    }

    /// The maximum number of raw calls that have no outcome yet.
    static let maximumRawCalls = 64

    var life = Life.open
    var failure: JSBridgeError?
    var document: Document?
    var documents = 0
    var credit: FlowCredit
    var calls: [UInt64: Call] = [:]
    private var lastToken: UInt64 = 0
    private var rawCalls = 0

    /// The batches to submit after `rest`. The intake has already refused the arrivals in `rest` once. The tokens of
    /// all these arrivals are in `calls`.
    var batches = Deque<[Arrival]>()
    var rest: [Arrival] = []
    var isSubmitting = false
    var isWaitingForRoom = false

    var pieces = Deque<Piece>()
    /// The number of scripts in progress.
    var scripts = 0
    var hasMessages = false
    var needsWake = false
    /// Whether the surface was woken and has not yet found that there are no more scripts.
    var isAwake = false

    var gracefulClose = GracefulClose()
    var hasSurfaceEnded = false
    /// The events that the run's task has not taken yet.
    private var events = Deque<Event>()
    var waiter: CheckedContinuation<Event, Never>?

    init(_ configuration: WebViewConfiguration) {
        credit = FlowCredit(
            capacity: FlowCredit.Amount(messages: configuration.messagesInFlight, units: configuration.bytesInFlight)
        )
    }

    // MARK: - Documents

    /// Registers a document that has announced itself.
    mutating func hello(_ token: String, _ origin: Origin, _ effects: inout WebViewEffects) {
        guard life != .over else { return }
        loseDocument(&effects)
        documents += 1
        document = Document(token: token, origin: origin, serial: documents)
        needsWake = true
    }

    /// Removes the current document, if any.
    mutating func loseDocument(_ effects: inout WebViewEffects) {
        guard document != nil else { return }
        document = nil
        for piece in pieces { release(piece) }
        pieces = Deque()
        credit.begin()
        effects.losesDocument = true
    }

    // MARK: - Incoming messages

    enum CallAdmission {
        case taken(token: UInt64, Origin)
        /// The message is already being answered, or needs no answer.
        case settled
        case beyondCredit
    }

    /// Admits a message from the document.
    mutating func admit(_ number: UInt64, units: Int) -> CallAdmission {
        guard let document, life != .over, !gracefulClose.hasEnded else { return .settled }
        guard credit.take(units: units) else { return .beyondCredit }
        guard life == .open else {
            notify(.notice(number: number, .outcome(.abandoned(.drain)), units: units))
            return .settled
        }
        lastToken += 1
        calls[lastToken] = .page(number: number, document: document.serial, units: units)
        return .taken(token: lastToken, document.origin)
    }

    enum RawCallAdmission {
        case taken(token: UInt64)
        case refused(Outcome)
        case full
    }

    /// Admits a call from an unknown frame.
    mutating func admitRaw(_ reply: @escaping WebViewEffects.Reply) -> RawCallAdmission {
        guard life == .open else { return .refused(.abandoned(life == .over ? .stop : .drain)) }
        guard rawCalls < RunState.maximumRawCalls else { return .full }
        rawCalls += 1
        lastToken += 1
        calls[lastToken] = .raw(reply)
        return .taken(token: lastToken)
    }

    /// Notes that a message is accepted. It uses no more credit, because its outcome may come much later. A raw call has no
    /// way to learn of it, and its place stays taken, because any frame can make such calls.
    mutating func accept(_ token: UInt64) {
        guard case .page(let number, let serial, let units?) = calls[token] else { return }
        calls[token] = .page(number: number, document: serial, units: nil)
        tell(number, in: serial, .accepted, units: units)
    }

    /// Settles a message with its outcome. Unknown tokens are ignored, because a sink may be called more often than
    /// necessary.
    mutating func settle(_ token: UInt64, _ outcome: Outcome, _ effects: inout WebViewEffects) {
        switch calls.removeValue(forKey: token) {
        case .page(let number, let serial, let units):
            tell(number, in: serial, .outcome(outcome), units: units)
        case .raw(let reply):
            rawCalls -= 1
            effects.answers.append((reply, RawAnswer(outcome)))
        case .gone, nil: break
        }
    }

    /// Queues a notice for a document, or releases its credit if the document is gone or need not know.
    private mutating func tell(_ number: UInt64, in serial: Int, _ notice: PageNotice, units: Int?) {
        if serial == document?.serial, notice.isForPage {
            return notify(.notice(number: number, notice, units: units))
        }
        guard let units else { return }
        credit.release(units: units)
        if document != nil && credit.isGrantDue { needsWake = true }
    }

    mutating func notify(_ piece: Piece) {
        pieces.append(piece)
        needsWake = true
    }

    private mutating func release(_ piece: Piece) {
        if case .notice(_, _, let units?) = piece { credit.release(units: units) }
    }

    // MARK: - Submission

    /// Queues arrivals for submission, after those that are already waiting.
    mutating func submit(_ arrivals: [Arrival], _ effects: inout WebViewEffects) {
        guard !arrivals.isEmpty else { return }
        if life == .open { batches.append(arrivals) } else { refuse(arrivals[...], &effects) }
    }

    /// Takes the batch to submit next. No other batch can be taken until ``submitted(_:_:_:)`` is called.
    mutating func takeBatch() -> [Arrival]? {
        guard !isSubmitting, !isWaitingForRoom else { return nil }
        let next = rest.isEmpty ? batches.popFirst() : rest
        rest = []
        isSubmitting = next != nil
        return next
    }

    /// Records how many of the batch's arrivals the intake accepted.
    mutating func submitted(_ batch: [Arrival], _ taken: Int, _ effects: inout WebViewEffects) {
        isSubmitting = false
        guard taken < batch.count else { return }
        guard life == .open else { return refuse(batch[taken...], &effects) }
        rest = Array(batch[taken...])
        isWaitingForRoom = true
        events.append(.roomWanted)
    }

    /// Settles arrivals that were not submitted, with the outcome `drain`.
    mutating func refuse(_ arrivals: ArraySlice<Arrival>, _ effects: inout WebViewEffects) {
        for arrival in arrivals { settle(arrival.token, .abandoned(.drain), &effects) }
    }
}

extension RunState {
    /// The maximum number of scripts in progress. This limit makes an unresponsive page fill the mailbox instead of the
    /// memory.
    static let maximumScripts = 4
    /// The maximum number of pieces in a script, and the size in bytes at which a script takes no more pieces.
    static let scriptPieces = 256
    static let scriptBytes = 1_048_576

    /// The notifications at the beginning of a script, and whether messages from the program may follow them.
    struct Beginning {
        let pieces: [Piece]
        let includesMessages: Bool
    }

    /// The result of composing a script.
    enum Script {
        case given(to: String, grant: FlowCredit.Amount, answers: Int)
        /// The script would be empty.
        case none
        /// New work arrived while the script was being composed.
        case again
    }

    /// Begins a script, if the state permits one.
    mutating func beginScript() -> Beginning? {
        guard life != .over, document != nil, scripts < RunState.maximumScripts else {
            isAwake = false
            return nil
        }
        hasMessages = false
        let taken = pieces.take(atMost: RunState.scriptPieces, bytes: RunState.scriptBytes) { piece in
            guard case .notice(_, .outcome(.handled(let reply)), _) = piece else { return 0 }
            return reply?.count ?? 0
        }
        for piece in taken { release(piece) }
        // The script counts as in progress from here on, because the pieces taken are not delivered until it is done.
        scripts += 1
        return Beginning(pieces: taken, includesMessages: !gracefulClose.hasBegun)
    }

    /// Completes a script that has `count` pieces, of which the document has to answer `calls`.
    mutating func endScript(pieces count: Int, calls: Int) -> Script {
        guard life != .over, var document else {
            scripts = max(0, scripts - 1)
            isAwake = false
            return .none
        }
        guard count > 0 || credit.isGrantDue else {
            scripts -= 1
            if hasMessages || !pieces.isEmpty { return .again }
            isAwake = false
            return .none
        }
        document.calls += calls
        self.document = document
        gracefulClose.countRound()
        return .given(to: document.token, grant: credit.grant(), answers: document.calls)
    }

    mutating func scriptDone() {
        // The process that was running these scripts may have ended, so the number may already be zero.
        scripts = max(0, scripts - 1)
        if document != nil { needsWake = true }
    }

    mutating func messagesArrived() {
        hasMessages = true
        if document != nil { needsWake = true }
    }
}

extension RunState {
    /// Begins the graceful end.
    mutating func stop(_ effects: inout WebViewEffects) {
        guard life == .open else { return }
        life = .stopping
        isWaitingForRoom = false
        events.removeAll()
        let waiting = [rest] + batches
        rest = []
        batches = Deque()
        for batch in waiting { refuse(batch[...], &effects) }
    }

    /// Ends the run immediately.
    mutating func end(_ error: JSBridgeError?, _ effects: inout WebViewEffects) {
        guard life != .over else { return }
        stop(&effects)
        life = .over
        failure = error
        loseDocument(&effects)
        for (token, call) in calls {
            if case .raw(let reply) = call { effects.answers.append((reply, .closed)) }
            calls[token] = .gone
        }
        effects.endsSurface = true
    }

    /// Adds the effects that follow from any change.
    mutating func conclude(_ effects: inout WebViewEffects) {
        if life == .stopping && calls.isEmpty && !isSubmitting { closeGracefully(&effects) }
        if needsWake && !isAwake && life != .over {
            isAwake = true
            effects.wakes = true
        }
        needsWake = false
        if let waiter, let event = takeEvent() {
            self.waiter = nil
            effects.event = (waiter, event)
        }
    }

    /// Delivers every outcome and then `close` to the page, and finally ends the run.
    private mutating func closeGracefully(_ effects: inout WebViewEffects) {
        if gracefulClose.begin() { events.append(.gracefulClose) }
        let isDrained = pieces.isEmpty && scripts == 0
        if document == nil || (gracefulClose.hasEnded && isDrained) { return end(nil, &effects) }
        guard !gracefulClose.hasEnded, isDrained || gracefulClose.hasTooManyRounds else { return }
        gracefulClose.end()
        notify(.close)
    }

    /// Takes the next event for the run's task.
    mutating func takeEvent() -> Event? {
        if life == .over && hasSurfaceEnded && calls.isEmpty && !isSubmitting { return .over }
        return events.popFirst()
    }
}

/// The actions that a ``RunState`` change requires. They are performed outside its lock.
struct WebViewEffects: Sendable {
    typealias Reply = @Sendable (RawAnswer) -> Void

    /// Whether to wake the surface because there are scripts to evaluate.
    var wakes = false
    /// Whether to end the surface.
    var endsSurface = false
    /// Whether a document ended without answering its calls.
    var losesDocument = false
    /// The raw calls to settle.
    var answers: [(reply: Reply, answer: RawAnswer)] = []
    /// The next event and the task waiting for it.
    var event: (waiter: CheckedContinuation<RunState.Event, Never>, event: RunState.Event)?
}
