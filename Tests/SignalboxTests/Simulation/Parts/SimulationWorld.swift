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
        /// What tells of each registration whether it is still held.
        var holds: [WeakHold] = []
        var intakes: [Int: ObservedIntake] = [:]
        /// How often each source was added.
        var lives: [Int: Int] = [:]
        var removals = 0
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

    func message(of arrival: Arrival) -> Int { message(in: arrival.original) }

    func message(in original: Bytes) -> Int {
        original.withUnsafeBytes { MessageScenario.index(in: $0) } ?? 0
    }
}

// MARK: - Numbers

extension SimulationWorld {
    func beginOffer(_ offered: [SimulationEvent.Offered], to intake: IntakeMark) -> Int {
        state.withLock { state in
            state.offers += 1
            state.events.append(.offers(number: state.offers, intake, offered))
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

    /// A number for a registration that is about to be made, and what its plugin is to hold.
    func nextRegistration(_ plugin: PluginScenario) -> RegistrationHold {
        state.withLock { state in
            let hold = RegistrationHold(number: state.registrations.count)
            state.registrations.append(plugin)
            state.holds.append(WeakHold(hold: hold))
            return hold
        }
    }

    var registrations: [PluginScenario] { state.withLock { $0.registrations } }

    /// The registrations whose plugins somebody still holds.
    var heldRegistrations: [Int] { state.withLock { $0.holds.compactMap { $0.hold?.number } } }

    /// The mark of a source's next intake.
    func nextIntake(of source: Int) -> IntakeMark {
        IntakeMark(source: source, life: state.withLock { $0.lives[source, default: 0] })
    }

    /// Records that the intake is there.
    func noteAdded(_ intake: IntakeMark) {
        state.withLock { $0.lives[intake.source] = intake.life + 1 }
        add(.added(intake))
    }

    func nextRemoval() -> Int {
        state.withLock { state in
            state.removals += 1
            return state.removals
        }
    }

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
        state.withLock { $0.intakes[intake.mark.source] = intake }
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

/// What a simulated plugin holds for as long as somebody holds the plugin.
final class RegistrationHold: Sendable {
    let number: Int

    init(number: Int) { self.number = number }
}

/// Finds a hold, without keeping it.
struct WeakHold {
    weak var hold: RegistrationHold?
}
