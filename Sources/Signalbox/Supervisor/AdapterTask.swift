import SignalboxCore
import Synchronization

/// An adapter that keeps messages in memory until its first run.
protocol StartAwaitingAdapter: Adapter {
    /// Ends these messages, because the source is removed before its run starts.
    func skipRun()
}

extension Supervisor {
    /// Runs an adapter in a separate task and waits until it ends. Cancellation reaches the adapter.
    ///
    /// The wait also ends if the adapter is left behind: its thread may be inside an inline call that never returns, and
    /// nothing can then stop the adapter. A child task could not be left behind.
    func run(_ adapter: any Adapter, into intake: SourceIntake) async {
        state.withLock { $0.running.add(intake) }
        defer { state.withLock { $0.running.remove(intake) } }
        // The task must run where the lanes' tasks run, which an unstructured task does not inherit.
        let task =
            if let executor = core.executor {
                Task(executorPreference: executor) { await self.runToEnd(adapter, into: intake) }
            } else {
                Task { await self.runToEnd(adapter, into: intake) }
            }
        await withTaskCancellationHandler {
            _ = await intake.settler.wait(for: .adapterReturn)
        } onCancel: {
            task.cancel()
        }
        // An adapter that was left behind must still learn that it has to stop.
        task.cancel()
    }

    private func runToEnd(_ adapter: any Adapter, into intake: SourceIntake) async {
        defer { intake.settler.stop(.adapterReturn) }
        do {
            try await adapter.run(into: intake.feed)
            core.logger.write(.sourceEnded, nil, [.source: adapter.source.text])
        } catch {
            var fields: LogFields = [.source: adapter.source.text]
            // The error's text has the code too, but may be cut.
            if let error = error as? any CodedError { fields[.code] = error.qualifiedCode }
            core.logger.write(.sourceFailed, Redaction.detail("\(error)"), fields)
            state.withLock { if $0.firstFailure == nil { $0.firstFailure = error } }
        }
    }

    /// Stops waiting for adapters whose time to end is over, if an inline call was settled and has not returned. They may share
    /// the thread that is inside the call.
    ///
    /// - Parameter now: The current tick, or `nil` if no adapter has any time left.
    func leaveHungAdapters(at now: UInt64?) {
        guard lanes.all.contains(where: \.hasHungInlineCall) else { return }
        let (running, drainEnd) = state.withLock { ($0.running.all, $0.drainEnd) }
        for intake in running {
            let isOver = now.map { now in intake.lifecycle.isOverdue(at: now) || drainEnd.map { now >= $0 } ?? false }
            if isOver ?? true { intake.settler.stop(.adapterReturn) }
        }
    }
}

extension Lane {
    /// Whether a thread is inside an inline call that has been settled.
    fileprivate var hasHungInlineCall: Bool {
        entry.options.runsInline && state.withLock { $0.workers.contains { $0.isInline && $0.isStalled } }
    }
}
