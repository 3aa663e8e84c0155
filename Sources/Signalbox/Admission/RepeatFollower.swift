import SignalboxCore

/// An arrival that repeats one that is running, and waits for its outcome.
struct RepeatFollower: Sendable {
    let arrival: Arrival
    let sink: any SettlementSink
}
