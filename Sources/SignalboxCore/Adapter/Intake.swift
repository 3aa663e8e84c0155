/// The way into the supervisor for one adapter. First in, first out per source and lane.
public protocol Intake: Sendable {
    /// Takes as many arrivals from the front of `batch` as the source's window has room for.
    ///
    /// Never blocks; any thread. Before the supervisor opens, what was taken waits in the window. Each arrival taken is
    /// settled exactly once through `sink`; those not taken still belong to the caller.
    ///
    /// - Returns: the number taken, 0 to `batch.count`; 0 while the supervisor drains and after.
    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int

    /// Returns when a quarter of the window is free. A cancelled caller waits as well: the supervisor closes the intake
    /// when it stops an adapter.
    ///
    /// - Throws: ``SourceClosed`` when the supervisor drains or has stopped: nothing more will be taken.
    func room() async throws(SourceClosed)
}
