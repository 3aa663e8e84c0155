import Logging
import ServiceLifecycle
import Signalbox

/// Runs a supervisor until a signal arrives, stdout fails, or the supervisor ends.
struct ServiceSession {
    /// How the supervisor ended. `StandardOutput.finish(within:)` reports lost output.
    enum End: Sendable {
        case finished
        case failed(any Error)
    }

    let supervisor: Supervisor
    let output: StandardOutput
    let logger: Logger

    private enum Event: Sendable {
        case ended(End)
        case stopRequested
        case nothing
    }

    /// - Parameters:
    ///   - signals: Kept by the caller until its output is written, so that a second signal ends the program.
    ///   - stop: Yields when the session must drain and end.
    ///   - meanwhile: Runs beside the supervisor. When the supervisor ends, it is cancelled and awaited.
    func run(
        _ signals: WatchedSignals,
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
            group.addTask { .ended(await ServiceSession.end(of: services)) }
            group.addTask { await ServiceSession.first(of: signals.stopRequests) }
            group.addTask { await ServiceSession.first(of: stop) }
            group.addTask { await ServiceSession.failure(of: output) }
            group.addTask {
                await meanwhile()
                return .nothing
            }
            return await ServiceSession.follow(&group, services)
        }
    }

    private static func follow(_ group: inout TaskGroup<Event>, _ services: ServiceGroup) async -> End {
        while let event = await group.next() {
            switch event {
            case .stopRequested: await services.triggerGracefulShutdown()
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
        for await _ in stream { return .stopRequested }
        return .nothing
    }

    private static func failure(of output: StandardOutput) async -> Event {
        for await _ in output.failures { return .stopRequested }
        return .nothing
    }
}
