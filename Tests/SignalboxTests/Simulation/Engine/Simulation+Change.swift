import Signalbox
import SignalboxCore

extension Simulation {
    /// Changes the supervisor, and records whether it let itself be changed.
    func change(_ supervisor: Supervisor, _ kind: Disturbance.Kind) {
        switch kind {
        case .register(let plugin): register(plugin, supervisor, replacing: false)
        case .replace(let plugin): register(plugin, supervisor, replacing: true)
        case .remove(let action):
            do throws(RegistrationError) {
                try supervisor.remove(ActionName(stringLiteral: "p\(action)"))
                world.add(.removed(action: action))
            } catch {
                world.add(.refused(action: action))
            }
        case .use(let scenario, let action):
            let middleware = SimulatedMiddleware(scenario: scenario, world: world)
            if let action {
                try? supervisor.use(middleware, for: ActionName(stringLiteral: "p\(action)"))
            } else {
                supervisor.use(middleware)
            }
        }
    }

    private func register(_ plugin: PluginScenario, _ supervisor: Supervisor, replacing: Bool) {
        let number = world.nextRegistration(plugin)
        do throws(RegistrationError) {
            try register(plugin, number, supervisor, replacing: replacing)
            world.add(.registered(registration: number, action: plugin.action))
        } catch {
            world.add(.refused(action: plugin.action))
        }
    }

    private func register(
        _ plugin: PluginScenario,
        _ number: Int,
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
            ) { [world] info, context async throws -> Int in try await world.call(number, [context], info) }
        case .sync:
            try supervisor.register(
                plugin.name,
                as: SimulatedInfo.self,
                from: rule,
                options: options,
                replacing: replacing
            ) { [world] info, context throws -> Int in try world.callWithoutWaiting(number, context, info) }
        case .batch:
            let batch = SimulatedBatchPlugin(world: world, registration: number, action: plugin.name)
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
