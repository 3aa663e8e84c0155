import SignalboxCore
import Synchronization

extension Lane {
    /// How many actions a worker handles before it yields its thread to other tasks.
    private static let turn = 256

    /// Starts a worker's task. The task is detached, because a plugin that never returns would otherwise keep a parent
    /// task alive.
    func start(_ worker: LaneWorker) {
        // Swift looks up an executor preference under a lock at every switch, several times per call. It does so even
        // if the preference is `nil`, so the task only has a preference if an executor was given.
        if let executor = core.executor {
            Task.detached(executorPreference: executor) { await self.work(worker) }
        } else {
            Task.detached { await self.work(worker) }
        }
    }

    private func work(_ worker: LaneWorker) async {
        worker.noteTask()
        var handled = 0
        // With keys or without an order, each action is taken separately. Only a worker that has to wait needs the memory of an
        // asynchronous call for it.
        while true {
            var next = takeNext(worker)
            if next == nil { next = await waitForWork(worker) }
            guard let work = next else { break }
            switch work {
            case .sort(let slice):
                sort(slice, worker)
                handled += slice.range.count
            case .call(let slice):
                await call(slice, worker)
                handled += slice.range.count
            }
            if handled >= Lane.turn {
                handled = 0
                await Task.yield()
            }
        }
        guard state.withLock({ $0.hasEnded }) else { return }
        reportUnavailable()
        lanes.release(self)
    }

    /// Ends the worker's current work, and returns the next if there is any.
    private func takeNext(_ worker: LaneWorker) -> LaneWork? {
        var done: BatchSlice?
        let (work, wakeups, activates) = state.withLock { state -> (LaneWork?, LaneWakeups, Bool) in
            done = state.finish(worker.position)
            if let work = state.takeWork(for: worker.position) { return (work, state.dispatch(), false) }
            return (nil, LaneWakeups(), state.takeActivation())
        }
        _ = consume done
        perform(wakeups)
        if activates { lanes.activateReplacement(of: entry) }
        return work
    }

    private func waitForWork(_ worker: LaneWorker) async -> LaneWork? {
        await withUnsafeContinuation { continuation in
            let (answer, wakeups) = state.withLock { state -> (LaneWork??, LaneWakeups) in
                if let work = state.takeWork(for: worker.position) { return (.some(work), state.dispatch()) }
                if state.park(worker.position, continuation) { return (.some(nil), state.endParked()) }
                return (nil, LaneWakeups())
            }
            perform(wakeups)
            if let answer { continuation.resume(returning: answer) }
        }
    }

    @inline(__always)
    private func call(_ slice: BatchSlice, _ worker: LaneWorker) async {
        if core.middleware.isEmpty, entry.middleware.isEmpty {
            switch entry.call {
            case .sync(let handler): callEach(slice, worker, handler)
            case .async(let handler): await callEach(slice, worker, handler)
            case .keyed: if let prepared = slice.prepared { await callEach(slice, worker, prepared) }
            case .batch(let handler): await callTogether(slice, worker, handler)
            }
        } else {
            let middleware = core.middleware.all + entry.middleware.all
            switch entry.call {
            case .sync(let handler): await callEach(slice, worker, through(middleware) { handler($0) })
            case .async(let handler): await callEach(slice, worker, through(middleware, handler))
            case .keyed:
                if let prepared = slice.prepared { await callEach(slice, worker, through(middleware, prepared)) }
            case .batch(let handler): await callTogether(slice, worker, handler)
            }
        }
    }

    private func through(
        _ middleware: [any Middleware],
        _ handler: @escaping @Sendable (ActionContext) async -> Outcome
    ) -> @Sendable (ActionContext) async -> Outcome {
        let chain = MiddlewareNext(middleware[...], plugin: entry.action, call: handler)
        return { context in await chain(context) }
    }

    /// Calls a synchronous plugin for each action, in the worker's task or on the thread that has claimed the worker.
    func callEach(_ slice: BatchSlice, _ worker: LaneWorker, _ handler: @Sendable (ActionContext) -> Outcome) {
        let meter = slice.settler.meter(of: entry)
        var callState = CallState(.running, call: worker.nextCall)
        guard let first = slice.range.first else { return }
        var context = context(slice.arrivals[first], slice)
        for position in slice.range {
            context.move(to: position, of: slice.arrivals)
            worker.call.store(callState.rawValue, ordering: .releasing)
            var outcome: Outcome?
            if !isLate(context.arrival) {
                let start = meter.start()
                outcome = handler(context)
                meter.record(since: start)
            }
            guard end(callState, worker, slice, position, outcome, meter) else { return }
            callState = callState.next
        }
    }

