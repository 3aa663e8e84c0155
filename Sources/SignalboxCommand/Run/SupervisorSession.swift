import Logging
import ServiceLifecycle
import Signalbox

/// Runs a supervisor until a signal, the end of stdout, or its own end.
struct SupervisorSession {
    /// How the supervisor ended. Whether output was lost is asked of ``StandardOutput/finish(within:)``.
    enum End: Sendable {
        case finished
        case failed(any Error)
    }

    let supervisor: Supervisor
    let output: StandardOutput
    let logger: Logger

    private enum Event: Sendable {
        case ended(End)
        case stopAsked
        case nothing
    }

    /// - Parameters:
    ///   - signals: kept by the caller until its output is out, so that a second signal ends the program until then.
    ///   - stop: yields when the caller wants the session to drain and end.
    ///   - meanwhile: what else is done as long as the supervisor runs; it is cancelled then, and waited for.
    func run(
        _ signals: SignalWatch,
        stop: AsyncStream<Void> = AsyncStream { _ in },
        meanwhile: @escaping @Sendable () async -> Void = {}
    ) async -> End {
        let service = ServiceGroupConfiguration.ServiceConfiguration(
            service: supervisor,
            successTerminationBehavior: .gracefullyShutdownGroup
        )
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .warning)
        let services = ServiceGroup(configuration: ServiceGroupConfiguration(services: [service], logger: quiet))
        return await withTaskGroup(of: Event.self) { group in
            group.addTask { .ended(await SupervisorSession.end(of: services)) }
            group.addTask { await SupervisorSession.first(of: signals.firsts) }
            group.addTask { await SupervisorSession.first(of: stop) }
            group.addTask { await SupervisorSession.failure(of: output) }
            group.addTask {
                await meanwhile()
                return .nothing
            }
            return await SupervisorSession.follow(&group, services)
        }
    }

    private static func follow(_ group: inout TaskGroup<Event>, _ services: ServiceGroup) async -> End {
        while let event = await group.next() {
            switch event {
            case .stopAsked: await services.triggerGracefulShutdown()
            case .ended(let end):
                group.cancelAll()
                return end
            case .nothing: break
            }
        }
        return .finished
    }

    private static func end(of services: ServiceGroup) async -> End {
        do {
            try await services.run()
            return .finished
        } catch {
            return .failed(error)
        }
    }

    private static func first(of stream: AsyncStream<Void>) async -> Event {
        for await _ in stream { return .stopAsked }
        return .nothing
    }

    private static func failure(of output: StandardOutput) async -> Event {
        for await _ in output.failures { return .stopAsked }
        return .nothing
    }
}
