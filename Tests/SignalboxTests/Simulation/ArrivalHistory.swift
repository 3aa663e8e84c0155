import SignalboxCore

/// The history of one arrival that was taken.
struct ArrivalHistory: Sendable {
    let mark: ArrivalMark
    /// The intake to which the arrival was submitted.
    let intake: IntakeMark
    /// The index of the message.
    let message: Int
    /// The positions of the call and of the return of `submit`.
    let offered: Int
    let taken: Int
    var acknowledged: [Int] = []
    var settled: [ReportedOutcome] = []
    var observed: [ReportedOutcome] = []
    /// The facts that observers received with the outcome.
    var reportedAttempts = 0
    var isDuplicate = false
    /// The calls for the arrival, as indexes of the history's calls.
    var calls: [Int] = []
    var middleware: [MiddlewareSpan] = []

    struct ReportedOutcome: Sendable {
        let at: Int
        let outcome: Outcome
    }

    /// One attempt's passage through one middleware.
    struct MiddlewareSpan: Sendable {
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

/// The stage before the lane that decided an arrival.
enum Refusal: Sendable, Hashable, Comparable {
    case access, deduplication, deadline, rate, breaker
}

extension ArrivalHistory {
    /// The stage before the lane that decided the arrival, or `nil` if it reached its lane or was never routed.
    var refusal: Refusal? {
        if isDuplicate { return .deduplication }
        guard case .rejected(let rejection)? = outcome else { return nil }
        return switch rejection.reason {
        case .malformed, .unknownAction, .sourceNotAllowed: .access
        case .idConflict: .deduplication
        case .expired where rejection.detail.contains("admitted"): .deadline
        case .overloaded: .rate
        case .unavailable where rejection.detail.contains("circuit breaker"): .breaker
        default: nil
        }
    }

    /// Returns whether the arrival reached the stage, because no earlier stage decided it.
    func reaches(_ stage: Refusal) -> Bool { refusal.map { $0 >= stage } ?? true }
}

extension History {
    /// Returns the position at which the arrival was routed: its submission, or the start of the run if that is later.
    func routedAt(_ arrival: ArrivalHistory) -> Int { max(arrival.offered, began ?? 0) }

    /// Returns whether the arrival was routed. It is not if the supervisor never opens or its source is removed before.
    func wasRouted(_ arrival: ArrivalHistory) -> Bool {
        guard let began, !arrival.isSettled(before: began) else { return false }
        return arrival.offered > began || !(scenario.isCancelled && stopped.map { $0 < began } ?? false)
    }

    /// Returns whether another arrival of the intake has the same id, so that one may wait for the other's outcome.
    func sharesID(_ arrival: ArrivalHistory) -> Bool {
        guard let id = message(of: arrival).id else { return false }
        return arrivals.contains { other in
            other.mark != arrival.mark && other.intake == arrival.intake && message(of: other).id == id
        }
    }
}

/// An ordering group: the arrivals of a source, of a key, or of a key within a source, or a single arrival.
enum OrderingGroupID: Sendable, Hashable {
    case source(IntakeMark)
    case key(Int)
    case keyOfSource(Int, IntakeMark)
    case none(ArrivalMark)
}

extension History {
    func group(of arrival: ArrivalHistory, in plugin: PluginScenario) -> OrderingGroupID {
        switch plugin.order {
        case .source: .source(arrival.intake)
        case .key: .key(message(of: arrival).key)
        case .none: .none(arrival.mark)
        }
    }

    /// Returns the arrivals that a registration was called with, in the order of submission.
    func called(_ registration: Int) -> [ArrivalHistory] {
        arrivals.filter { arrival in arrival.calls.contains { calls[$0].registration == registration } }
    }

    /// Returns the only registration that the action ever had, or `nil` if it had none or several.
    func onlyRegistration(of action: Int) -> Registration? {
        let known = registrations.filter { $0.plugin.action == action && $0.from != nil }
        return known.count == 1 ? known[0] : nil
    }
}

/// One attempt at an arrival, from the start of its first middleware or call to its end.
struct Attempt: Sendable {
    let number: Int
    var began: Int
    var ended: Int?

    func isRunning(at position: Int) -> Bool { began < position && ended.map { $0 > position } ?? true }
}

extension History {
    /// Returns the attempts at an arrival, in order.
    func attempts(of arrival: ArrivalHistory) -> [Attempt] {
        var attempts: [Attempt] = []
        let calls = arrival.calls.map { self.calls[$0] }
        let spans = arrival.middleware.map { Attempt(number: $0.attempt, began: $0.began, ended: $0.ended) }
        let all = spans + calls.map { Attempt(number: $0.attempt, began: $0.began, ended: $0.ended) }
        for one in all {
            guard let known = attempts.firstIndex(where: { $0.number == one.number }) else {
                attempts.append(one)
                continue
            }
            attempts[known].began = min(attempts[known].began, one.began)
            // The attempt is running as long as any part of it is.
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

/// An arrival of a simulation, identified by its source and the token from its adapter.
struct ArrivalMark: Sendable, Hashable, CustomStringConvertible {
    let source: Int
    let token: UInt64

    var description: String { "s\(source):\(token)" }
}

/// An intake of a simulation, identified by its source and the number of times that the source was added before.
struct IntakeMark: Sendable, Hashable, CustomStringConvertible {
    let source: Int
    var generation = 0

    var description: String { generation == 0 ? "s\(source)" : "s\(source) (generation \(generation + 1))" }
}
