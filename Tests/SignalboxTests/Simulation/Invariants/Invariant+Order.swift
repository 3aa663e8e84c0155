extension Invariant {
    static let neverMoreCallsThanAllowed = Invariant(
        "neverMoreCallsThanAllowed",
        """
        At most `maxConcurrent` calls of a plugin are running, those that were settled without waiting \
        for them counted.
        """
    ) { ledger in
        ledger.calls.compactMap { call in
            let most = ledger.plugin(of: call).maxConcurrent
            let running = ledger.calls.filter { $0.registration == call.registration && $0.isRunning(at: call.began) }
            guard running.count >= most else { return nil }
            let text = "registration \(call.registration) had \(running.count + 1) calls at once, of \(most)"
            return Ledger.Fault(at: call.began, text: text)
        }
    }

    static let oneCallPerSourceOrKey = Invariant(
        "oneCallPerSourceOrKey",
        "Of a source, or of a key, one call runs at a time where the plugin's order says so."
    ) { ledger in
        ledger.calls.compactMap { call in
            let strands = ledger.strands(of: call)
            let other = ledger.calls.first { other in
                other.registration == call.registration && other.isRunning(at: call.began)
                    && !strands.isDisjoint(with: ledger.strands(of: other))
            }
            guard let other else { return nil }
            let text = "call \(call.number) began while call \(other.number) of the same source or key was running"
            return Ledger.Fault(at: call.began, text: text)
        }
    }

    static let orderIsKept = Invariant(
        "orderIsKept",
        """
        Calls of a source, or of a key, begin in the order in which the arrivals were submitted; all \
        attempts at one before the next. Where the order is `none`, the first attempts begin in the \
        order of their source; those of several places are handed out in that order, and begin within \
        the same tick.
        """
    ) { ledger in
        ledger.registrations.indices.flatMap { registration -> [Ledger.Fault] in
            let plugin = ledger.registrations[registration].plugin
            var last: [Strand: (passage: Passage, first: Int, end: Int)] = [:]
            return ledger.called(registration).compactMap { passage -> Ledger.Fault? in
                let attempts = ledger.attempts(of: passage)
                guard let first = attempts.first?.began, let end = attempts.last?.began else { return nil }
                let isFree = plugin.order == .none
                let strand = ledger.lineage(of: passage, in: plugin)
                defer { last[strand] = (passage, first, end) }
                guard let before = last[strand] else { return nil }
                // One call of a batch plugin begins for all of its arrivals.
                let isRight = plugin.kind == .batch || isFree ? before.first <= first : before.end < first
                let isAtOnce = isFree && plugin.maxConcurrent > 1 && ledger.ticks[before.first] == ledger.ticks[first]
                if isRight || isAtOnce { return nil }
                let text = "\(passage.mark) was called before all of \(before.passage.mark), which was submitted first"
                return Ledger.Fault(at: first, text: text)
            }
        }
    }
}

extension Ledger {
    /// What is called in the order of submission: sources take turns, so it is the arrivals of one of them.
    fileprivate func lineage(of passage: Passage, in plugin: PluginScenario) -> Strand {
        plugin.order == .key ? .keyOfSource(message(of: passage).key, passage.intake) : .source(passage.intake)
    }

    fileprivate func strands(of call: CallRecord) -> Set<Strand> {
        let plugin = plugin(of: call)
        return Set(call.marks.compactMap { passage($0) }.map { strand(of: $0, in: plugin) })
    }
}
