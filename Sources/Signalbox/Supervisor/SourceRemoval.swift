import Logging
public import SignalboxCore
import Synchronization

extension Supervisor {
    /// Removes one source while the others continue. When this method returns, the source's name can be used again.
    ///
    /// The source ends gracefully: It accepts no more arrivals, pending arrivals are handled within
    /// ``SupervisorConfiguration/drainLimit``, and the source's adapter ends as in a drain.
    ///
    /// When this time limit expires, arrivals whose calls have not started are abandoned, and this method does not wait
    /// for calls in progress. Each of these calls is settled when it returns or times out, and only then does the
    /// adapter end. An adapter whose thread is inside an inline call that has timed out is left behind.
    /// If the source redelivers, it delivers the abandoned messages again the next time it is added. The
    /// source's deduplication state is lost.
    ///
    /// You can also remove a source that has already ended. Removing the last source does not end ``run()``, because
    /// you may add another source. ``report`` keeps the counts of a removed source. Cancelling the calling task does
    /// not shorten the removal.
    ///
    /// - Parameter source: The name of the source, whether it was added with an adapter or as an intake.
    /// - Returns: `false` if there is no such source, or if it is already being removed.
    @discardableResult
    public func remove(source: SourceName) async -> Bool {
        await !remove(sources: [source]).isEmpty
    }

    /// Removes several sources in two steps while the others continue.
    ///
    /// Each source ends as ``remove(source:)`` describes. The sources that plugins send to, which ``stopLast(_:)`` names,
    /// end after the others and serve their senders until then. They keep their connections until their own messages are
    /// settled too. A call for one of these messages can therefore still send its message. Meanwhile, such a source
    /// abandons new arrivals if it does not redeliver them.
    ///
    /// The limit ``SupervisorConfiguration/drainLimit`` applies to each step, and again to the end of the adapters of the
    /// second step.
    ///
    /// - Parameter sources: The names of the sources.
    /// - Returns: The sources that this call has removed. A source is not among them if it does not exist or is already
    ///   being removed.
    @discardableResult
    public func remove(sources: Set<SourceName>) async -> Set<SourceName> {
        let targets = state.withLock { sources.intersection($0.stopsLast) }
        let others = beginRemoval(of: sources.subtracting(targets), stopsAdapters: true)
        for intake in others { intake.close() }
        for intake in others { await finishRemoval(of: intake) }
        let last = beginRemoval(of: targets, stopsAdapters: false)
        for intake in last { intake.close(stopsAdapter: false) }
        for intake in last { await intake.settler.wait(for: .removal) }
        // A drain that has begun stops these adapters once the messages of all sources are settled.
        if !isEnding {
            for intake in last { stopAdapter(of: intake) }
        }
        for intake in last { await finishRemoval(of: intake) }
        return Set((others + last).map(\.source))
    }

    /// Whether the supervisor is draining or has stopped. In both cases, nothing can be added.
    package var isEnding: Bool { state.withLock { $0.phase == .draining || $0.phase == .stopped } }

    /// Keeps the run going while `body` removes and adds sources, even if no adapter is running in between.
    ///
    /// If no adapter is running when `body` returns, the run ends. If adapters that `body` removed are still running at
    /// that point, the run ends with the last of them. Removals after `body` has returned do not end the run.
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

    /// Requests that sources stop, in the order of their names.
    ///
    /// - Parameter stopsAdapters: Whether to cancel the adapters' tasks. If not, the caller must do so later.
    /// - Returns: The intakes of the sources, which the caller must close.
    private func beginRemoval(of sources: Set<SourceName>, stopsAdapters: Bool) -> [SourceIntake] {
        let end = core.now + removalLimit
        return state.withLock { state in
            let endsRun = state.sourceChanges > 0
            return sources.sorted { $0.text < $1.text }.compactMap { source in
                guard let intake = state.intakes[source],
                    intake.lifecycle.requestStop(abandoningAt: end, endsRun: endsRun, stopsAdapter: stopsAdapters)
                else {
                    return nil
                }
                state.leaving.add(intake)
                // The timer has stopped, and so has everything that could still settle arrivals.
                if state.phase == .stopped { intake.settler.stop(.removal) }
                return intake
            }
        }
    }

    private var removalLimit: UInt64 {
        TickCount.ticks(in: core.configuration.drainLimit, of: core.configuration.tick)
    }

    /// Stops the adapter of a source whose messages are settled. The adapter has the limit of a removal once more to end.
    private func stopAdapter(of intake: SourceIntake) {
        intake.lifecycle.extend(to: core.now + removalLimit)
        intake.stopAdapter()
        intake.lifecycle.stopAdapter()
    }

