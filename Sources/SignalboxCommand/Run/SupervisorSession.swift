import AdapterSupport
import Signalbox

/// Runs a supervisor until it ends by itself, or until it is ended by a signal, the timeout, a stdout failure or the
/// caller.
struct SupervisorSession {
    /// How the supervisor ended.
    struct End: Sendable {
        /// The error that ended the supervisor, or `nil` if it ended without an error.
        var failure: (any Error)?
        /// The exit status for a signal or timeout that arrived before the end, or `nil` if neither did.
        var interruption: CommandStatus?
        /// The reason why lines were lost, or `nil` if none were lost.
        var lost: OutputFailure?
    }

    let supervisor: Supervisor
    let output: StandardOutput
    var timeout: Duration?
    /// How long the end of the session waits for a slow reader of stdout.
    var outputWait = StandardOutput.flushLimit
    /// Called with the exit status for a signal or timeout, before the drain starts.
    var onInterruption: @Sendable (CommandStatus) -> Void = { _ in }
    /// Called before the supervisor runs, unless the session is interrupted first, which cancels the call.
    var untilReady: @Sendable () async -> Void = {}
    /// Called with the supervisor's error, or `nil` if there was none, after the drain but before the session waits for
    /// a slow reader of stdout.
    var onEnd: @Sendable ((any Error)?) -> Void = { _ in }

    /// Runs the supervisor. Returns after the drain, once all output is either written or lost.
    ///
    /// - Parameters:
    ///   - stop: A stream that yields when the session must drain and end.
    ///   - meanwhile: Runs alongside the supervisor. When the supervisor ends, the session cancels this closure and
    ///     waits for it to return.
    func run(
        stop: AsyncStream<Void> = AsyncStream { _ in },
        meanwhile: @escaping @Sendable () async -> Void = {}
    ) async -> End {
        let signals = SignalWatch.begin()
        let interruption = Promise<CommandStatus>()
        let failure = await withTaskGroup(of: Void.self) { group -> (any Error)? in
            group.addTask {
                guard let status = await signals.interruption(timeout: timeout) else { return }
                interruption.set(status)
                onInterruption(status)
                await InheritedSockets.shared.leave()
                supervisor.shutDown()
            }
            group.addTask { for await _ in stop { supervisor.shutDown() } }
            group.addTask { if await output.failure.valueUnlessCancelled() != nil { supervisor.shutDown() } }
            group.addTask { await meanwhile() }
            defer { group.cancelAll() }
            await untilReady(or: interruption)
            do {
                try await supervisor.run()
                return nil
            } catch {
                return error
            }
        }
        onEnd(failure)
        return End(failure: failure, interruption: interruption.current, lost: await output.finish(within: outputWait))
    }

    private func untilReady(or interruption: Promise<CommandStatus>) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await untilReady() }
            group.addTask { _ = await interruption.valueUnlessCancelled() }
            await group.next()
            group.cancelAll()
        }
    }
}
