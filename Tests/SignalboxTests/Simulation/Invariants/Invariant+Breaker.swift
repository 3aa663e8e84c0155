import SignalboxCore

extension Invariant {
    static let breakerIsKept = Invariant(
        "breakerIsKept",
        """
        After so many failures in a row a circuit breaker lets nothing pass for its time, and then one at a time until \
        one is handled; else it lets all pass.
        """
    ) { ledger in
        ledger.registrations.flatMap { registration -> [Ledger.Fault] in
            let plugin = registration.plugin
            guard let breaker = plugin.breaker, registration.from != nil,
                ledger.onlyRegistration(of: plugin.action) != nil
            else { return [] }
            var model = BreakerModel(breaker)
            for step in ledger.steps(of: plugin.action) {
                let tick = ledger.ticks[step.at]
                guard step.isAsked else {
                    model.settle(step.passage, at: tick)
                    continue
                }
                let isRefused = step.passage.refusal == .breaker
                if let fault = model.ask(step.passage.mark, isRefused: isRefused, at: tick) {
                    return [Ledger.Fault(at: step.at, text: "\(step.passage.mark) \(fault)")]
                }
            }
            return []
        }
    }
}

extension Ledger {
    fileprivate struct Step {
        let passage: Passage
        let at: Int
        /// Asked for, or settled.
        let isAsked: Bool
    }

    /// What a plugin's circuit breaker is asked for and told, in that order.
    fileprivate func steps(of action: Int) -> [Step] {
        let own = passages.filter { message(of: $0).action == action && $0.reaches(.breaker) && wasRouted($0) }
        // What waits for the supervisor to open is routed intake by intake.
        let asked = own.map { Step(passage: $0, at: self.asked($0), isAsked: true) }.enumerated().sorted { one, other in
            (one.element.at, one.element.passage.mark.source, one.offset)
                < (other.element.at, other.element.passage.mark.source, other.offset)
        }
        let settled = own.compactMap { passage in
            passage.settled.first.map { Step(passage: passage, at: $0.at, isAsked: false) }
        }
        var all = asked.map(\.element) + settled
        all = all.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
        return all
    }
}

/// What a circuit breaker must do, as the options describe it.
private struct BreakerModel {
    private enum Phase {
        case closed(failures: Int)
        case open(since: Int)
        case trying(ArrivalMark?)
    }

    private let breaker: PluginScenario.Breaker
    private var phase = Phase.closed(failures: 0)

    init(_ breaker: PluginScenario.Breaker) { self.breaker = breaker }

    /// - Returns: what is wrong.
    mutating func ask(_ mark: ArrivalMark, isRefused: Bool, at tick: Int) -> String? {
        switch phase {
        case .closed: return isRefused ? "was refused, and the circuit breaker is closed" : nil
        case .open(let since):
            // Part of a tick may have gone by at both ends.
            if isRefused { return tick > since + breaker.openFor + 1 ? "was refused, and the time is over" : nil }
            if tick < since + breaker.openFor - 1 { return "was let through, and the circuit breaker is open" }
            phase = .trying(mark)
        case .trying(let trial):
            if isRefused { return trial == nil ? "was refused, and nothing is tried" : nil }
            if let trial { return "was let through while \(trial) is tried" }
            phase = .trying(mark)
        }
        return nil
    }

    mutating func settle(_ passage: Passage, at tick: Int) {
        switch (phase, passage.outcome) {
        case (.closed, .handled): phase = .closed(failures: 0)
        case (.closed(let count), .failed):
            phase = count + 1 < breaker.failures ? .closed(failures: count + 1) : .open(since: tick)
        case (.trying(passage.mark), .handled): phase = .closed(failures: 0)
        case (.trying(passage.mark), .failed): phase = .open(since: tick)
        case (.trying(passage.mark), _): phase = .trying(nil)
        default: break
        }
    }
}
