import SignalboxCore

/// The arrivals of one submitted batch that go to the same lane, in order.
struct LaneRun: Sendable {
    let arrivals: [Arrival]
    var range: Range<Int>
    let sink: any SettlementSink
    /// The supervisor's tick at which they were routed.
    let tick: UInt64
}
