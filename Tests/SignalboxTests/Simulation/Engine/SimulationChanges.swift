import Signalbox
import SignalboxCore
import SignalboxTesting

extension Disturbance.Kind {
    /// The action that the change concerns.
    fileprivate var action: Int {
        switch self {
        case .register(let plugin), .replace(let plugin): plugin.action
        case .remove(let action): action
        case .use(_, let action): action ?? 0
        case .together, .removeSource, .addSource: 0
        }
    }
}

extension Simulation {
    /// Changes the plugins or the middleware, and records the result.
    func change(_ supervisor: Supervisor, _ kind: Disturbance.Kind) {
        guard case .together(let changes) = kind else { return applyTogether([kind], supervisor) }
        applyTogether(changes, supervisor)
    }

    /// Applies the changes of plugins in one step, and then adds the middleware.
    private func applyTogether(_ kinds: [Disturbance.Kind], _ supervisor: Supervisor) {
        let changes = kinds.compactMap { change($0) }
        do throws(RegistrationError) {
            try supervisor.apply(changes.map(\.change))
            for (_, event) in changes { world.add(event) }
        } catch {
            world.add(.refused(action: kinds.first?.action ?? 0))
        }
        for kind in kinds { use(kind, supervisor) }
    }

    /// Adds the middleware of a disturbance that adds some.
    private func use(_ kind: Disturbance.Kind, _ supervisor: Supervisor) {
        guard case .use(let scenario, let action) = kind else { return }
        let middleware = SimulatedMiddleware(scenario: scenario, world: world)
        guard let action else { return supervisor.use(middleware) }
        do throws(RegistrationError) {
            try supervisor.use(middleware, for: ActionName(stringLiteral: "p\(action)"))
        } catch {
            world.add(.refused(action: action))
        }
    }

    /// - Returns: The change of a plugin and the event to record once it takes effect.
    private func change(_ kind: Disturbance.Kind) -> (change: PluginChange, event: SimulationEvent)? {
        switch kind {
        case .register(let plugin):
            let (registration, event) = registration(plugin)
            return (.add(registration), event)
        case .replace(let plugin):
            let (registration, event) = registration(plugin)
            return (.replace(registration), event)
        case .remove(let action):
            return (.remove(ActionName(stringLiteral: "p\(action)")), .removed(action: action))
        case .use, .together, .removeSource, .addSource: return nil
        }
    }

    private func registration(_ plugin: PluginScenario) -> (Registration, SimulationEvent) {
        let hold = world.nextRegistration(plugin)
        return (registration(plugin, hold), .registered(registration: hold.number, action: plugin.action))
    }

    private func registration(_ plugin: PluginScenario, _ hold: RegistrationHold) -> Registration {
        let rule = AccessRule.any(plugin.sources.map { .source(world.scenario.sources[$0].name) })
        let options = options(plugin)
        switch plugin.kind {
        case .async:
            return Registration(plugin.name, as: SimulatedInfo.self, from: rule, options: options) {
                [world] info, context async throws -> Int in try await world.call(hold.number, [context], info)
            }
        case .sync:
            return Registration(plugin.name, as: SimulatedInfo.self, from: rule, options: options) {
                [world] info, context throws -> Int in try world.callWithoutWaiting(hold.number, context, info)
            }
        case .batch:
            let batch = SimulatedBatchPlugin(world: world, hold: hold, action: plugin.name)
            return Registration(batch, from: rule, options: options)
        }
    }

    private func options(_ plugin: PluginScenario) -> PluginOptions<SimulatedInfo> {
        PluginOptions(
            timeout: plugin.timeout.map { Simulation.tick * $0 },
            order: order(plugin.order),
            maxConcurrent: plugin.maxConcurrent,
            retry: plugin.retry.map { retry in
                RetryPolicy(
                    attempts: retry.attempts,
                    firstDelay: Simulation.tick * retry.firstDelay,
                    longestDelay: Simulation.tick * retry.longestDelay,
                    upTo: plugin.retriesUpTo.map { Simulation.tick * $0 }
                )
            },
            circuitBreaker: plugin.breaker.map {
                CircuitBreakerPolicy(failures: $0.failures, openFor: Simulation.tick * $0.openFor)
            },
            whenUnavailable: plugin.givesBackWhenUnavailable ? .abandon : .deadLetter,
            middleware: plugin.middleware.map { SimulatedMiddleware(scenario: $0, world: world) },
            runsInline: plugin.runsInline
        )
    }

    private func order(_ order: PluginScenario.Order) -> LaneOrder<SimulatedInfo> {
        switch order {
        case .source: .source
        case .key: .key(\.key)
        case .none: .none
        }
    }
}

extension Simulation {
    func join(_ source: SourceScenario, _ feeder: Feeder, _ supervisor: Supervisor) async {
        await world.wait(source.joinsAt ?? 0)
        await add(source, feeder, to: supervisor)()
    }

    /// Adds the source, and records the result.
    ///
    /// - Returns: A function that feeds the source.
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
                    deduplication: source.deduplicationPolicy
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
            deduplication: source.deduplicationPolicy,
            durability: source.journal.map { .journal($0) } ?? .none
        )
        world.noteAdded(mark)
    }

    /// Removes the source, and records the start and the end of the removal.
    func remove(_ source: SourceScenario, from supervisor: Supervisor) async {
        let number = world.nextRemoval()
        world.add(.leaves(removal: number, source: source.index))
        let isRemoved = await supervisor.remove(source: source.name)
        world.add(.left(removal: number, isRemoved: isRemoved))
    }
}

extension SimulationWorld {
    /// Posts the messages of the source's scenario and awaits their outcomes.
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
