import SignalboxCore
import SignalboxTesting
import Synchronization

/// What all parts of one simulated run share. It knows no supervisor, which the plugins' closures would keep alive.
final class SimulationWorld: Sendable {
    private struct State {
        var events: [SimulationEvent] = []
        var offers = 0
        var calls = 0
        /// How often a plugin was called for each message.
        var callsOfMessage: [Int: Int] = [:]
        /// Messages that middleware threw away.
        var thrownAway: Set<Int> = []
        var registrations: [PluginScenario] = []
        var intakes: [Int: ObservedIntake] = [:]
        var ownTokens: UInt64 = 0
    }

    let scenario: Scenario
    let clock = ManualClock()
    /// Opened when the run is over, for the calls that hang.
    let release = Gate()
    private let state = Mutex(State())

    init(_ scenario: Scenario) {
        self.scenario = scenario
    }

    var events: [SimulationEvent] { state.withLock { $0.events } }

    func add(_ event: SimulationEvent) {
        state.withLock { $0.events.append(event) }
    }

    /// Waits so many ticks; returns early when the task is cancelled.
    func wait(_ ticks: Int) async {
        guard ticks > 0 else { return }
        try? await clock.sleep(for: Simulation.tick * ticks)
    }

    func message(of arrival: Arrival) -> Int {
        arrival.original.withUnsafeBytes { MessageScenario.index(in: $0) } ?? 0
    }
}

// MARK: - Numbers

extension SimulationWorld {
    func beginOffer(_ offered: [SimulationEvent.Offered]) -> Int {
        state.withLock { state in
            state.offers += 1
            state.events.append(.offers(number: state.offers, offered))
            return state.offers
        }
    }

    /// Records that a plugin's code begins, and finds what it does for the first of the arrivals.
    func beginCall(_ registration: Int, _ marks: [ArrivalMark], message: Int, attempt: Int) -> (
        call: Int, act: PluginAct
    ) {
        state.withLock { state in
            let call = state.calls
            let before = state.callsOfMessage[message, default: 0]
            state.calls += 1
            state.callsOfMessage[message] = before + 1
            state.events.append(.callBegan(call: call, registration: registration, marks, attempt: attempt))
            return (call, scenario.messages[message].act(call: before))
        }
    }

    /// - Returns: whether this is the first time.
    func throwAway(_ message: Int) -> Bool {
        state.withLock { $0.thrownAway.insert(message).inserted }
    }

    /// A number for a registration that is about to be made.
    func nextRegistration(_ plugin: PluginScenario) -> Int {
        state.withLock { state in
            state.registrations.append(plugin)
            return state.registrations.count - 1
        }
    }

    var registrations: [PluginScenario] { state.withLock { $0.registrations } }

    /// A token for what a plugin delivers, which no adapter gives.
    func ownToken() -> UInt64 {
        state.withLock { state in
            state.ownTokens += 1
            return SimulationWorld.firstOwnToken + state.ownTokens
        }
    }

    static func isOwn(_ token: UInt64) -> Bool { token > firstOwnToken }

    private static let firstOwnToken: UInt64 = 1_000_000
}

// MARK: - Intakes

extension SimulationWorld {
    func add(_ intake: ObservedIntake) {
        state.withLock { $0.intakes[intake.source] = intake }
    }

    func intake(of source: Int) -> ObservedIntake? { state.withLock { $0.intakes[source] } }

    /// Lets go of the intakes, which keep the supervisor's parts alive.
    func forgetIntakes() {
        let intakes = state.withLock { state in
            defer { state.intakes = [:] }
            return state.intakes
        }
        withExtendedLifetime(intakes) {}
    }
}
