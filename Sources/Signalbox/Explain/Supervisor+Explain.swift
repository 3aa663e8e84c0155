public import SignalboxCore
import Synchronization

extension Supervisor {
    /// Says what would become of an arrival if it were submitted now, and why: nothing is run, and nothing changes.
    ///
    /// Each stage is asked in turn. Only without a plugin is nothing asked beyond it, as all else is the plugin's. The body
    /// is decoded, as the plugin's `Info` says, also where an earlier stage stops the arrival. What a stage says of its
    /// state - an open circuit breaker, a stalled lane - may be over when an arrival really comes. What middleware would
    /// do is not known, as it is not called. While a supervisor drains, when it has stopped, and while the source is being
    /// removed the verdict is `closed`, and what the stages say would be true of a message that came in.
    ///
    /// - Parameter arrival: as an adapter makes it; its origin is believed. Its source's options count where the source
    ///   has been added.
    public func explain(_ arrival: Arrival) -> Explanation {
        let source = arrival.origin.source
        let (intake, isClosed) = state.withLock { ($0.intakes[source], $0.phase == .draining || $0.phase == .stopped) }
        let isTaken = !isClosed && intake?.isClosed != true
        return ArrivalExplainer(arrival: arrival, intake: intake, isTaken: isTaken, core: core).explanation
    }
}
