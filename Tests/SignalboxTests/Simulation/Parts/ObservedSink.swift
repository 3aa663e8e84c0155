import SignalboxCore

/// Records what a sink is told, and tells it.
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
