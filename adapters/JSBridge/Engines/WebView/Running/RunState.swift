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
