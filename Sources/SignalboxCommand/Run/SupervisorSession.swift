import AdapterSupport
import Signalbox

/// Runs a supervisor until it ends, or until a signal, the timeout, a failure of stdout or the caller ends it.
struct SupervisorSession {
    /// How the supervisor ended.
    struct End: Sendable {
        /// The error that ended the supervisor, if any.
        var failure: (any Error)?
        /// The exit status of the signal or timeout that came before the end, if any.
        var interruption: CommandStatus?
        /// The reason lines were lost, if any were.
        var lost: OutputFailure?
    }

    let supervisor: Supervisor
    let output: StandardOutput
    var timeout: Duration?
    /// Called with the status of a signal or timeout before the drain that it starts.
    var onInterruption: @Sendable (CommandStatus) -> Void = { _ in }
    /// Called with the error of the supervisor, if any, after the drain and before the wait for a slow reader of stdout.
    var onEnd: @Sendable ((any Error)?) -> Void = { _ in }

    /// Returns after the drain, when all output is written or lost.
    ///
    /// - Parameters:
    ///   - stop: Yields when the session must drain and end.
    ///   - meanwhile: Runs beside the supervisor. When the supervisor ends, it is cancelled and awaited.
    func run(
        stop: AsyncStream<Void> = AsyncStream { _ in },
        meanwhile: @escaping @Sendable () async -> Void = {}
    ) async -> End {
        let signals = await SignalWatch.begin()
        let interruption = Promise<CommandStatus>()
        let failure = await withTaskGroup(of: Void.self) { group -> (any Error)? in
            group.addTask {
                guard let status = await signals.interruption(timeout: timeout) else { return }
                interruption.set(status)
                onInterruption(status)
                supervisor.shutDown()
            }
            group.addTask { for await _ in stop { supervisor.shutDown() } }
            group.addTask { if await output.failure.valueUnlessCancelled() != nil { supervisor.shutDown() } }
            group.addTask { await meanwhile() }
            defer { group.cancelAll() }
            do {
                try await supervisor.run()
                return nil
            } catch {
                return error
            }
        }
        onEnd(failure)
        return End(failure: failure, interruption: interruption.current, lost: await output.finish())
    }
}
