import SignalboxCore
import Synchronization

extension Lane {
    /// How many actions a place handles before it lets other tasks use its thread.
    private static let turn = 256

    /// Begins the task of a place. It is nobody's child, as a plugin that never returns would hold its parent for ever.
    func start(_ place: LanePlace) {
        // A preference, also that for no executor, is looked up under a lock at each switch: several times a call.
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
                sort(run)
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
        if state.withLock({ $0.hasEnded }) { core.lanes.letGo(of: self) }
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
            let outcome = expiry(of: arrival) ?? handler(context(arrival, run))
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
            let outcome: Outcome
            if let expiry = expiry(of: arrival) {
                outcome = expiry
            } else {
                outcome = await handler(context(arrival, run))
            }
            guard end(word, place, run, position, outcome) else { return }
            word = word.next
        }
    }

    private func context(_ arrival: Arrival, _ run: LaneRun) -> ActionContext {
        ActionContext(arrival: arrival, host: run.intake, attempt: run.attempt)
    }

    /// Only an action with a deadline costs a look at the clock.
    private func expiry(of arrival: Arrival) -> Outcome? {
        guard arrival.hasDeadline, let deadline = arrival.uncheckedAction.deadline else { return nil }
        guard ContinuousClock.now >= deadline else { return nil }
        return .rejected(Outcome.Rejection(.expired, detail: "its deadline passed before the plugin could begin"))
    }
}

// MARK: - The end of a call

extension Lane {
    /// Settles the call that returned, unless the timer has, or it is made again.
    ///
    /// - Returns: whether the place goes on with what it has.
    private func end(
        _ word: CallWord,
        _ place: LanePlace,
        _ run: LaneRun,
        _ position: Int,
        _ outcome: Outcome
    ) -> Bool {
        let found = place.call.exchange(word.with(.idle).rawValue, ordering: .acquiringAndReleasing)
        guard found == word.rawValue else {
            endMarked(CallWord(rawValue: found), place, run, position, outcome)
            return false
        }
        if case .failed(let failure) = outcome, failure.isRetryable,
            delay(run.part(position..<position + 1), [outcome], word, place)
        {
            return entry.options.order == .none
        }
        run.settle(position, outcome, plugin: entry)
        guard place.isAskedToYield.load(ordering: .relaxed) else { return true }
        state.withLock { $0.giveWay(place.position, behindCall: word.number) }
        return false
    }

    /// The timer has settled the call, or taken away what lies behind it.
    private func endMarked(
        _ found: CallWord,
        _ place: LanePlace,
        _ run: LaneRun,
        _ position: Int,
        _ outcome: Outcome
    ) {
        guard found.phase == .expired else {
            if case .failed(let failure) = outcome, failure.isRetryable,
                delay(run.part(position..<position + 1), [outcome], found, place)
            {
                return
            }
            return run.settle(position, outcome, plugin: entry)
        }
        run.intake.countLateReturn(run.arrivals[position], plugin: entry)
        endStall(of: place)
    }

    private func endStall(of place: LanePlace) {
        reportUnavailable()
        state.withLock { $0.places[place.position].isStalled = false }
    }

    /// Makes the calls again later, where the plugin's options and the source's patience allow it.
    private func delay(_ run: LaneRun, _ failures: [Outcome], _ word: CallWord, _ place: LanePlace) -> Bool {
        guard let policy = entry.options.retry, run.attempt < policy.attempts else { return false }
        let due =
            core.now + core.random(in: 1...policy.longestTicks(afterAttempt: run.attempt, core.configuration.tick))
        if let limit = run.intake.holdTicks, due - run.tick >= limit { return false }
        var next = run
        next.attempt += 1
        state.withLock { state in
            let strand = state.places[place.position].strand
            let sleeper = LaneSleeper(run: next, strand: strand, due: due, failures: failures)
            state.delay(sleeper, at: place.position, behindCall: word.number)
        }
        return true
    }
}

// MARK: - Calls for many

extension Lane {
    /// One call for the whole run: the timer settles all of it or nothing.
    private func callTogether(
        _ run: LaneRun,
        _ place: LanePlace,
        _ handler: @Sendable ([ActionContext]) async -> [Outcome]
    ) async {
        let word = CallWord(.running, call: place.nextCall)
        var outcomes = run.range.map { expiry(of: run.arrivals[$0]) }
        let begun = run.range.filter { outcomes[$0 - run.range.lowerBound] == nil }
        place.call.store(word.rawValue, ordering: .releasing)
        let results = await handler(begun.map { context(run.arrivals[$0], run) })
        for (position, outcome) in zip(begun, results) { outcomes[position - run.range.lowerBound] = outcome }
        let found = place.call.exchange(word.with(.idle).rawValue, ordering: .acquiringAndReleasing)
        let ends = Array(zip(run.range, outcomes.compactMap { $0 }))
        guard CallWord(rawValue: found).phase == .expired else {
            return settle(ends, of: run, CallWord(rawValue: found), place)
        }
        for (position, _) in ends { run.intake.countLateReturn(run.arrivals[position], plugin: entry) }
        endStall(of: place)
    }

    private func settle(_ ends: [(Int, Outcome)], of run: LaneRun, _ word: CallWord, _ place: LanePlace) {
        let retried = ends.filter { end in
            if case .failed(let failure) = end.1 { failure.isRetryable } else { false }
        }
        let isDelayed = !retried.isEmpty && delay(run.part(at: retried.map(\.0)), retried.map(\.1), word, place)
        let later = isDelayed ? Set(retried.map(\.0)) : []
        for (position, outcome) in ends where !later.contains(position) {
            run.settle(position, outcome, plugin: entry)
        }
    }
}

// MARK: - Keys

extension Lane {
    /// Decodes the bodies of a run, and puts each action behind those with the same key.
    private func sort(_ run: LaneRun) {
        guard case .keyed(let prepare) = entry.call else { return }
        let prepared = run.range.map { prepare(context(run.arrivals[$0], run)) }
        let (verdicts, wakeups) = state.withLock { state -> ([LaneVerdict], LaneWakeups) in
            var verdicts: [LaneVerdict] = []
            for (position, result) in zip(run.range, prepared) {
                var one = run.part(position..<position + 1)
                switch result {
                case .refused(let outcome): verdicts.append(LaneVerdict(run: one, outcome: outcome))
                case .keyed(let key, let call):
                    one.prepared = call
                    if !state.enqueue(one, key: key) { verdicts.append(LaneVerdict(run: one, outcome: unavailable)) }
                }
            }
            state.finishSorting()
            return (verdicts, state.dispatch())
        }
        carryOut(wakeups)
        settle(verdicts)
    }
}
