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
                    self.change(supervisor, disturbance.kind)
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
        world.add(.quiet(supervisor.report))
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

// MARK: - Sources

extension Simulation {
    private func join(_ source: SourceScenario, _ feeder: Feeder, _ supervisor: Supervisor) async {
        await world.wait(source.joinsAt ?? 0)
        await add(source, feeder, to: supervisor)()
    }

    /// Adds the source.
    ///
    /// - Returns: what feeds it.
    private func add(_ source: SourceScenario, _ feeder: Feeder, to supervisor: Supervisor)
        -> @Sendable () async -> Void
    {
        do {
            switch source.kind {
            case .adapter, .endingAdapter:
                try add(FedAdapter(scenario: source, feeder: feeder), source, supervisor)
                return {}
            case .inMemory:
                let adapter = InMemoryAdapter(
                    source: source.name,
                    features: source.features,
                    facts: TestFacts(),
                    queueLimit: 4,
                    batchLimit: 3
                )
                try add(adapter, source, supervisor)
                return { [world] in
                    await world.post(source, to: adapter)
                    feeder.finish()
                }
            case .intake:
                let intake = try supervisor.intake(
                    for: source.name,
                    features: source.features,
                    window: source.window,
                    rateLimit: source.rateLimit,
                    repeats: source.repeatPolicy
                )
                let observed = ObservedIntake(intake, source: source.index, world: world)
                world.add(observed)
                return { await feeder.feed(into: observed) }
            }
        } catch {
            return { feeder.finish() }
        }
    }

    private func add(_ adapter: any Adapter, _ source: SourceScenario, _ supervisor: Supervisor) throws {
        try supervisor.add(
            ObservedAdapter(adapter: adapter, index: source.index, world: world),
            window: source.window,
            rateLimit: source.rateLimit,
            repeats: source.repeatPolicy
        )
    }
}

extension SimulationWorld {
    /// Posts what the source's scenario says and waits until it is settled.
    fileprivate func post(_ source: SourceScenario, to adapter: InMemoryAdapter) async {
        var posted: [InMemoryMessage] = []
        for feed in source.feeds {
            await wait(feed.pause)
            for message in feed.messages {
                posted.append(await adapter.post(raw: Bytes(scenario.messages[message].text)))
            }
        }
        for message in posted { _ = await message.outcome }
    }
}
