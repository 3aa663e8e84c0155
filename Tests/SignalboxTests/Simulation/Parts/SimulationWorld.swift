import SignalboxCore
import SignalboxTesting
import Synchronization

/// The state shared by all parts of a run. It has no supervisor, which the plugins' closures would retain.
final class SimulationWorld: Sendable {
    private struct State {
        var events: [SimulationEvent] = []
        var offers = 0
        var calls = 0
        /// The number of plugin calls for each message.
        var callsOfMessage: [Int: Int] = [:]
        /// The messages that middleware has abandoned.
        var thrownAway: Set<Int> = []
        var registrations: [PluginScenario] = []
        /// Weak references to the holds of the registrations.
        var holds: [WeakHold] = []
        var intakes: [Int: ObservedIntake] = [:]
        /// The number of times that each source was added.
        var generations: [Int: Int] = [:]
        var removals = 0
        var ownTokens: UInt64 = 0
        /// What each arrival in memory is a copy of, in a simulation with a store.
        var copies: [ArrivalKey: JournalCopy] = [:]
        /// Whether the process of this run has died. Nothing is recorded any more.
        var isDead = false

        mutating func add(_ event: SimulationEvent) {
            if !isDead { events.append(event) }
        }
    }

    let scenario: Scenario
    let clock = ManualClock()
    /// A gate that opens when the run is over, for the calls that hang.
    let release = Gate()
    private let state: Mutex<State>

    /// - Parameter earlier: The world of the run before, in a simulation of several runs. Its numbers are continued.
    init(_ scenario: Scenario, after earlier: SimulationWorld? = nil) {
        self.scenario = scenario
        var state = State()
        if let earlier {
            let past = earlier.state.withLock { $0 }
            (state.offers, state.calls, state.callsOfMessage) = (past.offers, past.calls, past.callsOfMessage)
            (state.thrownAway, state.registrations) = (past.thrownAway, past.registrations)
            (state.removals, state.ownTokens) = (past.removals, past.ownTokens)
        }
        self.state = Mutex(state)
    }

    var events: [SimulationEvent] { state.withLock { $0.events } }

    func add(_ event: SimulationEvent) {
        state.withLock { $0.add(event) }
    }

    /// Waits for a number of ticks; returns early when the task is cancelled.
    func wait(_ ticks: Int) async {
        guard ticks > 0 else { return }
        try? await clock.sleep(for: Simulation.tick * ticks)
    }

    /// The current time of the simulated wall clock.
    var now: WallTime {
        WallTime(seconds: 0).advanced(by: (scenario.journal?.startsAt ?? .zero) + clock.now.offset)
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
            state.add(.offers(number: state.offers, intake, offered))
            return state.offers
        }
    }

    /// Records the start of a plugin's call, and returns its number with the act for the first arrival.
    func beginCall(
        _ registration: Int,
        _ marks: [ArrivalMark],
        _ dispatches: [JournalDispatch],
        message: Int,
        attempt: Int
    ) -> (call: Int, act: PluginAct) {
        state.withLock { state in
            let call = state.calls
            let before = state.callsOfMessage[message, default: 0]
            state.calls += 1
            state.callsOfMessage[message] = before + 1
            state.add(.callBegan(call: call, registration: registration, marks, attempt: attempt))
            if scenario.journal != nil { state.add(.journal(.called(call: call, dispatches))) }
            guard !state.isDead else { return (call, .returns) }
            let act = scenario.messages[message].act(call: before)
            guard act == .dies else { return (call, act) }
            if case .letter? = dispatches.first?.copy { return (call, .returns) }
            state.add(.journal(.crashed(by: message)))
            state.isDead = true
            return (call, act)
        }
    }

    /// - Returns: Whether this is the first time.
    func throwAway(_ message: Int) -> Bool {
        state.withLock { $0.thrownAway.insert(message).inserted }
    }

    /// Returns the hold for the plugin of a new registration, with the registration's number.
    func nextRegistration(_ plugin: PluginScenario) -> RegistrationHold {
        state.withLock { state in
            let hold = RegistrationHold(number: state.registrations.count)
            state.registrations.append(plugin)
            state.holds.append(WeakHold(hold: hold))
            return hold
        }
    }

    var registrations: [PluginScenario] { state.withLock { $0.registrations } }

    /// The registrations whose plugins are still retained.
    var heldRegistrations: [Int] { state.withLock { $0.holds.compactMap { $0.hold?.number } } }

    /// Returns the mark of a source's next intake.
    func nextIntake(of source: Int) -> IntakeMark {
        IntakeMark(source: source, generation: state.withLock { $0.generations[source, default: 0] })
    }

    /// Records that the intake was added.
    func noteAdded(_ intake: IntakeMark) {
        state.withLock { $0.generations[intake.source] = intake.generation + 1 }
        add(.added(intake))
    }

    func nextRemoval() -> Int {
        state.withLock { state in
            state.removals += 1
            return state.removals
        }
    }

    /// Returns a token for a message that a plugin delivers, which no adapter uses.
    func ownToken() -> UInt64 {
        state.withLock { state in
            state.ownTokens += 1
            return SimulationWorld.firstOwnToken + state.ownTokens
        }
    }

    static func isOwn(_ token: UInt64) -> Bool { token > firstOwnToken }

    private static let firstOwnToken: UInt64 = 1_000_000
}

// MARK: - A store

extension SimulationWorld {
    /// Records an event of a simulation with a store.
    func note(_ event: @autoclosure () -> JournalEvent) {
        if scenario.journal != nil { add(.journal(event())) }
    }

    func identify(_ arrival: Arrival, as copy: JournalCopy) {
        guard scenario.journal != nil else { return }
        state.withLock { $0.copies[ArrivalKey(arrival)] = copy }
    }

    /// What an arrival was offered or read as. All arrivals of a simulation with a store are identified.
    func copy(of arrival: Arrival) -> JournalCopy {
        let unknown = JournalCopy.memory(ArrivalMark(source: -1, token: arrival.token))
        return state.withLock { $0.copies[ArrivalKey(arrival)] } ?? unknown
    }

    func dispatch(of arrival: Arrival) -> JournalDispatch {
        JournalDispatch(
            copy: copy(of: arrival),
            message: message(of: arrival),
            isRedelivered: arrival.isRedelivered
        )
    }

    var isDead: Bool { state.withLock { $0.isDead } }

    /// Ends the process at once.
    func crash() {
        state.withLock { state in
            state.add(.journal(.crashed(by: nil)))
            state.isDead = true
        }
    }
}

/// Tells an arrival from all others in memory. A later arrival may have the same key, once the batch is freed.
struct ArrivalKey: Hashable {
    private let batch: ObjectIdentifier
    private let index: UInt32

    init(_ arrival: Arrival) {
        batch = ObjectIdentifier(arrival.storage)
        index = arrival.index
    }
}

// MARK: - Intakes

extension SimulationWorld {
    func add(_ intake: ObservedIntake) {
        state.withLock { $0.intakes[intake.mark.source] = intake }
    }

    func intake(of source: Int) -> ObservedIntake? { state.withLock { $0.intakes[source] } }

    /// Releases the intakes, which keep parts of the supervisor alive.
    func forgetIntakes() {
        let intakes = state.withLock { state in
            defer { state.intakes = [:] }
            return state.intakes
        }
        withExtendedLifetime(intakes) {}
    }
}

/// An object that a simulated plugin retains, so that the plugin's deallocation can be detected.
final class RegistrationHold: Sendable {
    let number: Int

    init(number: Int) { self.number = number }
}

/// A weak reference to a hold.
struct WeakHold {
    weak var hold: RegistrationHold?
}
