import Signalbox
import SignalboxCore
import Testing

/// Each invariant can fail. The log of a run in which all hold is mutated, and the intended invariant finds the
/// anomaly.
@Suite struct InvariantTests {
    @Test func anUnmutatedRunSatisfiesAllInvariants() {
        let run = MutatedRun()
        for invariant in Invariant.all { #expect(run.anomalies(of: invariant).map(\.text) == [], "\(invariant.name)") }
    }

    @Test func everyInvariantHasAMutationAndAUniqueName() {
        #expect(Set(Mutation.all.map(\.invariant)) == Set(Invariant.all.map(\.name)))
        #expect(Set(Invariant.all.map(\.name)).count == Invariant.all.count)
    }

    @Test(arguments: Mutation.all) func everyMutationIsDetected(_ mutation: Mutation) throws {
        var run = MutatedRun()
        mutation.mutate(&run)
        let invariant = try #require(Invariant.all.first { $0.name == mutation.invariant })
        #expect(!run.anomalies(of: invariant).isEmpty)
    }
}

/// The log of a small correct run, to be mutated.
///
/// Source 0 sends two messages. Three ticks later it sends a third, together with the message of source 1. A serial
/// plugin returns at once.
struct MutatedRun: Sendable {
    var scenario: Scenario
    var registrations: [PluginScenario]
    var events: [SimulationEvent]

    static let first = ArrivalMark(source: 0, token: 1)
    static let second = ArrivalMark(source: 0, token: 2)
    static let third = ArrivalMark(source: 0, token: 3)
    static let other = ArrivalMark(source: 1, token: 1)
    static let source = IntakeMark(source: 0)

    init() {
        var sources = [0, 1].map { SourceScenario(index: $0, kind: .intake) }
        sources[0].feeds = [.init(messages: [1, 2]), .init(pause: 3, messages: [3])]
        sources[1].feeds = [.init(pause: 3, messages: [4])]
        let messages = (0...4).map { MessageScenario(index: $0, source: $0 == 4 ? 1 : 0) }
        let plugin = PluginScenario(kind: .sync, sources: [0, 1])
        let run = Simulation.run(Scenario(sources: sources, plugins: [plugin], messages: messages))
        scenario = run.scenario
        registrations = run.registrations
        events = run.events
    }

    /// Returns the anomalies that an invariant finds in the log.
    func anomalies(of invariant: Invariant) -> [History.Anomaly] {
        invariant.check(History(scenario, registrations: registrations, events: events))
    }
}

// MARK: - Mutation

extension MutatedRun {
    /// Returns the position of the first matching event. The log must contain one.
    func position(_ isMeant: (SimulationEvent) -> Bool) -> Int {
        events.firstIndex(where: isMeant) ?? events.endIndex
    }

    func settling(_ mark: ArrivalMark) -> Int {
        position { if case .settled(mark, _) = $0 { true } else { false } }
    }

    func observing(_ mark: ArrivalMark) -> Int {
        position { if case .observed(mark, _, _, _) = $0 { true } else { false } }
    }

    func call(_ mark: ArrivalMark) -> Int {
        position { if case .callBegan(_, _, [mark], _) = $0 { true } else { false } }
    }

    /// Returns the position at which the `submit` that took the arrival returns.
    func taking(_ mark: ArrivalMark) -> Int {
        let offer = position { event in
            if case .offers(_, _, let offered) = event { offered.contains { $0.mark == mark } } else { false }
        }
        return events[offer...].firstIndex { if case .took = $0 { true } else { false } } ?? events.endIndex
    }

    /// Replaces the outcome of an arrival, for the observers too.
    mutating func setOutcome(_ outcome: Outcome, of mark: ArrivalMark, isDuplicate: Bool = false) {
        events[observing(mark)] = .observed(mark, outcome, attempts: isDuplicate ? 0 : 1, isDuplicate: isDuplicate)
        events[settling(mark)] = .settled(mark, outcome)
    }

    mutating func insert(_ new: [SimulationEvent], at position: Int) {
        events.insert(contentsOf: new, at: position)
    }

    /// Inserts ticks, and shifts all later ones.
    mutating func insertTicks(_ count: Int, at position: Int) {
        var now = 0
        for event in events[..<position] { if case .tick(let tick) = event { now = tick } }
        for later in events.indices where later >= position {
            if case .tick(let tick) = events[later] { events[later] = .tick(tick + count) }
        }
        insert((1...count).map { .tick(now + $0) }, at: position)
    }
}
