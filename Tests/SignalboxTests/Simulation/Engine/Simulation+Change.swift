import Signalbox
import SignalboxCore

extension Disturbance.Kind {
    /// The action that it is about.
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
    /// Changes the plugins or the middleware, and records whether that was refused.
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

    /// - Returns: what has happened, once it counts.
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
