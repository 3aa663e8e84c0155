import AdapterSupport

/// Runs a command that shows something until a signal, the end of the program that it asks, or the end of its own output.
struct ControlSession {
    let output: StandardOutput

    /// Runs `work`, and cancels it at a signal.
    ///
    /// - Returns: ``CommandStatus/done``, also after a signal: the command has no other end.
    func run(_ work: @escaping @Sendable () async throws -> Void) async throws -> CommandStatus {
        let signals = SignalWatch.begin()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await work()
                return false
            }
            group.addTask {
                _ = await signals.interruption(timeout: nil)
                return true
            }
            group.addTask { [output] in
                _ = await output.failure.valueUnlessCancelled()
                return true
            }
            defer { group.cancelAll() }
            do {
                _ = try await group.next()
            } catch  where output.isReaderGone {
                return
            }
        }
        if let lost = await output.finish(), lost != .closed { throw CommandFailure(.outputFailed, "\(lost)") }
        return .done
    }
}
