import SignalboxCore

/// What a run of a web view knows, and what follows from what happens to it. Pure: what is to be done about it is noted in
/// ``RunEffects``.
struct RunState: Sendable {
    enum Life { case open, stopping, over }

    /// What the task of the run is wanted for.
    enum Event: Sendable {
        /// Wait until the intake has room.
        case roomWanted
        /// The page hears its last words now: it must not take long.
        case lastWords
        /// Everything is settled, and the surface has ended.
        case over
    }

    /// A page with the bridge.
    struct Document {
        let token: String
        let origin: Origin
        /// Which of the run's documents it is.
        let serial: Int
        /// How many calls from the program it was given.
        var calls = 0
    }

    /// A message that has no outcome yet.
    enum Call {
        case page(number: UInt64, document: Int, units: Int)
        case raw(RunEffects.Reply)
        /// Nobody waits for it any more.
        case gone
    }

    /// What the document is told next, beside messages from the program.
    enum Piece {
        case outcome(number: UInt64, Outcome, units: Int)
        case close
    }

    /// The most raw calls without an outcome.
    static let mostRawCalls = 64

    var life = Life.open
    var failure: JSBridgeError?
    var document: Document?
    var documents = 0
    var credit: FlowCredit
    var calls: [UInt64: Call] = [:]
    private var lastToken: UInt64 = 0
    private var rawCalls = 0

    /// What waits for the intake, after the `rest` that it has not taken; their tokens are in `calls`.
    var batches = WaitingLine<[Arrival]>()
    var rest: [Arrival] = []
    var isSubmitting = false
    var isWaitingForRoom = false
    var wantsRoom = false

    var pieces = WaitingLine<Piece>()
    /// Scripts under way.
    var scripts = 0
    var hasMail = false
    var wantsWake = false
    /// The surface was woken, and has not seen that there is nothing.
    var isAwake = false

    var lastWords = LastWords()
    var wantsTimer = false
    var hasSurfaceEnded = false
    var waiter: CheckedContinuation<Event, Never>?

    init(_ configuration: WebViewConfiguration) {
        credit = FlowCredit(
            capacity: FlowCredit.Amount(messages: configuration.messagesInFlight, units: configuration.bytesInFlight)
        )
    }

    // MARK: - Documents

    /// A document says that it is there.
    mutating func hello(_ token: String, _ origin: Origin, _ effects: inout RunEffects) {
        guard life != .over else { return }
        loseDocument(&effects)
        documents += 1
        document = Document(token: token, origin: origin, serial: documents)
        wantsWake = true
    }

    /// The document is gone, when there was one.
    mutating func loseDocument(_ effects: inout RunEffects) {
        guard document != nil else { return }
        document = nil
        for piece in pieces.all {
            if case .outcome(_, _, let units) = piece { credit.release(units: units) }
        }
        pieces = WaitingLine()
        credit.begin()
        effects.losesDocument = true
    }

    // MARK: - Messages on their way in

    enum Admission {
        case taken(token: UInt64, Origin)
        /// The page is told, or needs not be.
        case settled
        case beyondCredit
    }

    /// A message of the document.
    mutating func admit(_ number: UInt64, units: Int) -> Admission {
        guard let document, life != .over, !lastWords.haveEnded else { return .settled }
        guard credit.take(units: units) else { return .beyondCredit }
        guard life == .open else {
            tell(.outcome(number: number, .abandoned(.drain), units: units))
            return .settled
        }
        lastToken += 1
        calls[lastToken] = .page(number: number, document: document.serial, units: units)
        return .taken(token: lastToken, document.origin)
    }

    enum RawAdmission {
        case taken(token: UInt64)
        case refused(Outcome)
        case full
    }

    /// A call from who knows where.
    mutating func admitRaw(_ reply: @escaping RunEffects.Reply) -> RawAdmission {
        guard life == .open else { return .refused(.abandoned(life == .over ? .stop : .drain)) }
        guard rawCalls < RunState.mostRawCalls else { return .full }
        rawCalls += 1
        lastToken += 1
        calls[lastToken] = .raw(reply)
        return .taken(token: lastToken)
    }

    /// A message has its outcome. What is not known is not heard: a sink may be told too much.
    mutating func settle(_ token: UInt64, _ outcome: Outcome, _ effects: inout RunEffects) {
        switch calls.removeValue(forKey: token) {
        case .page(let number, document?.serial, let units):
            tell(.outcome(number: number, outcome, units: units))
        case .page(_, _, let units):
            credit.release(units: units)
            if document != nil && credit.isGrantDue { wantsWake = true }
        case .raw(let reply):
            rawCalls -= 1
            effects.answers.append((reply, RawAnswer(outcome)))
        case .gone, nil: break
        }
    }

    mutating func tell(_ piece: Piece) {
        pieces.append(piece)
        wantsWake = true
    }

    // MARK: - Submitting

    /// Arrivals are to be submitted, after those that wait.
    mutating func submit(_ arrivals: [Arrival], _ effects: inout RunEffects) {
        guard !arrivals.isEmpty else { return }
        if life == .open { batches.append(arrivals) } else { refuse(arrivals[...], &effects) }
    }

    /// What is to be given to the intake now. Nothing more is, until ``submitted(_:_:_:)``.
    mutating func takeBatch() -> [Arrival]? {
        guard !isSubmitting, !isWaitingForRoom else { return nil }
        let next = rest.isEmpty ? batches.take(atMost: 1, bytes: .max) { _ in 0 }.first : rest
        rest = []
        isSubmitting = next != nil
        return next
    }

