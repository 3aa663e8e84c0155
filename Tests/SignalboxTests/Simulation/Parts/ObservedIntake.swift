import SignalboxCore

/// Stands between a source and its intake, and records what goes each way.
final class ObservedIntake: Intake {
    let source: Int
    private let intake: any Intake
    private let world: SimulationWorld

    init(_ intake: any Intake, source: Int, world: SimulationWorld) {
        self.intake = intake
        self.source = source
        self.world = world
    }

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let offered = batch.map { arrival in
            SimulationEvent.Offered(
                mark: ArrivalMark(source: source, token: arrival.token),
                message: world.message(of: arrival)
            )
        }
        let number = world.beginOffer(offered)
        // The sink of `deliver` is known by its type: who awaits an outcome may wait for itself.
        let isDelivered = sink is OutcomeCollector
        let observed = isDelivered ? sink : ObservedSink(sink, source: source, world: world)
        let taken = intake.submit(batch, to: observed)
        world.add(.took(number: number, count: taken))
        return taken
    }

    func room() async throws(SourceClosed) {
        world.add(.asksForRoom(source: source))
        do throws(SourceClosed) {
            try await intake.room()
            world.add(.hasRoom(source: source))
        } catch {
            world.add(.isClosed(source: source))
            throw error
        }
    }
}
