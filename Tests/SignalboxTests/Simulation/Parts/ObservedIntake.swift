import SignalboxCore

/// An intake that records the calls between a source and the supervisor's intake.
final class ObservedIntake: Intake {
    let mark: IntakeMark
    private let intake: any Intake
    private let world: SimulationWorld

    init(_ intake: any Intake, _ mark: IntakeMark, world: SimulationWorld) {
        self.intake = intake
        self.mark = mark
        self.world = world
    }

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        let offered = batch.map { arrival in
            SimulationEvent.Offered(
                mark: ArrivalMark(source: mark.source, token: arrival.token),
                message: world.message(of: arrival)
            )
        }
        for (arrival, offered) in zip(batch, offered) { world.identify(arrival, as: .memory(offered.mark)) }
        let number = world.beginOffer(offered, to: mark)
        // The lane identifies `deliver` by the type of its sink, to detect callers that wait for themselves.
        let isDelivered = sink is OutcomeCollector
        let observed = isDelivered ? sink : ObservedSink(sink, source: mark.source, world: world)
        let taken = intake.submit(batch, to: observed)
        world.add(.took(number: number, count: taken))
        return taken
    }

    func room() async throws(SourceClosed) {
        world.add(.waitsForRoom(mark))
        do throws(SourceClosed) {
            try await intake.room()
            world.add(.hasRoom(mark))
        } catch {
            world.add(.isClosed(mark))
            throw error
        }
    }
}

/// An adapter whose intake is observed.
struct ObservedAdapter: Adapter {
    let adapter: any Adapter
    let mark: IntakeMark
    let world: SimulationWorld

    var source: SourceName { adapter.source }
    var features: AdapterFeatures { adapter.features }

    func run(into intake: any Intake) async throws {
        let observed = ObservedIntake(intake, mark, world: world)
        world.add(observed)
        try await adapter.run(into: observed)
    }
}

extension ObservedAdapter: RestoringAdapter {
    func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        (adapter as? any RestoringAdapter)?.restore(messages, at: now) ?? []
    }
}

/// A sink that records its calls and forwards them.
final class ObservedSink: SettlementSink {
    private let sink: any SettlementSink
    private let source: Int
    private let world: SimulationWorld

    init(_ sink: any SettlementSink, source: Int, world: SimulationWorld) {
        self.sink = sink
        self.source = source
        self.world = world
    }

    func mayAcknowledge(_ token: UInt64) {
        world.add(.acknowledged(ArrivalMark(source: source, token: token)))
        sink.mayAcknowledge(token)
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        world.add(.settled(ArrivalMark(source: source, token: token), outcome))
        sink.settle(token, outcome)
    }
}
