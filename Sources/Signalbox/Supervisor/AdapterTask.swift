import SignalboxCore
import Synchronization

extension Supervisor {
    /// Runs an adapter in a task of its own and waits until it ends. Cancellation reaches the adapter.
    ///
    /// The wait also ends if the adapter is left behind: its thread may be inside an inline call that never returns, and
    /// nothing can then stop the adapter.
    func run(_ adapter: any Adapter, into intake: SourceIntake) async {
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
    }

    private func runToEnd(_ adapter: any Adapter, into intake: SourceIntake) async {
        defer { intake.settler.stop(.adapterReturn) }
        do {
            try await adapter.run(into: intake)
            core.logger.write(.sourceEnded, nil, [.source: adapter.source.text])
        } catch {
            core.logger.write(.sourceFailed, Redaction.detail("\(error)"), [.source: adapter.source.text])
            state.withLock { if $0.firstFailure == nil { $0.firstFailure = error } }
        }
    }

    /// Stops waiting for adapters that cannot end because an inline call was settled and has not returned: those of the
    /// sources of such calls, once they were told to stop. Adapters may share a thread, so when the time for stopping is
    /// over, the others are left behind too.
    ///
    /// - Parameter now: The current tick, or `nil` if no time is left to any adapter.
    func leaveHungAdapters(at now: UInt64?) {
        let hung = lanes.all.compactMap(\.hungInlineSource)
        guard !hung.isEmpty else { return }
        let (intakes, drainEnd) = state.withLock { ($0.everyIntake, $0.drainEnd) }
        for intake in intakes where intake.lifecycle.isAdapterStopped || drainEnd != nil {
            let isOver =
                now.map { now in intake.lifecycle.isOverdue(at: now) || drainEnd.map { now >= $0 } ?? false } ?? true
            guard isOver || hung.contains(where: { $0 === intake.settler }) else { continue }
            intake.settler.stop(.adapterReturn)
        }
    }
}

extension Lane {
    /// The source whose thread is inside an inline call that has been settled, or `nil` if there is none.
    fileprivate var hungInlineSource: Settler? {
        state.withLock { $0.workers.first { $0.isInline && $0.isStalled }?.current?.settler }
    }
}
