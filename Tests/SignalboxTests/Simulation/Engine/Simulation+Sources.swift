import Signalbox
import SignalboxCore
import SignalboxTesting

extension Simulation {
    func join(_ source: SourceScenario, _ feeder: Feeder, _ supervisor: Supervisor) async {
        await world.wait(source.joinsAt ?? 0)
        await add(source, feeder, to: supervisor)()
    }

    /// Adds the source, and records whether that was refused.
    ///
    /// - Returns: what feeds it.
    func add(_ source: SourceScenario, _ feeder: Feeder, to supervisor: Supervisor) -> @Sendable () async -> Void {
        let mark = world.nextIntake(of: source.index)
        do {
            switch source.kind {
            case .adapter, .endingAdapter:
                try add(FedAdapter(scenario: source, feeder: feeder), mark, source, supervisor)
                return {}
            case .inMemory:
                let adapter = InMemoryAdapter(
                    source: source.name,
                    features: source.features,
                    facts: TestFacts(),
                    queueLimit: 4,
                    batchLimit: 3
                )
                try add(adapter, mark, source, supervisor)
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
                world.noteAdded(mark)
                let observed = ObservedIntake(intake, mark, world: world)
                world.add(observed)
                return { await feeder.feed(into: observed) }
            }
        } catch {
            world.add(.notAdded(source: source.index))
            return { feeder.finish() }
        }
    }

    private func add(
        _ adapter: any Adapter,
        _ mark: IntakeMark,
        _ source: SourceScenario,
        _ supervisor: Supervisor
    ) throws {
        try supervisor.add(
            ObservedAdapter(adapter: adapter, mark: mark, world: world),
            window: source.window,
            rateLimit: source.rateLimit,
            repeats: source.repeatPolicy
        )
        world.noteAdded(mark)
    }

    /// Removes the source, and records when that began and ended.
    func remove(_ source: SourceScenario, from supervisor: Supervisor) async {
        let number = world.nextRemoval()
        world.add(.leaves(removal: number, source: source.index))
        let isRemoved = await supervisor.remove(source: source.name)
        world.add(.left(removal: number, isRemoved: isRemoved))
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