    /// Waits until a closed source has ended, and forgets it.
    private func finishRemoval(of intake: SourceIntake) async {
        if intake.lifecycle.hasBegun { await intake.settler.wait(for: .adapterEnd) }
        await intake.settler.wait(for: .removal)
        intake.settler.log.flush()
        state.withLock { state in
            state.forget(intake)
            state.forgetIfEmpty(intake)
        }
        intake.leaveLanes()
        intake.settler.log.logger.write(.sourceRemoved)
    }

    /// Abandons the remaining arrivals of sources whose removal is overdue. Called by the timer at each tick.
    func tickRemovedSources(_ now: UInt64) {
        let overdue = state.withLock { state in
            for intake in state.leaving.all { state.forgetIfEmpty(intake) }
            return state.leaving.all.filter { $0.lifecycle.isOverdue(at: now) }
        }
        guard !overdue.isEmpty else { return }
        let settlers = Set(overdue.map { ObjectIdentifier($0.settler) })
        for lane in lanes.all { lane.abandonWaiting(of: settlers) }
        for intake in overdue {
            state.withLock { state in
                guard state.intakes[intake.source] === intake else { return }
                intake.settler.stop(.removal)
                // Otherwise the adapter has not been told to stop yet.
                if intake.lifecycle.isAdapterStopped { intake.settler.stop(.adapterEnd) }
            }
        }
    }

    /// Resumes all pending removals, because nothing will be settled any more.
    func endRemovals() {
        for intake in state.withLock({ $0.leaving.all }) { intake.settler.endRemoval() }
    }
}

extension Settler {
    /// Ends a removal's waits for the adapter and for unsettled arrivals.
    fileprivate func endRemoval() {
        stop(.adapterEnd)
        stop(.removal)
    }
}

extension Supervisor.State {
    /// The intakes that have unsettled arrivals or accept new ones.
    var everyIntake: [SourceIntake] {
        leaving.isEmpty ? sources.all : sources.all + leaving.all.filter { !sources.contains($0) }
    }

    /// The counts of outcomes for each source, including sources that have been removed.
    var counts: [SourceName: OutcomeCounts] {
        counters.mapValues(\.counts)
    }

    /// Forgets a removed source whose window is empty.
    fileprivate mutating func forgetIfEmpty(_ intake: SourceIntake) {
        if intake.settler.window.isEmpty, !sources.contains(intake) { leaving.remove(intake) }
    }
}

/// Tracks the life cycle of one source's adapter, which can be stopped early. Safe to use from any thread.
final class SourceLifecycle: Sendable {
    private struct State {
        var hasBegun = false
        var isStopRequested = false
        /// Whether the adapter's task is cancelled. The adapter of a source that plugins send to continues for a while
        /// after a stop is requested.
        var isAdapterStopped = false
        /// Whether the run ends when this adapter ends and no other adapter is running.
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
    /// - Returns: `false` if a stop has already been requested.
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
    ///   - endsRun: Whether the run ends when this adapter ends and no other adapter is running.
    ///   - stopsAdapter: Whether to cancel the adapter's task now. If not, the caller must call ``stopAdapter()`` later.
    /// - Returns: `false` if a stop has already been requested.
    func requestStop(abandoningAt end: UInt64, endsRun: Bool, stopsAdapter: Bool) -> Bool {
        let isFirst = state.withLock { state in
            guard !state.isStopRequested else { return false }
            state.isStopRequested = true
            state.endsRun = endsRun
            state.end = end
            // An adapter that has not started never starts.
            if !state.hasBegun { state.isAdapterStopped = true }
            return true
        }
        if isFirst, stopsAdapter { stopAdapter() }
        return isFirst
    }

    /// Cancels the adapter's task without removing the source.
    func stopAdapter() {
        state.withLock { $0.isAdapterStopped = true }
        stopContinuation.finish()
    }

    /// Whether the adapter's task is cancelled, or never starts.
    var isAdapterStopped: Bool { state.withLock { $0.isAdapterStopped } }

    /// Sets a later tick at which the removal no longer waits.
    func extend(to end: UInt64) {
        state.withLock { $0.end = end }
    }

    /// Whether the adapter has started and its task is not cancelled.
    var isRunning: Bool { state.withLock { $0.hasBegun && !$0.isAdapterStopped } }

    /// Waits until the adapter's task is cancelled by a call or by its parent.
    func waitForStopRequest() async {
        for await _ in stopRequests {}
    }

    /// Whether the adapter has started. An adapter does not start if a stop is requested first.
    var hasBegun: Bool { state.withLock { $0.hasBegun } }

    /// Whether the run ends when this adapter ends and no other adapter is running. The value is `false` if only this
    /// adapter is being removed, because another adapter may be added afterwards.
    var endsRun: Bool { state.withLock { $0.endsRun } }

    /// Returns whether it is time to abandon the remaining arrivals.
    func isOverdue(at now: UInt64) -> Bool {
        state.withLock { $0.end.map { now >= $0 } ?? false }
    }
}
