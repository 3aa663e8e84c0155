import SignalboxCore
import Synchronization

extension Lane {
    /// The number of actions a worker handles before it yields its thread to other tasks.
    private static let turn = 256

    /// Starts a worker's task. It is detached: a plugin that never returns would keep a parent task alive.
    func start(_ place: LanePlace) {
        // Any executor preference, even `nil`, is looked up under a lock at each switch: several times per call.
        if let executor = core.executor {
            Task.detached(executorPreference: executor) { await self.work(place) }
        } else {
            Task.detached { await self.work(place) }
        }
    }

    private func work(_ place: LanePlace) async {
        place.noteTask()
        var handled = 0
        while let work = await next(place) {
            switch work {
            case .sort(let run):
                sort(run, place)
                handled += run.range.count
            case .call(let run):
                await call(run, place)
                handled += run.range.count
            }
            if handled >= Lane.turn {
                handled = 0
                await Task.yield()
            }
        }
        guard state.withLock({ $0.hasEnded }) else { return }
        reportUnavailable()
        core.lanes.letGo(of: self)
    }

    private func next(_ place: LanePlace) async -> LaneWork? {
        let (work, wakeups, handsOver) = state.withLock { state -> (LaneWork?, LaneWakeups, Bool) in
            state.finish(place.position)
            if let work = state.takeWork(for: place.position) { return (work, state.dispatch(), false) }
            return (nil, LaneWakeups(), state.takeHandover())
        }
        carryOut(wakeups)
        if let work { return work }
        if handsOver { core.lanes.handOver(entry) }
        return await withUnsafeContinuation { continuation in
            let (answer, wakeups) = state.withLock { state -> (LaneWork??, LaneWakeups) in
                if let work = state.takeWork(for: place.position) { return (.some(work), state.dispatch()) }
                if state.park(place.position, continuation) { return (.some(nil), state.endParked()) }
                return (nil, LaneWakeups())
            }
            carryOut(wakeups)
            if let answer { continuation.resume(returning: answer) }
        }
    }