    private func callEach(
        _ slice: BatchSlice,
        _ worker: LaneWorker,
        _ handler: @Sendable (ActionContext) async -> Outcome
    ) async {
        let meter = slice.settler.meter(of: entry)
        var callState = CallState(.running, call: worker.nextCall)
        guard let first = slice.range.first else { return }
        var context = context(slice.arrivals[first], slice)
        for position in slice.range {
            context.move(to: position, of: slice.arrivals)
            worker.call.store(callState.rawValue, ordering: .releasing)
            var outcome: Outcome?
            if !isLate(context.arrival) {
                let start = meter.start()
                outcome = await handler(context)
                meter.record(since: start)
            }
            guard end(callState, worker, slice, position, outcome, meter) else { return }
            callState = callState.next
        }
    }

    private func context(_ arrival: Arrival, _ slice: BatchSlice) -> ActionContext {
        ActionContext(arrival: arrival, host: slice.settler, attempt: slice.attempt)
    }

    /// Returns whether the arrival's deadline has passed, or will have passed at tick `due`. The clock is read only if
    /// the arrival has a deadline.
    private func isLate(_ arrival: Arrival, at due: UInt64? = nil) -> Bool {
        arrival.hasDeadline && isPastDeadline(arrival, at: due)
    }

    /// Not inlined: an asynchronous caller would allocate its task's memory for the values of the clock before each slice, even if
    /// no arrival has a deadline.
    @inline(never)
    private func isPastDeadline(_ arrival: Arrival, at due: UInt64?) -> Bool {
        guard let deadline = arrival.uncheckedAction.deadline else { return false }
        let now = core.now
        let wait = due.map { core.configuration.tick * Double($0 > now ? $0 - now : 0) } ?? .zero
        return ContinuousClock.now + wait >= deadline
    }
}

// MARK: - Call completion

extension Lane {
    /// Settles a call that has returned, unless the timer has already settled it or the call will be retried.
    ///
    /// - Parameter outcome: The outcome, or `nil` if the deadline passed before the call.
    /// - Returns: Whether the worker continues with its slice.
    private func end(
        _ callState: CallState,
        _ worker: LaneWorker,
        _ slice: BatchSlice,
        _ position: Int,
        _ outcome: Outcome?,
        _ meter: CallMeter
    ) -> Bool {
        let found = CallState(
            rawValue: worker.call.exchange(callState.with(.idle).rawValue, ordering: .acquiringAndReleasing)
        )
        guard found.phase != .expired else {
            slice.settler.countLateReturn(slice.arrivals[position], plugin: entry)
            endStall(of: worker)
            return false
        }
        if case .failed(let failure) = outcome, failure.isRetryable, delay(slice, position, failure, found, worker) {
            guard entry.options.order == .none else { return false }
        } else {
            slice.settle(position, outcome, meter)
        }
        // If the states differ, the timer has taken the rest of the slice away.
        guard found == callState else { return false }
        guard worker.isAskedToYield.load(ordering: .relaxed) else { return true }
        state.withLock { $0.giveWay(worker.position, behindCall: callState.number) }
        return false
    }

    private func endStall(of worker: LaneWorker) {
        state.withLock { $0.endStall(worker.position) }
    }

    /// Schedules a retry, if the plugin's options, the source's ack deadline and the action's deadline permit it.
    @inline(never)
    private func delay(
        _ slice: BatchSlice,
        _ position: Int,
        _ failure: Outcome.Failure,
        _ callState: CallState,
        _ worker: LaneWorker
    ) -> Bool {
        guard let due = nextAttempt(of: slice, after: [failure]), !isLate(slice.arrivals[position], at: due) else {
            return false
        }
        delay(slice.part(position..<position + 1), [.failed(failure)], until: due, callState, worker)
        return true
    }

    /// Returns the tick of the next attempt, or `nil` if there may not be another attempt.
    private func nextAttempt(of slice: BatchSlice, after failures: [Outcome.Failure]) -> UInt64? {
        guard let policy = entry.options.retry, slice.attempt < policy.attempts else { return nil }
        let longest = policy.longestTicks(afterAttempt: slice.attempt, core.configuration.tick)
        let requested = failures.compactMap(\.retryDelay).max().map {
            TickCount.ticks(in: min($0, RetryPolicy.longestRequestedDelay), of: core.configuration.tick)
        }
        let due = core.now + core.random(in: 1...longest) + (requested ?? 0)
        if let limit = slice.settler.ackDeadlineTicks, due - slice.tick >= limit { return nil }
        if let limit = policy.upTo, due - slice.tick > TickCount.ticks(in: limit, of: core.configuration.tick) {
            return nil
        }
        return due
    }

