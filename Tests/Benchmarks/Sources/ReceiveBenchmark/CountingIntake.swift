import SignalboxCore

/// Settles everything at once, on the adapter's own thread.
struct CountingIntake: Intake {
    let meter: Meter

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        for arrival in batch {
            _ = meter.count()
            sink.mayAcknowledge(arrival.token)
            sink.settle(arrival.token, .handled(reply: nil))
        }
        return batch.count
    }

    func room() async throws(SourceClosed) {}
}
