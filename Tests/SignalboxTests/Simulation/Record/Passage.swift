import SignalboxCore

/// What happened to one arrival that was taken.
struct Passage: Sendable {
    let mark: ArrivalMark
    /// What it was submitted to.
    let intake: IntakeMark
    /// Which message it is.
    let message: Int
    /// When `submit` was called with it, and when that returned.
    let offered: Int
    let taken: Int
    var acknowledged: [Int] = []
    var settled: [Told] = []
    var observed: [Told] = []
    /// What observers were told besides the outcome.
    var attemptsTold = 0
    var isRepeat = false
    /// The calls for it, by their places in the ledger.
    var calls: [Int] = []
    var middleware: [Passing] = []

    struct Told: Sendable {
        let at: Int
        let outcome: Outcome
    }

    /// The way of one attempt through one middleware.
    struct Passing: Sendable {
        let began: Int
        let act: MiddlewareAct
        let attempt: Int
        var ended: Int?
    }

    var outcome: Outcome? { settled.first?.outcome }

    var isAbandoned: Bool { if case .abandoned? = outcome { true } else { false } }

    /// The reason of a rejection.
    var rejection: Outcome.Rejection.Reason? {
        if case .rejected(let rejection)? = outcome { rejection.reason } else { nil }
    }

    var failure: Outcome.Failure? { if case .failed(let failure)? = outcome { failure } else { nil } }

    func isSettled(before position: Int) -> Bool { settled.first.map { $0.at < position } ?? false }
}
