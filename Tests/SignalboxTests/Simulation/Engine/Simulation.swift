import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization

/// One run of a supervisor, repeatable: what happens is a pure function of the scenario and its seed.
///
/// The thread that calls ``run(_:)`` does everything: it runs the jobs that are ready one by one, in an order chosen by
/// the seed, and moves the clock by one tick when none is ready.
final class Simulation: Sendable {
    /// The supervisor's tick.
    static let tick = Duration.milliseconds(100)
    /// A run that needs more has found something that does not end.
    private static let tickBound = 2_000
    private static let jobBound = 200_000

    let world: SimulationWorld
    let executor: SeededExecutor
    private let hasPlayed = Atomic<Bool>(false)

    private init(_ scenario: Scenario) {
        world = SimulationWorld(scenario)
        executor = SeededExecutor(seed: ~scenario.seed)
    }

    /// Runs the scenario to its end.
    static func run(_ scenario: Scenario) -> SimulationRun {
        let simulation = Simulation(scenario)
        let supervisor = WeakSupervisor()
        simulation.start(supervisor)
        let faults = simulation.work()
        simulation.world.add(.released(supervisor: supervisor.isFreed, held: simulation.world.heldRegistrations))
        return SimulationRun(
            scenario: scenario,
            registrations: simulation.world.registrations,
            events: simulation.world.events,
            faults: faults
        )
    }

    private func start(_ reference: WeakSupervisor) {
        Task(executorPreference: executor) {
            let supervisor = self.makeSupervisor()
            reference.value = supervisor
            await self.play(supervisor)
            self.hasPlayed.store(true, ordering: .relaxed)
        }
    }

    private func makeSupervisor() -> Supervisor {
        let scenario = world.scenario
        var configuration = SupervisorConfiguration()
        configuration.tick = Simulation.tick
        configuration.timeout = Simulation.tick * scenario.timeout
        configuration.drainLimit = Simulation.tick * scenario.drainLimit
        configuration.holdLimit = Simulation.tick * scenario.holdLimit
        configuration.deadLetters = scenario.deadLetters
        return Supervisor(
            configuration: configuration,
            logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() },
            clock: world.clock,
            determinism: Determinism(executor: executor, seed: scenario.seed)
        )
    }

    /// Runs jobs and moves the clock until nothing is left to do.
    ///
    /// - Returns: what was wrong with the run itself.
    private func work() -> [String] {
        var ticks = 0
        var jobs = 0
        while true {
            while executor.runNext() {
                jobs += 1
                if jobs > Simulation.jobBound { return ["the run does not end: more than \(jobs - 1) jobs"] }
            }
            let hasPlayed = hasPlayed.load(ordering: .relaxed)
            if world.clock.sleepers == 0 {
                if hasPlayed { break }
                return ["the run is stuck: nothing is ready, nobody sleeps, and it has not ended"]
            }
            ticks += 1
            if ticks > Simulation.tickBound { return ["the run does not end: more than \(ticks - 1) ticks"] }
            world.add(.tick(ticks))
            world.clock.advance(by: Simulation.tick)
        }
        return executor.strays == 0 ? [] : ["\(executor.strays) jobs came from another thread"]
    }
}