    /// The intake has taken so many of the batch.
    mutating func submitted(_ batch: [Arrival], _ taken: Int, _ effects: inout RunEffects) {
        isSubmitting = false
        guard taken < batch.count else { return }
        guard life == .open else { return refuse(batch[taken...], &effects) }
        rest = Array(batch[taken...])
        isWaitingForRoom = true
        wantsRoom = true
    }

    /// What was not taken any more is answered `drain`.
    mutating func refuse(_ arrivals: ArraySlice<Arrival>, _ effects: inout RunEffects) {
        for arrival in arrivals { settle(arrival.token, .abandoned(.drain), &effects) }
    }
}

extension RunState {
    /// The most scripts under way: a page that does not react makes the mailbox full, and not memory.
    static let mostScripts = 4
    /// The most pieces of one script, and the bytes after which it takes no more of them.
    static let scriptPieces = 256
    static let scriptBytes = 1_048_576

    /// What a script tells the document of its own messages, and whether it may tell more.
    struct Beginning {
        let pieces: [Piece]
        let takesMail: Bool
    }

    /// What becomes of a script that was written.
    enum Script {
        case given(to: String, grant: FlowCredit.Amount, answers: Int)
        /// There is nothing to say.
        case none
        /// Something came meanwhile.
        case again
    }

    /// Begins a script, if there may be one now.
    mutating func beginScript() -> Beginning? {
        guard life != .over, document != nil, scripts < RunState.mostScripts else {
            isAwake = false
            return nil
        }
        hasMail = false
        let taken = pieces.take(atMost: RunState.scriptPieces, bytes: RunState.scriptBytes) { piece in
            guard case .outcome(_, .handled(let reply), _) = piece else { return 0 }
            return reply?.count ?? 0
        }
        for piece in taken {
            if case .outcome(_, _, let units) = piece { credit.release(units: units) }
        }
        // From now on: what was taken has not been told before the script is done.
        scripts += 1
        return Beginning(pieces: taken, takesMail: !lastWords.haveBegun)
    }

    /// Ends a script that tells so many things, so many of them calls that the document may answer.
    mutating func endScript(telling count: Int, calls: Int) -> Script {
        guard life != .over, var document else {
            scripts = max(0, scripts - 1)
            isAwake = false
            return .none
        }
        guard count > 0 || credit.isGrantDue else {
            scripts -= 1
            if hasMail || !pieces.isEmpty { return .again }
            isAwake = false
            return .none
        }
        document.calls += calls
        self.document = document
        lastWords.countRound()
        return .given(to: document.token, grant: credit.grant(), answers: document.calls)
    }

    mutating func scriptDone() {
        // The process that was to say so may have ended.
        scripts = max(0, scripts - 1)
        if document != nil { wantsWake = true }
    }

    mutating func mailArrived() {
        hasMail = true
        if document != nil { wantsWake = true }
    }
}

extension RunState {
    /// The graceful end begins.
    mutating func stop(_ effects: inout RunEffects) {
        guard life == .open else { return }
        life = .stopping
        isWaitingForRoom = false
        wantsRoom = false
        let waiting = [rest] + batches.all
        rest = []
        batches = WaitingLine()
        for batch in waiting { refuse(batch[...], &effects) }
    }

    /// The end, now.
    mutating func end(_ error: JSBridgeError?, _ effects: inout RunEffects) {
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

    /// What follows from any change.
    mutating func conclude(_ effects: inout RunEffects) {
        if life == .stopping && calls.isEmpty && !isSubmitting { sayLastWords(&effects) }
        if wantsWake && !isAwake && life != .over {
            isAwake = true
            effects.wakes = true
        }
        wantsWake = false
        if let waiter, let event = takeEvent() {
            self.waiter = nil
            effects.event = (waiter, event)
        }
    }

    /// The page hears every outcome, then that it ends; then it ends.
    private mutating func sayLastWords(_ effects: inout RunEffects) {
        if lastWords.begin() { wantsTimer = true }
        let isSilent = pieces.isEmpty && scripts == 0
        if document == nil || (lastWords.haveEnded && isSilent) { return end(nil, &effects) }
        guard !lastWords.haveEnded, isSilent || lastWords.areTooMany else { return }
        lastWords.end()
        tell(.close)
    }

    /// The next event for the task of the run.
    mutating func takeEvent() -> Event? {
        if life == .over && hasSurfaceEnded && calls.isEmpty && !isSubmitting { return .over }
        if wantsRoom {
            wantsRoom = false
            return .roomWanted
        }
        if wantsTimer {
            wantsTimer = false
            return .lastWords
        }
        return nil
    }
}

/// What a change of a ``RunState`` asks for, to be done without its lock.
struct RunEffects: Sendable {
    typealias Reply = @Sendable (RawAnswer) -> Void

    /// The surface is to ask for scripts.
    var wakes = false
    /// The surface is to end.
    var endsSurface = false
    /// A document is gone, and owes answers for ever.
    var losesDocument = false
    /// The raw calls that settle.
    var answers: [(reply: Reply, answer: RawAnswer)] = []
    /// Whom the next event goes to.
    var event: (waiter: CheckedContinuation<RunState.Event, Never>, event: RunState.Event)?
}
