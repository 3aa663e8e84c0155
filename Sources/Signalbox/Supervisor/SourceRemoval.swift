import Logging
public import SignalboxCore
import Synchronization

extension Supervisor {
    /// Removes one source while the others continue. Its name is free when this method returns.
    ///
    /// The source ends gracefully. It accepts no more arrivals, pending ones are handled within
    /// ``SupervisorConfiguration/drainLimit``, and its adapter ends as in a drain. After the limit, arrivals whose call
    /// has not started are abandoned, and calls in progress are not awaited: each is settled when it returns or times
    /// out, and the adapter ends then. A redelivering source redelivers abandoned messages when it is added again. Its
    /// deduplication state is lost.
    ///
    /// A source that has ended by itself is removed too. Removing the last source does not end ``run()``, since another
    /// may be added. ``report`` keeps the counts. Cancelling the caller's task does not shorten the removal.
    ///
    /// - Parameter source: The name of an adapter or of an intake's source.
    /// - Returns: `false` if there is no such source, or if it is already being removed.
    @discardableResult
    public func remove(source: SourceName) async -> Bool {
        guard let intake = beginRemoval(of: source) else { return false }
        intake.close()
        if intake.lifecycle.hasBegun { await intake.settler.wait(for: .adapterEnd) }
        await intake.settler.wait(for: .removal)
        intake.settler.log.flush()
        state.withLock { state in
            if state.intakes[source] === intake { state.intakes[source] = nil }
            state.forgetEmptySources()
        }
        intake.forgetLanes()
        for lane in lanes.all { lane.forget(intake.settler) }
        intake.settler.log.logger.write(.sourceRemoved)
        return true
    }

    /// Whether the supervisor is draining or has stopped, so that nothing can be added.
    package var isEnding: Bool { state.withLock { $0.phase == .draining || $0.phase == .stopped } }

    /// Keeps the run alive without a running adapter while `body` removes and adds sources. If no adapter is running
    /// afterwards, the run ends, as it does when the last adapter that `body` removed ends later. Removals after `body`
    /// do not end the run.
    package func whileSourcesChange(_ body: () async throws -> Void) async rethrows {
        state.withLock { state in
            state.runningAdapters += 1
            state.sourceChanges += 1
        }
        defer {
            let starter = state.withLock { state in
                state.runningAdapters -= 1
                state.sourceChanges -= 1
                return state.runningAdapters == 0 ? state.starter : nil
            }
            starter?.finish()
        }
        try await body()
    }

    private func beginRemoval(of source: SourceName) -> SourceIntake? {
        let limit = TickCount.ticks(in: core.configuration.drainLimit, of: core.configuration.tick)
        return state.withLock { state in
            let endsRun = state.sourceChanges > 0
            guard let intake = state.intakes[source],
                intake.lifecycle.requestStop(abandoningAt: core.now + limit, endsRun: endsRun)
            else {
                return nil
            }
            state.leaving.append(intake)
            // The timer has stopped and everything that could settle has.
            if state.phase == .stopped { intake.settler.stop(.removal) }
            return intake
        }
    }

    /// Abandons, at each tick, what remains of the sources whose removal is overdue.
    func tickRemovedSources(_ now: UInt64) {
        let overdue = state.withLock { state in
            state.forgetEmptySources()
            return state.leaving.filter { $0.lifecycle.isOverdue(at: now) }
        }
        for intake in overdue {
            for lane in lanes.all { lane.abandonWaiting(of: intake.settler) }
            state.withLock { state in
                guard state.intakes[intake.source] === intake else { return }
                intake.settler.endRemoval()
            }
        }
    }

    /// Resumes every pending removal, since nothing else will be settled.
    func endRemovals() {
        for intake in state.withLock({ $0.leaving }) { intake.settler.endRemoval() }
    }
}

extension Settler {
    /// Ends the waits of a removal: the adapter and the unsettled arrivals are no longer awaited.
    fileprivate func endRemoval() {
        stop(.adapterEnd)
        stop(.removal)
    }
}

extension Supervisor.State {
    /// The intakes with unsettled arrivals, or open to new ones.
    var everyIntake: [SourceIntake] {
        intakesByName + leaving.filter { intakes[$0.source] !== $0 }
    }

    /// The outcomes by source, including removed sources.
    var counts: [SourceName: OutcomeCounts] {
        counters.mapValues(\.counts)
    }

    /// Forgets removed sources whose window is empty.
    fileprivate mutating func forgetEmptySources() {
        leaving.removeAll { $0.settler.window.isEmpty && intakes[$0.source] !== $0 }
    }
}

/// The life cycle of one source's adapter, including an early stop. Safe on any thread.
final class SourceLifecycle: Sendable {
    private struct State {
        var hasBegun = false
        var isStopRequested = false
        /// Whether the run ends with this adapter if it is the last one.
        var endsRun = true
        /// The tick at which the remaining arrivals are abandoned.
        var end: UInt64?
    }

    private let state = Mutex(State())
    private let stopRequests: AsyncStream<Void>
    private let stopContinuation: AsyncStream<Void>.Continuation

    init() {
        (stopRequests, stopContinuation) = AsyncStream.makeStream(of: Void.self)
    }

    /// Marks the adapter as started.
    ///
    /// - Returns: `false` if a stop was requested first.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isStopRequested else { return false }
            state.hasBegun = true
            return true
        }
    }

    /// Requests that the adapter stop.
    ///
    /// - Parameters:
    ///   - end: The tick at which the remaining arrivals are abandoned.
    ///   - endsRun: Whether the run ends with this adapter if it is the last one.
    /// - Returns: `false` if a stop was requested before.
    func requestStop(abandoningAt end: UInt64, endsRun: Bool) -> Bool {
        let isFirst = state.withLock { state in
            guard !state.isStopRequested else { return false }
            state.isStopRequested = true
            state.endsRun = endsRun
            state.end = end
            return true
        }
        if isFirst { stopContinuation.finish() }
        return isFirst
    }

    /// Waits for a stop request or for the cancellation of the task.
    func waitForStopRequest() async {
        for await _ in stopRequests {}
    }

    /// Whether the adapter has started. It does not start after a stop request.
    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    /// Whether the run ends with this adapter if it is the last one: unless it is removed on its own, since another
    /// adapter may then be added.
    var endsRun: Bool { state.withLock { $0.endsRun } }

    /// Returns whether the remaining arrivals are to be abandoned.
    func isOverdue(at now: UInt64) -> Bool {
        state.withLock { $0.end.map { now >= $0 } ?? false }
    }
}
