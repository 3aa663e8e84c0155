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
        switch kind {
        case .together(let changes):
            var events: [SimulationEvent] = []
            do {
                try supervisor.reconfigure {
                    for change in changes { events += try apply(change, supervisor) }
                }
                for event in events { world.add(event) }
            } catch {
                world.add(.refused(action: changes.first?.action ?? 0))
            }
        default:
            do throws(RegistrationError) {
                for event in try apply(kind, supervisor) { world.add(event) }
            } catch {
                world.add(.refused(action: kind.action))
            }
        }
    }

    /// - Returns: The events to record once the change takes effect.
    private func apply(
        _ kind: Disturbance.Kind,
        _ supervisor: Supervisor
    ) throws(RegistrationError) -> [SimulationEvent] {
        switch kind {
        case .register(let plugin): return [try register(plugin, supervisor, replacing: false)]
        case .replace(let plugin): return [try register(plugin, supervisor, replacing: true)]
        case .remove(let action):
            try supervisor.remove(ActionName(stringLiteral: "p\(action)"))
            return [.removed(action: action)]
        case .use(let scenario, let action):
            let middleware = SimulatedMiddleware(scenario: scenario, world: world)
            if let action {
                try supervisor.use(middleware, for: ActionName(stringLiteral: "p\(action)"))
            } else {
                supervisor.use(middleware)
            }
            return []
        case .together, .removeSource, .addSource: return []
        }
    }

    private func register(
        _ plugin: PluginScenario,
        _ supervisor: Supervisor,
        replacing: Bool
    ) throws(RegistrationError) -> SimulationEvent {
        let hold = world.nextRegistration(plugin)
        try register(plugin, hold, supervisor, replacing: replacing)
        return .registered(registration: hold.number, action: plugin.action)
    }

    private func register(
        _ plugin: PluginScenario,
        _ hold: RegistrationHold,
        _ supervisor: Supervisor,
        replacing: Bool
    ) throws(RegistrationError) {
        let rule = AccessRule.any(plugin.sources.map { .source(world.scenario.sources[$0].name) })
        let options = options(plugin)
        switch plugin.kind {
        case .async:
            try supervisor.register(
                plugin.name,
                as: SimulatedInfo.self,
                from: rule,
                options: options,
                replacing: replacing
            ) { [world] info, context async throws -> Int in try await world.call(hold.number, [context], info) }
        case .sync:
            try supervisor.register(
                plugin.name,
                as: SimulatedInfo.self,
                from: rule,
                options: options,
                replacing: replacing
            ) { [world] info, context throws -> Int in try world.callWithoutWaiting(hold.number, context, info) }
        case .batch:
            let batch = SimulatedBatchPlugin(world: world, hold: hold, action: plugin.name)
            try supervisor.register(batch, from: rule, options: options, replacing: replacing)
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
                    longestDelay: Simulation.tick * retry.longestDelay
                )
            },
            circuitBreaker: plugin.breaker.map {
                CircuitBreakerPolicy(failures: $0.failures, openFor: Simulation.tick * $0.openFor)
            },
            middleware: plugin.middleware.map { SimulatedMiddleware(scenario: $0, world: world) }
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
            deduplication: source.deduplicationPolicy
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
