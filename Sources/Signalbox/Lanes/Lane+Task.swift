import SignalboxCore
import Synchronization

extension Lane {
    /// How many arrivals a lane handles before it lets other tasks use its thread.
    private static let turn = 256

    /// Begins the lane's one task. It is nobody's child, as a plugin that never returns would hold its parent for ever.
    func start() {
        Task.detached(executorPreference: intake.core.executor) { await self.work() }
    }

    private func work() async {
        var handled = 0
        while let run = await next() {
            switch entry.call {
            case .sync(let handler): perform(run, handler)
            case .async(let handler): await perform(run, handler)
            case .batch(let handler): await performTogether(run, handler)
            }
            handled += run.range.count
            if handled >= Lane.turn {
                handled = 0
                await Task.yield()
            }
        }
        intake.letGo(of: self)
    }

    private func next() async -> LaneRun? {
        if let run = queue.withLock({ $0.startNext(call: nextCall) }) { return run }
        return await withUnsafeContinuation { continuation in
            let (isReady, run) = queue.withLock { queue -> (Bool, LaneRun?) in
                if let run = queue.startNext(call: nextCall) { return (true, run) }
                guard !queue.isClosed else { return (true, nil) }
                queue.parked = continuation
                return (false, nil)
            }
            if isReady { continuation.resume(returning: run) }
        }
    }

    private func perform(_ run: LaneRun, _ handler: @Sendable (ActionContext) -> Outcome) {
        var range = run.range
        var word = CallWord(.running, call: nextCall)
        while let position = range.popFirst() {
            let arrival = run.arrivals[position]
            call.store(word.rawValue, ordering: .releasing)
            let outcome = expiry(of: arrival) ?? handler(ActionContext(arrival: arrival, host: intake))
            if let rest = end(word, arrival, outcome, run.sink) { range = rest }
            word = word.next
        }
    }

    private func perform(_ run: LaneRun, _ handler: @Sendable (ActionContext) async -> Outcome) async {
        var range = run.range
        var word = CallWord(.running, call: nextCall)
        while let position = range.popFirst() {
            let arrival = run.arrivals[position]
            call.store(word.rawValue, ordering: .releasing)
            let outcome: Outcome
            if let expiry = expiry(of: arrival) {
                outcome = expiry
            } else {
                outcome = await handler(ActionContext(arrival: arrival, host: intake))
            }
            if let rest = end(word, arrival, outcome, run.sink) { range = rest }
            word = word.next
        }
    }

    /// One call for the whole run: the timer settles all of it or nothing.
    private func performTogether(_ run: LaneRun, _ handler: @Sendable ([ActionContext]) async -> [Outcome]) async {
        let word = CallWord(.running, call: nextCall)
        var outcomes = run.range.map { expiry(of: run.arrivals[$0]) }
        let begun = run.range.filter { outcomes[$0 - run.range.lowerBound] == nil }
        call.store(word.rawValue, ordering: .releasing)
        let results = await handler(begun.map { ActionContext(arrival: run.arrivals[$0], host: intake) })
        for (position, outcome) in zip(begun, results) { outcomes[position - run.range.lowerBound] = outcome }
        let found = call.exchange(word.with(.idle).rawValue, ordering: .acquiringAndReleasing)
        let isLate = CallWord(rawValue: found).phase == .expired
        for (position, outcome) in zip(run.range, outcomes) {
            let arrival = run.arrivals[position]
            if isLate {
                intake.countLateReturn(arrival, plugin: entry)
            } else if let outcome {
                intake.settle(arrival, outcome, plugin: entry, sink: run.sink)
            }
        }
        guard found != word.rawValue else { return }
        reportUnavailable()
        queue.withLock { $0.isStalled = false }
    }

    /// Only an action with a deadline costs a look at the clock.
    private func expiry(of arrival: Arrival) -> Outcome? {
        guard arrival.hasDeadline, let deadline = arrival.uncheckedAction.deadline else { return nil }
        guard ContinuousClock.now >= deadline else { return nil }
        return .rejected(Outcome.Rejection(.expired, detail: "its deadline passed before the plugin could begin"))
    }

    /// Settles the call that returned, unless the timer has; what is left of the run when the timer took from it.
    private func end(
        _ word: CallWord,
        _ arrival: Arrival,
        _ outcome: Outcome,
        _ sink: any SettlementSink
    ) -> Range<Int>? {
        let found = call.exchange(word.with(.idle).rawValue, ordering: .acquiringAndReleasing)
        guard found != word.rawValue else {
            intake.settle(arrival, outcome, plugin: entry, sink: sink)
            return nil
        }
        if CallWord(rawValue: found).phase == .expired {
            intake.countLateReturn(arrival, plugin: entry)
            reportUnavailable()
        } else {
            intake.settle(arrival, outcome, plugin: entry, sink: sink)
        }
        return queue.withLock { queue in
            queue.isStalled = false
            return queue.restOfCurrent(behindCall: word.number)
        }
    }
}
