import SignalboxCore

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
