import SignalboxCore

/// Gives each batch a sink of its own.
struct DyingIntake: Intake {
    let intake: any Intake
    let tally: Tally

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        intake.submit(batch, to: DyingSink(sink, count: batch.count, tally))
    }

    func room() async throws(SourceClosed) {
        try await intake.room()
    }
}
