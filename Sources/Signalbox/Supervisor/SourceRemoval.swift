import Logging
public import SignalboxCore
import Synchronization

extension Supervisor {
    /// Stops one source while the others go on, and forgets it: its name is free when this returns.
    ///
    /// The end is a graceful one: nothing more of the source is taken, what was taken is handled within
    /// ``SupervisorConfiguration/drainLimit``, and its adapter ends as it does in a drain. After the limit what has not begun
    /// is abandoned, and a call that goes on is not waited for: it is settled when it returns or is overdue, and the adapter
    /// ends then. A source that redelivers brings what was abandoned again when it is added anew; which of its messages came
    /// before is then not known any more.
    ///
    /// A source that has ended by itself is forgotten too. That the last source is removed does not end ``run()``: another
    /// may come. The counts of ``report`` stay. Cancelling the caller's task does not make it return earlier.
    ///
    /// - Parameter source: the name that its adapter has, or that an intake was made for.
    /// - Returns: `false` when there is no such source, or it is being removed already.
    @discardableResult
    public func remove(source: SourceName) async -> Bool {
        guard let intake = beginRemoval(of: source) else { return false }
        intake.close()
        await intake.life.untilEnded()
        await intake.untilEmpty(.removal)
        intake.log.flush()
        state.withLock { state in
            if state.intakes[source] === intake { state.intakes[source] = nil }
            state.forgetEmptySources()
        }
        intake.forgetLanes()
        for lane in core.lanes.all { lane.forget(intake) }
        intake.log.logger.write(.sourceRemoved)
        return true
    }

    /// Whether it drains or has stopped, so that nothing can be added any more.
    package var isEnding: Bool { state.withLock { $0.phase == .draining || $0.phase == .stopped } }

    /// Lets the run go on although no adapter runs, as long as the body removes and adds some. When none runs afterwards the
    /// run ends.
    package func whileSourcesChange(_ body: () async throws -> Void) async rethrows {
        state.withLock { state in
            state.runningAdapters += 1
            state.endsWithRemovals = false
        }
        defer {
            let starter = state.withLock { state in
                state.runningAdapters -= 1
                state.endsWithRemovals = true
                return state.runningAdapters == 0 ? state.starter : nil
            }
            starter?.finish()
        }
        try await body()
    }

    private func beginRemoval(of source: SourceName) -> SourceIntake? {
        let limit = TickCount.ticks(in: core.configuration.drainLimit, of: core.configuration.tick)
        return state.withLock { state in
            guard let intake = state.intakes[source], intake.life.ask(until: core.now + limit) else { return nil }
            state.leaving.append(intake)
            // Nobody ticks any more, and all that can be settled is.
            if state.phase == .stopped { intake.stop(.removal) }
            return intake
        }
    }

    /// What the timer does at each tick: what a source has left when its time is over is let go of.
    func tickLeavingSources(_ now: UInt64) {
        let overdue = state.withLock { state in
            state.forgetEmptySources()
            return state.leaving.filter { $0.life.isOverdue(at: now) }
        }
        for intake in overdue {
            for lane in core.lanes.all { lane.letGo(of: intake) }
            state.withLock { state in
                guard state.intakes[intake.source] === intake else { return }
                intake.life.end()
                intake.stop(.removal)
            }
        }
    }

    /// Lets every removal return, as nothing will be settled any more.
    func endRemovals() {
        for intake in state.withLock({ $0.leaving }) {
            intake.life.end()
            intake.stop(.removal)
        }
    }
}

extension Supervisor.State {
    /// Everything that has something inside or may get it.
    var everyIntake: [SourceIntake] {
        intakesByName + leaving.filter { intakes[$0.source] !== $0 }
    }

    /// The outcomes by source, those of removed ones included.
    var counts: [SourceName: OutcomeCounts] {
        counters.mapValues(\.counts)
    }

    /// Lets go of removed sources with nothing left inside.
    fileprivate mutating func forgetEmptySources() {
        leaving.removeAll { $0.window.isEmpty && intakes[$0.source] !== $0 }
    }
}

/// Whether the adapter of a source runs, and whether it is asked to end before the others. Any thread.
final class SourceLife: Sendable {
    private struct State {
        var hasBegun = false
        /// The adapter has returned, or is not waited for any longer.
        var hasEnded = false
        var isAsked = false
        /// The tick from which on what is left is let go of.
        var end: UInt64?
        var waiters: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let asks: AsyncStream<Void>
    private let asker: AsyncStream<Void>.Continuation

    init() {
        (asks, asker) = AsyncStream.makeStream(of: Void.self)
    }

    /// The adapter is about to be run.
    ///
    /// - Returns: `false` when it was asked to end before.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isAsked else { return false }
            state.hasBegun = true
            return true
        }
    }

    /// Asks the adapter to end.
    ///
    /// - Parameter end: the tick from which on what is left is let go of.
    /// - Returns: `false` when it was asked before.
    func ask(until end: UInt64) -> Bool {
        let isFirst = state.withLock { state in
            guard !state.isAsked else { return false }
            state.isAsked = true
            state.end = end
            return true
        }
        if isFirst { asker.finish() }
        return isFirst
    }

    /// Returns when the adapter is asked to end, or the task is cancelled.
    func untilAsked() async {
        for await _ in asks {}
    }

    var isAsked: Bool { state.withLock { $0.isAsked } }

    /// Whether what is left is let go of.
    func isOverdue(at now: UInt64) -> Bool {
        state.withLock { $0.end.map { now >= $0 } ?? false }
    }

    /// The adapter has returned, or is not waited for any longer.
    func end() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns after ``end()``; at once when the adapter was never run.
    func untilEnded() async {
        await withUnsafeContinuation { continuation in
            let hasEnded = state.withLock { state in
                if state.hasEnded || !state.hasBegun { return true }
                state.waiters.append(continuation)
                return false
            }
            if hasEnded { continuation.resume() }
        }
    }
}
