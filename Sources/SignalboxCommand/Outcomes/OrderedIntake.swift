import SignalboxCore

/// An intake that gives each arrival its place among the lines before the supervisor hears of it.
struct OrderedIntake: Intake {
    let intake: any Intake
    let outcomes: OrderedOutcomes

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let placed = outcomes.take(batch)
        guard placed > 0 else { return 0 }
        let taken = intake.submit(placed == batch.count ? batch : Array(batch[..<placed]), to: sink)
        outcomes.giveBack(batch[taken..<placed])
        return taken
    }

    func room() async throws(SourceClosed) {
        await outcomes.room()
        try await intake.room()
    }
}
