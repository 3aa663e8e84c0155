import SignalboxCore
import SignalboxTesting

/// What a faulty adapter makes of the outcomes it hears.
final class FaultySink: SettlementSink {
    private let adapter: FaultyAdapter

    init(_ adapter: FaultyAdapter) {
        self.adapter = adapter
    }

    func mayAcknowledge(_ token: UInt64) {}

    func settle(_ token: UInt64, _ outcome: Outcome) {
        adapter.state.change { [fault = adapter.fault] state in
            guard let message = state.inside.removeValue(forKey: token) else { return }
            if case .abandoned = outcome {
                if fault != .forgetsTheAbandoned { state.abandoned[token] = message }
            } else {
                state.handled.append(message)
            }
            if case .rejected = outcome { state.rejected.append(message) }
            switch fault {
            case .answersNobody: break
            case .answersAllAsHandled: state.answers[message.id] = .reply(Bytes("0"))
            default: state.answers[message.id] = ConformanceAnswer(outcome)
            }
            if case .endsAfter(let word) = fault, reason(outcome) == word { state.mustEnd = true }
        }
    }
}
