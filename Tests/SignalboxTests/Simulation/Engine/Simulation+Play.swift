import Signalbox
import SignalboxCore
import SignalboxTesting

extension Simulation {
    /// The whole of a run, from the first registration to the return of the last call.
    func play(_ supervisor: Supervisor) async {
        let scenario = world.scenario
        supervisor.observe(SimulatedObserver(world: world))
        for plugin in scenario.plugins { change(supervisor, .register(plugin)) }
        let feeders = scenario.sources.map { Feeder($0, world) }
        var starts: [@Sendable () async -> Void] = []
        for source in scenario.sources where source.joinsAt == nil {
            starts.append(add(source, feeders[source.index], to: supervisor))
        }
        let run = Task(executorPreference: executor) { await self.run(supervisor) }
        await withDiscardingTaskGroup { [starts] group in
            for start in starts { group.addTask { await start() } }
            for source in scenario.sources where source.joinsAt != nil {
                group.addTask { await self.join(source, feeders[source.index], supervisor) }
            }
            for disturbance in scenario.disturbances {
                group.addTask {
                    await self.world.wait(disturbance.at)
                    await self.disturb(supervisor, disturbance.kind, feeders)
                }
            }
            group.addTask { await self.end(supervisor, run, feeders) }
            await run.value
            for source in scenario.sources { await world.deliver(0, through: source.index) }
            world.release.open()
            group.cancelAll()
        }
        await quieten(supervisor)
        world.forgetIntakes()
    }

    private func disturb(_ supervisor: Supervisor, _ kind: Disturbance.Kind, _ feeders: [Feeder]) async {
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

    /// Waits for the calls that were settled without them.
    private func quieten(_ supervisor: Supervisor) async {
        var waited = 0
        while !supervisor.report.callsStillRunning.isEmpty, waited < Scenario.latestEnd {
            await world.wait(1)
            waited += 1
        }
        let letters = supervisor.deadLetters.letters.map { world.message(in: $0.original) }
        world.add(.quiet(supervisor.report, letters: letters))
    }

    private func end(_ supervisor: Supervisor, _ run: Task<Void, Never>, _ feeders: [Feeder]) async {
        switch world.scenario.ending {
        case .whenIdle:
            await untilIdle(feeders)
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

    private func untilIdle(_ feeders: [Feeder]) async {
        let done = Watched(0)
        await withDiscardingTaskGroup { group in
            for feeder in feeders {
                group.addTask {
                    await feeder.untilDone()
                    done.change { $0 += 1 }
                }
            }
            group.addTask { [world] in
                await world.wait(Scenario.latestEnd)
                done.change { $0 += feeders.count }
            }
            await done.until { $0 >= feeders.count }
            group.cancelAll()
        }
    }
}
