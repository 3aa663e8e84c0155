import AdapterSupport
import Signalbox

/// Runs a supervisor until it ends by itself, or until a signal, the timeout, a failure of stdout or the caller ends
/// it.
struct SupervisorSession {
    /// How the supervisor ended.
    struct End: Sendable {
        /// The error that ended the supervisor, or `nil` if the supervisor ended without an error.
        var failure: (any Error)?
        /// The exit status of the signal or timeout that came before the end, or `nil` if there was none.
        var interruption: CommandStatus?
        /// The reason why lines were lost, or `nil` if no lines were lost.
        var lost: OutputFailure?
    }

    let supervisor: Supervisor
    let output: StandardOutput
    var timeout: Duration?
    /// A closure that receives the status of a signal or timeout. It is called before the drain that this event starts.
    var onInterruption: @Sendable (CommandStatus) -> Void = { _ in }
    /// A closure that receives the error of the supervisor, if there was one. It is called after the drain, and before
    /// the session waits for a slow reader of stdout.
    var onEnd: @Sendable ((any Error)?) -> Void = { _ in }

    /// Runs the supervisor, and returns after the drain, when all output is written or lost.
    ///
    /// - Parameters:
    ///   - stop: A stream that yields when the session must drain and end.
    ///   - meanwhile: Work that runs beside the supervisor. When the supervisor ends, the session cancels this work and
    ///     waits for it.
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