    private func delay(
        _ slice: BatchSlice,
        _ outcomes: [Outcome],
        until due: UInt64,
        _ callState: CallState,
        _ worker: LaneWorker
    ) {
        var next = slice.called
        next.failures = FailedCalls(outcomes: outcomes, first: slice.range.lowerBound)
        state.withLock { state in
            let retry = ScheduledRetry(slice: next, group: state.workers[worker.position].group, due: due)
            state.delay(retry, at: worker.position, behindCall: callState.number)
        }
    }
}

// MARK: - Batch calls

extension Lane {
    /// Makes one call for the whole slice. The timer settles either the whole slice or none of it.
    private func callTogether(
        _ slice: BatchSlice,
        _ worker: LaneWorker,
        _ handler: @Sendable ([ActionContext]) async -> [Outcome]
    ) async {
        let callState = CallState(.running, call: worker.nextCall)
        let begun = slice.range.filter { !isLate(slice.arrivals[$0]) }
        worker.call.store(callState.rawValue, ordering: .releasing)
        let meter = slice.settler.meter(of: entry)
        let start = begun.isEmpty ? nil : meter.start()
        let results = begun.isEmpty ? [] : await handler(begun.map { context(slice.arrivals[$0], slice) })
        meter.record(since: start)
        let found = CallState(
            rawValue: worker.call.exchange(callState.with(.idle).rawValue, ordering: .acquiringAndReleasing)
        )
        guard found.phase != .expired else {
            for position in slice.range { slice.settler.countLateReturn(slice.arrivals[position], plugin: entry) }
            return endStall(of: worker)
        }
        let ends = Dictionary(uniqueKeysWithValues: zip(begun, results))
        let delayed = delay(ends, of: slice, found, worker)
        for position in slice.range where !delayed.contains(position) {
            slice.settle(position, ends[position], meter)
        }
    }

    /// Schedules one retry for all actions in the slice that may be called again.
    ///
    /// - Returns: The positions of the actions that will be retried.
    private func delay(_ ends: [Int: Outcome], of slice: BatchSlice, _ callState: CallState, _ worker: LaneWorker)
        -> Set<Int>
    {
        let failures = slice.range.reduce(into: [Int: Outcome.Failure]()) { failures, position in
            if case .failed(let failure) = ends[position], failure.isRetryable { failures[position] = failure }
        }
        let retryable = slice.range.filter { failures[$0] != nil }
        guard !retryable.isEmpty, let due = nextAttempt(of: slice, after: Array(failures.values)) else { return [] }
        let delayed = retryable.filter { !isLate(slice.arrivals[$0], at: due) }
        guard !delayed.isEmpty else { return [] }
        delay(slice.part(at: delayed), delayed.compactMap { ends[$0] }, until: due, callState, worker)
        return Set(delayed)
    }
}

// MARK: - Keys

extension Lane {
    /// Decodes the bodies of a slice one by one, and enqueues each action in its key's group. Decoding runs application
    /// code, so the timer treats each decoding as a call.
    private func sort(_ slice: BatchSlice, _ worker: LaneWorker) {
        guard case .keyed(let prepare) = entry.call else { return }
        var callState = CallState(.running, call: worker.nextCall)
        for position in slice.range {
            worker.call.store(callState.rawValue, ordering: .releasing)
            let result = prepare(context(slice.arrivals[position], slice))
            let found = worker.call.exchange(callState.with(.idle).rawValue, ordering: .acquiringAndReleasing)
            guard CallState(rawValue: found).phase != .expired else {
                slice.settler.countLateReturn(slice.arrivals[position], plugin: entry)
                return endStall(of: worker)
            }
            sort(position, of: slice, result)
            guard found == callState.rawValue else { return }
            callState = callState.next
        }
    }

    private func sort(_ position: Int, of slice: BatchSlice, _ result: consuming PreparedCall) {
        let range = position..<position + 1
        switch consume result {
        case .refused(let outcome): slice.part(range).settle(outcome)
        case .keyed(let key, let call):
            let isTaken = state.withLock { $0.enqueue(BatchSlice(position, of: slice, prepared: call), key: key) }
            if !isTaken { slice.part(range).settle(unavailable) }
        }
    }
}
