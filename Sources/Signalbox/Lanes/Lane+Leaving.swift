import SignalboxCore
import Synchronization

extension Lane {
    /// Abandons what a source that is removed has left here and has not begun. A call in progress goes on: to take it away
    /// would stall the lane for the sources that stay.
    func letGo(of intake: SourceIntake) {
        let (runs, wakeups) = state.withLock { state -> ([LaneRun], LaneWakeups) in
            var runs = state.takeWaiting { $0.intake === intake } + state.takeSleepers { $0.intake === intake }
            for position in state.places.indices where state.places[position].current?.intake === intake {
                let word = state.places[position].place.word
                guard word.phase == .running, state.places[position].place.mark(word, .interrupted),
                    let rest = state.places[position].takeRest(behindCall: word.number)
                else { continue }
                runs.append(rest)
            }
            return (runs, state.dispatch())
        }
        carryOut(wakeups)
        settle(runs.map { LaneVerdict(run: $0, outcome: .abandoned(.drain)) })
    }

    /// Forgets a source that was removed, at once or when its call returns.
    func forget(_ intake: SourceIntake) {
        state.withLock { $0.forget(intake) }
    }
}
