import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport

/// One reproducible run of a supervisor, which is a pure function of the scenario and its seed.
///
/// The thread that calls ``run(_:)`` does all work. It runs the ready jobs one by one, in an order chosen by the seed,
/// and advances the clock by one tick when none is ready.
final class Simulation: Sendable {
    /// The length of the supervisor's tick.
    static let tick = Duration.milliseconds(100)
    /// The bounds of a run. A run that exceeds one does not end.
    private static let tickBound = 2_000
    private static let jobBound = 200_000

    let world: SimulationWorld
    let executor: SeededExecutor
    let feeders: [Feeder]
    /// The supervisor's store, or `nil` if it has none.
    let store: SimulatedStore?
    private let hasPlayed = Atomic<Bool>(false)
    /// Whether the run is discarded.
    private let death = Watched(false)

    /// - Parameters:
    ///   - earlier: The run before, if this is one of several with the same store.
    ///   - disk: What the runs before have stored, or `nil` if the supervisor has no store.
    init(_ scenario: Scenario, after earlier: Simulation? = nil, disk: SimulatedDisk? = nil) {
        let world = SimulationWorld(scenario, after: earlier?.world)
        let executor = SeededExecutor(seed: ~scenario.seed)
        self.world = world
        self.executor = executor
        feeders = scenario.sources.map { Feeder($0, world) }
        store = disk.map { SimulatedStore($0, world, executor) }
    }

    /// Runs the scenario to its end.
    static func run(_ scenario: Scenario) -> SimulationRun {
        let simulation = Simulation(scenario)
        let errors = simulation.runToEnd()
        return SimulationRun(
            scenario: scenario,
            registrations: simulation.world.registrations,
            events: simulation.world.events,
            errors: errors
        )
    }

    /// - Returns: The errors of the run itself.
    func runToEnd() -> [String] {
        let supervisor = WeakSupervisor()
        start(supervisor)
        let errors = work()
        world.add(.released(supervisor: supervisor.isFreed, held: world.heldRegistrations))
        return errors
    }

    private func start(_ reference: WeakSupervisor) {
        Task(executorPreference: executor) {
            let supervisor = self.makeSupervisor()
            reference.value = supervisor
            await self.play(supervisor)
            self.store?.close()
            self.hasPlayed.store(true, ordering: .relaxed)
        }
    }

    private func makeSupervisor() -> Supervisor {
        let scenario = world.scenario
        var configuration = SupervisorConfiguration()
        configuration.tick = Simulation.tick
        configuration.timeout = Simulation.tick * scenario.timeout
        configuration.drainLimit = Simulation.tick * scenario.drainLimit
        configuration.ackDeadline = Simulation.tick * scenario.ackDeadline
        configuration.deadLetters = scenario.deadLetters
        configuration.store = store
        return Supervisor(
            configuration: configuration,
            logger: Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() },
            clock: world.clock,
            simulation: SimulationEnvironment(executor: executor, random: SeededGenerator(seed: scenario.seed))
        )
    }

    /// Runs jobs and advances the clock until no work is left, or until the process dies.
    ///
    /// - Returns: The errors of the run itself.
    private func work() -> [String] {
        let crash = world.scenario.journal?.crash
        var ticks = 0
        var jobs = 0
        while true {
            while executor.runNext() {
                jobs += 1
                if jobs == crash { world.crash() }
                if world.isDead { return [] }
                if jobs > Simulation.jobBound { return ["the run does not end: more than \(jobs - 1) jobs"] }
            }
            let hasPlayed = hasPlayed.load(ordering: .relaxed)
            if world.clock.sleepers == 0 {
                if hasPlayed { break }
                return ["the run is stuck: no job is ready, no task sleeps, and it has not ended"]
            }
            ticks += 1
            if ticks > Simulation.tickBound { return ["the run does not end: more than \(ticks - 1) ticks"] }
            world.add(.tick(ticks))
            world.clock.advance(by: Simulation.tick)
        }
        return executor.strays == 0 ? [] : ["\(executor.strays) jobs came from another thread"]
    }

    /// Ends what is left of a run whose process has died, so that its memory is freed. Nothing of it is recorded.
    func discard() {
        world.release.open()
        store?.discard()
        death.change { $0 = true }
        var ticks = 0
        while !(hasPlayed.load(ordering: .relaxed) && world.clock.sleepers == 0), ticks < Simulation.tickBound {
            while executor.runNext() {}
            ticks += 1
            world.clock.advance(by: Simulation.tick)
        }
    }
}