    private func call(_ run: LaneRun, _ place: LanePlace) async {
        if core.middleware.isEmpty, entry.middleware.isEmpty {
            switch entry.call {
            case .sync(let handler): callEach(run, place, handler)
            case .async(let handler): await callEach(run, place, handler)
            case .keyed: if let prepared = run.prepared { await callEach(run, place, prepared) }
            case .batch(let handler): await callTogether(run, place, handler)
            }
        } else {
            let middleware = core.middleware.all + entry.middleware.all
            switch entry.call {
            case .sync(let handler): await callEach(run, place, through(middleware) { handler($0) })
            case .async(let handler): await callEach(run, place, through(middleware, handler))
            case .keyed: if let prepared = run.prepared { await callEach(run, place, through(middleware, prepared)) }
            case .batch(let handler): await callTogether(run, place, handler)
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

    private func callEach(_ run: LaneRun, _ place: LanePlace, _ handler: @Sendable (ActionContext) -> Outcome) {
        var word = CallWord(.running, call: place.nextCall)
        for position in run.range {
            let arrival = run.arrivals[position]
            place.call.store(word.rawValue, ordering: .releasing)
            let outcome = isLate(arrival) ? nil : handler(context(arrival, run))
            guard end(word, place, run, position, outcome) else { return }
            word = word.next
        }
    }

    private func callEach(
        _ run: LaneRun,
        _ place: LanePlace,
        _ handler: @Sendable (ActionContext) async -> Outcome
    ) async {
        var word = CallWord(.running, call: place.nextCall)
        for position in run.range {
            let arrival = run.arrivals[position]
            place.call.store(word.rawValue, ordering: .releasing)
            let outcome = isLate(arrival) ? nil : await handler(context(arrival, run))
            guard end(word, place, run, position, outcome) else { return }
            word = word.next
        }
    }

    private func context(_ arrival: Arrival, _ run: LaneRun) -> ActionContext {
        ActionContext(arrival: arrival, host: run.intake, attempt: run.attempt)
    }

    /// Returns whether the deadline has passed, or will have at tick `due`. Without a deadline it reads no clock.
    private func isLate(_ arrival: Arrival, at due: UInt64? = nil) -> Bool {
        guard arrival.hasDeadline, let deadline = arrival.uncheckedAction.deadline else { return false }
        let now = core.now
        let wait = due.map { core.configuration.tick * Double($0 > now ? $0 - now : 0) } ?? .zero
        return ContinuousClock.now + wait >= deadline
    }
}

// MARK: - Call completion

extension Lane {
    /// Settles a call that returned, unless the timer has settled it or it is retried.
    ///
    /// - Parameter outcome: The outcome, or `nil` if the deadline passed before the call.
    /// - Returns: Whether the worker continues with its slice.
    private func end(
        _ word: CallWord,
        _ place: LanePlace,
        _ run: LaneRun,
        _ position: Int,
        _ outcome: Outcome?
    ) -> Bool {
        let found = CallWord(rawValue: place.call.exchange(word.with(.idle).rawValue, ordering: .acquiringAndReleasing))
        guard found.phase != .expired else {
            run.intake.countLateReturn(run.arrivals[position], plugin: entry)
            endStall(of: place)
            return false
        }
        if case .failed(let failure) = outcome, failure.isRetryable, delay(run, position, failure, found, place) {
            guard entry.options.order == .none else { return false }
        } else if let outcome {
            run.settle(position, outcome, plugin: entry)
        } else {
            run.settleLate(position, plugin: entry)
        }
        // Otherwise the timer has taken away the rest of the slice.
        guard found == word else { return false }
        guard place.isAskedToYield.load(ordering: .relaxed) else { return true }
        state.withLock { $0.giveWay(place.position, behindCall: word.number) }
        return false
    }

    private func endStall(of place: LanePlace) {
        state.withLock { $0.endStall(place.position) }
    }

    /// Schedules a retry if the plugin's options, the source's ack deadline and the action's deadline permit it.
    private func delay(
        _ run: LaneRun,
        _ position: Int,
        _ failure: Outcome.Failure,
        _ word: CallWord,
        _ place: LanePlace
    ) -> Bool {
        guard let due = nextAttempt(of: run), !isLate(run.arrivals[position], at: due) else { return false }
        delay(run.part(position..<position + 1), [.failed(failure)], until: due, word, place)
        return true
    }

    /// Returns the tick of the next attempt, or `nil` if none is permitted.
    private func nextAttempt(of run: LaneRun) -> UInt64? {
        guard let policy = entry.options.retry, run.attempt < policy.attempts else { return nil }
        let longest = policy.longestTicks(afterAttempt: run.attempt, core.configuration.tick)
        let due = core.now + core.random(in: 1...longest)
        if let limit = run.intake.holdTicks, due - run.tick >= limit { return nil }
        return due
    }

    private func delay(_ run: LaneRun, _ outcomes: [Outcome], until due: UInt64, _ word: CallWord, _ place: LanePlace) {
        var next = run
        next.attempt += 1
        next.failures = FailedCalls(outcomes, from: run.range.lowerBound)
        state.withLock { state in
            let sleeper = LaneSleeper(run: next, strand: state.places[place.position].strand, due: due)
            state.delay(sleeper, at: place.position, behindCall: word.number)
        }
    }
}

// MARK: - Batch calls

extension Lane {
    /// Makes one call for the whole slice. The timer settles either the whole slice or none of it.
    private func callTogether(
        _ run: LaneRun,
        _ place: LanePlace,
        _ handler: @Sendable ([ActionContext]) async -> [Outcome]
    ) async {
        let word = CallWord(.running, call: place.nextCall)
        let begun = run.range.filter { !isLate(run.arrivals[$0]) }
        place.call.store(word.rawValue, ordering: .releasing)
        let results = begun.isEmpty ? [] : await handler(begun.map { context(run.arrivals[$0], run) })
        let found = CallWord(rawValue: place.call.exchange(word.with(.idle).rawValue, ordering: .acquiringAndReleasing))
        guard found.phase != .expired else {
            for position in run.range { run.intake.countLateReturn(run.arrivals[position], plugin: entry) }
            return endStall(of: place)
        }
        let ends = Dictionary(uniqueKeysWithValues: zip(begun, results))
        let delayed = delay(ends, of: run, found, place)
        for position in run.range where !delayed.contains(position) {
            if let outcome = ends[position] {
                run.settle(position, outcome, plugin: entry)
            } else {
                run.settleLate(position, plugin: entry)
            }
        }
    }

    /// - Returns: The positions to be retried.
    private func delay(_ ends: [Int: Outcome], of run: LaneRun, _ word: CallWord, _ place: LanePlace) -> Set<Int> {
        let retryable = run.range.filter { position in
            if case .failed(let failure) = ends[position] { failure.isRetryable } else { false }
        }
        guard !retryable.isEmpty, let due = nextAttempt(of: run) else { return [] }
        let delayed = retryable.filter { !isLate(run.arrivals[$0], at: due) }
        guard !delayed.isEmpty else { return [] }
        delay(run.part(at: delayed), delayed.compactMap { ends[$0] }, until: due, word, place)
        return Set(delayed)
    }
}

// MARK: - Keys

extension Lane {
    /// Decodes a slice's bodies one by one and enqueues each action in the group of its key. The timer treats each
    /// decoding as a call, because it runs application code too.
    private func sort(_ run: LaneRun, _ place: LanePlace) {
        guard case .keyed(let prepare) = entry.call else { return }
        var word = CallWord(.running, call: place.nextCall)
        for position in run.range {
            place.call.store(word.rawValue, ordering: .releasing)
            let result = prepare(context(run.arrivals[position], run))
            let found = place.call.exchange(word.with(.idle).rawValue, ordering: .acquiringAndReleasing)
            guard CallWord(rawValue: found).phase != .expired else {
                run.intake.countLateReturn(run.arrivals[position], plugin: entry)
                return endStall(of: place)
            }
            sort(run.part(position..<position + 1), result)
            guard found == word.rawValue else { return }
            word = word.next
        }
    }

    private func sort(_ run: LaneRun, _ result: PreparedCall) {
        switch result {
        case .refused(let outcome): run.settle(outcome, plugin: entry)
        case .keyed(let key, let call):
            var run = run
            run.prepared = call
            let isTaken = state.withLock { $0.enqueue(run, key: key) }
            if !isTaken { run.settle(unavailable, plugin: entry) }
        }
    }
}
