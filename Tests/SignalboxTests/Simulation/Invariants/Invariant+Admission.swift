import Signalbox
import SignalboxCore

extension Invariant {
    /// While an id is remembered, nothing else of its source with that id reaches a plugin.
    static let repeatsAreNotCalled = Invariant(name: "repeatsAreNotCalled") { ledger in
        ledger.passages.enumerated().flatMap { place, first -> [Ledger.Fault] in
            guard let limits = ledger.source(of: first).remembered, !ledger.attempts(of: first).isEmpty,
                let id = ledger.message(of: first).id
            else { return [] }
            let ids = Set(
                ledger.passages.filter { $0.mark.source == first.mark.source }.map { ledger.message(of: $0).id }
            )
            // Beyond the count the oldest are forgotten.
            guard ids.count <= limits.count else { return [] }
            return ledger.passages.dropFirst(place + 1).compactMap { later in
                guard later.mark.source == first.mark.source, ledger.message(of: later).id == id,
                    ledger.isRemembered(first, at: ledger.asked(later), for: limits.time),
                    let call = ledger.attempts(of: later).first
                else { return nil }
                return Ledger.Fault(
                    at: call.began,
                    text: "\(later.mark) was called, and its id is that of \(first.mark)"
                )
            }
        }
    }

    /// Observers are told how often the plugin was called. A body that does not fit is found out in the first call, or in one
    /// for other arrivals too, and before it where there are keys.
    static let attemptsAreTold = Invariant(name: "attemptsAreTold") { ledger in
        ledger.passages.compactMap { passage in
            guard let observed = passage.observed.first, !passage.isRepeat else { return nil }
            let made = ledger.attempts(of: passage).filter { $0.began < observed.at }.count
            let isUnfit = made == 0 && ledger.message(of: passage).content == .invalidBody && passage.attemptsTold == 1
            guard passage.attemptsTold != made, !isUnfit else { return nil }
            let text = "\(passage.mark) had \(made) attempts, and \(passage.attemptsTold) were told"
            return Ledger.Fault(at: observed.at, text: text)
        }
    }

    /// A source with a rate limit has no more let in than that, and a burst.
    static let rateLimitIsKept = Invariant(name: "rateLimitIsKept") { ledger in
        ledger.scenario.sources.flatMap { source -> [Ledger.Fault] in
            guard let limit = source.rateLimit else { return [] }
            let ticks = ledger.letIn(source).map { ($0.taken, ledger.ticks[ledger.asked($0)]) }
            return ticks.indices.compactMap { first in
                guard
                    let over = ticks.indices.dropFirst(first).first(where: { last in
                        // Part of a tick may have gone by at both ends.
                        let time = ticks[last].1 - ticks[first].1 + 1
                        return last - first + 1 > limit.burst + (limit.perSecond * time + 9) / 10
                    })
                else { return nil }
                let text =
                    "\(over - first + 1) arrivals of s\(source.index) from tick \(ticks[first].1) on, of \(limit)"
                return Ledger.Fault(at: ticks[over].0, text: text)
            }
        }
    }

    /// When so many arrivals in a row have failed, what comes then is not called for a while.
    static let openBreakerLeavesAlone = Invariant(name: "openBreakerLeavesAlone") { ledger in
        ledger.registrations.flatMap { registration -> [Ledger.Fault] in
            let plugin = registration.plugin
            guard let breaker = plugin.breaker, registration.from != nil,
                ledger.onlyRegistration(of: plugin.action) != nil,
                let opened = ledger.opening(of: plugin.action, breaker.failures)
            else { return [] }
            let end = ledger.ticks[opened] + breaker.openFor - 1
            return ledger.passages.compactMap { passage in
                guard ledger.message(of: passage).action == plugin.action, ledger.asked(passage) > opened,
                    ledger.ticks[ledger.asked(passage)] < end, let call = ledger.attempts(of: passage).first
                else { return nil }
                return Ledger.Fault(at: call.began, text: "\(passage.mark) was called, and the circuit breaker is open")
            }
        }
    }
}

extension Ledger {
    /// When it was routed: at its submission, or when the supervisor opened.
    func asked(_ passage: Passage) -> Int { max(passage.offered, began ?? 0) }

    /// Whether another arrival of the source has the same id: it may wait for that one's outcome.
    func sharesID(_ passage: Passage) -> Bool {
        guard let id = message(of: passage).id else { return false }
        return passages.contains { other in
            other.mark != passage.mark && other.mark.source == passage.mark.source && message(of: other).id == id
        }
    }

    fileprivate func isRemembered(_ passage: Passage, at position: Int, for time: Int) -> Bool {
        guard let settled = passage.settled.first, settled.at < position else { return true }
        guard case .handled = settled.outcome else { return false }
        return ticks[position] - ticks[settled.at] < time - 1
    }

    /// A repeat has the outcome of an earlier arrival with its id and its content.
    func hasOriginal(_ passage: Passage, _ settled: Passage.Told) -> Bool {
        passages.contains { other in
            other.mark.source == passage.mark.source && other.message == passage.message && !other.isRepeat
                && message(of: other).id != nil && other.offered <= passage.offered
                && other.settled.contains { $0.at < settled.at && $0.outcome == settled.outcome }
        }
    }

    func hasConflict(_ passage: Passage) -> Bool {
        guard let id = message(of: passage).id else { return false }
        return passages.contains { other in
            other.mark.source == passage.mark.source && other.message != passage.message && message(of: other).id == id
                && other.offered <= passage.offered
        }
    }

    /// What the rate limit of a source counts: all of one that is slowed, else what got as far as that stage.
    fileprivate func letIn(_ source: SourceScenario) -> [Passage] {
        passages.filter { passage in
            guard passage.mark.source == source.index else { return false }
            return source.features.contains(.redelivers) || !attempts(of: passage).isEmpty
        }
    }

    /// When the last of so many failures in a row was told.
    fileprivate func opening(of action: Int, _ failures: Int) -> Int? {
        let own = passages.filter { message(of: $0).action == action && !$0.isRepeat && !$0.settled.isEmpty }
        var count = 0
        for passage in own.sorted(by: { $0.settled[0].at < $1.settled[0].at }) {
            switch passage.settled[0].outcome {
            case .failed: count += 1
            case .handled: count = 0
            case .rejected, .abandoned: break
            }
            if count == failures { return passage.settled[0].at }
        }
        return nil
    }

    func hadFailures(_ action: Int, _ position: Int) -> Bool {
        let breakers = registrations.filter { $0.plugin.action == action }.compactMap(\.plugin.breaker)
        let failed = passages.filter {
            message(of: $0).action == action && $0.failure != nil && $0.isSettled(before: position)
        }
        return breakers.contains { failed.count >= $0.failures }
    }

    func isRefusedByRate(_ source: SourceScenario) -> Bool {
        source.rateLimit != nil && !source.features.contains(.redelivers)
    }
}