extension Simulation {
    /// Plays a whole run, from the first registration to the return of the last call.
    func play(_ supervisor: Supervisor) async {
        let scenario = world.scenario
        store?.begin()
        supervisor.observe(SimulatedObserver(world: world))
        for plugin in scenario.plugins { change(supervisor, .register(plugin)) }
        var starts: [@Sendable () async -> Void] = []
        for source in scenario.sources where source.joinsAt == nil {
            starts.append(add(source, feeders[source.index], to: supervisor))
        }
        let run = Task(executorPreference: executor) { await self.run(supervisor) }
        await withDiscardingTaskGroup { [starts] group in
            for start in starts { group.addTask { await start() } }
            for source in scenario.sources where source.joinsAt != nil {
                group.addTask { await self.join(source, self.feeders[source.index], supervisor) }
            }
            for disturbance in scenario.disturbances {
                group.addTask {
                    await self.world.wait(disturbance.at)
                    await self.disturb(supervisor, disturbance.kind)
                }
            }
            group.addTask { await self.end(supervisor, run) }
            if let journal = scenario.journal { addJournalTasks(journal, run, to: &group) }
            await run.value
            for source in scenario.sources { await world.deliver(0, through: source.index) }
            world.release.open()
            group.cancelAll()
        }
        await quieten(supervisor)
        world.forgetIntakes()
    }

    private func disturb(_ supervisor: Supervisor, _ kind: Disturbance.Kind) async {
        switch kind {
        case .addSource(let index): await add(world.scenario.sources[index], feeders[index], to: supervisor)()
        case .removeSource(let index): await remove(world.scenario.sources[index], from: supervisor)
        default: change(supervisor, kind)
        }
    }

    private func run(_ supervisor: Supervisor) async {
        await world.wait(world.scenario.opensAt)
        world.add(.runBegan)
        try? await supervisor.run()
        world.add(.runEnded(supervisor.report))
    }

    /// Waits for the calls that are still running after their arrivals were settled.
    private func quieten(_ supervisor: Supervisor) async {
        var waited = 0
        while !supervisor.report.callsStillRunning.isEmpty, waited < Scenario.latestEnd {
            await world.wait(1)
            waited += 1
        }
        let letters = supervisor.deadLetters.letters.map { world.message(in: $0.original) }
        world.add(.quiet(supervisor.report, letters: letters))
    }

    private func end(_ supervisor: Supervisor, _ run: Task<Void, Never>) async {
        switch world.scenario.ending {
        case .whenIdle:
            await untilIdle()
            world.add(.shutDown)
            supervisor.shutDown()
        case .shutDown(let tick):
            await world.wait(tick)
            world.add(.shutDown)
            supervisor.shutDown()
        case .cancel(let tick):
            await world.wait(tick)
            world.add(.cancelled)
            run.cancel()
        }
    }

    private func untilIdle() async {
        let done = Watched(0)
        await withDiscardingTaskGroup { [feeders] group in
            for feeder in feeders {
                group.addTask {
                    await feeder.untilDone()
                    done.change { $0 += 1 }
                }
            }
            group.addTask { [world, store] in
                while let store, !store.isIdle, !Task.isCancelled { await world.wait(1) }
                done.change { $0 += 1 }
            }
            group.addTask { [world, feeders] in
                await world.wait(world.scenario.latestEnd)
                done.change { $0 += feeders.count + 1 }
            }
            await done.until { $0 > feeders.count }
            group.cancelAll()
        }
    }
}

extension Simulation {
    /// The tick at which calls that hang return in the last of several runs, which would not end otherwise.
    private static let lastHang = 60

    /// Adds what happens only in runs with a store.
    private func addJournalTasks(
        _ journal: JournalRunScenario,
        _ run: Task<Void, Never>,
        to group: inout DiscardingTaskGroup
    ) {
        group.addTask { if await self.death.until({ $0 }) { run.cancel() } }
        if let tick = journal.replaysAt {
            group.addTask { [world, store] in
                await world.wait(tick)
                store?.requestReplays()
            }
        }
        if journal.isLast {
            group.addTask { [world] in
                await world.wait(Simulation.lastHang)
                world.release.open()
            }
        }
    }
}

/// A weak reference to a supervisor.
final class WeakSupervisor: Sendable {
    private struct State {
        weak var supervisor: Supervisor?
    }

    private let state = Mutex(State())

    var value: Supervisor? {
        get { state.withLock { $0.supervisor } }
        set { state.withLock { $0.supervisor = newValue } }
    }

    var isFreed: Bool { value == nil }
}
