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

/// Where, before its lane, an arrival was decided.
enum Refusal: Sendable, Hashable, Comparable {
    case access, repeats, deadline, rate, breaker
}

extension Passage {
    /// The stage before the lane that has decided it; `nil` when it got as far as its lane, or was never routed.
    var refusal: Refusal? {
        if isRepeat { return .repeats }
        guard case .rejected(let rejection)? = outcome else { return nil }
        return switch rejection.reason {
        case .malformed, .unknownAction, .sourceNotAllowed: .access
        case .idConflict: .repeats
        case .expired where rejection.detail.contains("admitted"): .deadline
        case .overloaded: .rate
        case .unavailable where rejection.detail.contains("circuit breaker"): .breaker
        default: nil
        }
    }

    /// Whether it was asked for at a stage, as no earlier one has decided it.
    func reaches(_ stage: Refusal) -> Bool { refusal.map { $0 >= stage } ?? true }
}

extension Ledger {
    /// When it was routed: at its submission, or when the supervisor opened.
    func asked(_ passage: Passage) -> Int { max(passage.offered, began ?? 0) }

    /// Whether it was routed at all: what waits for a supervisor that never opens, or for a source that is removed, is not.
    func wasRouted(_ passage: Passage) -> Bool {
        guard let began, !passage.isSettled(before: began) else { return false }
        return passage.offered > began || !(scenario.isCancelled && stopped.map { $0 < began } ?? false)
    }

    /// Whether another arrival of the intake has the same id: it may wait for that one's outcome.
    func sharesID(_ passage: Passage) -> Bool {
        guard let id = message(of: passage).id else { return false }
        return passages.contains { other in
            other.mark != passage.mark && other.intake == passage.intake && message(of: other).id == id
        }
    }
}

/// What must wait for each other: the arrivals of one source, or those with one key, or nothing.
enum Strand: Sendable, Hashable {
    case source(IntakeMark)
    case key(Int)
    case keyOfSource(Int, IntakeMark)
    case none(ArrivalMark)
}

extension Ledger {
    func strand(of passage: Passage, in plugin: PluginScenario) -> Strand {
        switch plugin.order {
        case .source: .source(passage.intake)
        case .key: .key(message(of: passage).key)
        case .none: .none(passage.mark)
        }
    }

    /// The arrivals whose calls were a registration's, in the order in which they were submitted.
    func called(_ registration: Int) -> [Passage] {
        passages.filter { passage in passage.calls.contains { calls[$0].registration == registration } }
    }

    /// The one registration that its action ever had; `nil` when it had none or several.
    func onlyRegistration(of action: Int) -> Registration? {
        let known = registrations.filter { $0.plugin.action == action && $0.from != nil }
        return known.count == 1 ? known[0] : nil
    }
}

/// One attempt at an arrival: from where the first middleware or else the call began, to where it ended.
struct Attempt: Sendable {
    let number: Int
    var began: Int
    var ended: Int?

    func isRunning(at position: Int) -> Bool { began < position && ended.map { $0 > position } ?? true }
}

extension Ledger {
    /// The attempts at an arrival, in order.
    func attempts(of passage: Passage) -> [Attempt] {
        var attempts: [Attempt] = []
        let calls = passage.calls.map { self.calls[$0] }
        let ways = passage.middleware.map { Attempt(number: $0.attempt, began: $0.began, ended: $0.ended) }
        let all = ways + calls.map { Attempt(number: $0.attempt, began: $0.began, ended: $0.ended) }
        for one in all {
            guard let known = attempts.firstIndex(where: { $0.number == one.number }) else {
                attempts.append(one)
                continue
            }
            attempts[known].began = min(attempts[known].began, one.began)
            // Still running as long as a part of it is.
            if let ended = attempts[known].ended { attempts[known].ended = one.ended.map { max($0, ended) } }
        }
        return attempts.sorted { $0.began < $1.began }
    }
}

/// One call of a plugin's code.
struct CallRecord: Sendable {
    let number: Int
    let registration: Int
    let marks: [ArrivalMark]
    let attempt: Int
    let began: Int
    var ended: Int?
    var result: SimulationEvent.CallResult?

    func isRunning(at position: Int) -> Bool { began < position && ended.map { $0 > position } ?? true }
}

/// One arrival of a simulation: its source, and the token that its adapter gave it.
struct ArrivalMark: Sendable, Hashable, CustomStringConvertible {
    let source: Int
    let token: UInt64

    var description: String { "s\(source):\(token)" }
}

/// One intake of a simulation: its source, and how often that had been added before.
struct IntakeMark: Sendable, Hashable, CustomStringConvertible {
    let source: Int
    var life = 0

    var description: String { life == 0 ? "s\(source)" : "s\(source) (life \(life + 1))" }
}
