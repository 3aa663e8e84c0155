import Signalbox
import SignalboxCore

/// A property that holds in every run, whatever the plugins and sources do.
struct Invariant: Sendable {
    let name: String
    /// The property in words.
    let promise: String
    /// Returns the positions at which the property does not hold, and the expectation.
    let check: @Sendable (Ledger) -> [Ledger.Fault]

    init(_ name: String, _ promise: String, _ check: @escaping @Sendable (Ledger) -> [Ledger.Fault]) {
        self.name = name
        self.promise = promise
        self.check = check
    }

    static let all: [Invariant] = [
        settledOnce, nothingUntakenIsTold, allIsSettledWhenTheRunEnds, acknowledgedAsDecided, observedBeforeSettled,
        countsMatch, reportTellsTheTruth, deadLettersAreBounded, supervisorIsFreed,
        onlyAllowedArrivalsAreCalled, notCalledAfterItsEnd, attemptsAreKept, outcomeHasItsCause, reentrantIsRefused,
        neverMoreCallsThanAllowed, oneCallPerSourceOrKey, orderIsKept, nothingWaitsWithoutReason, sourcesTakeTurns,
        stalledLaneIsUnavailable, successorsWait, successorsBegin,
        windowIsNeverExceeded, roomIsRoom, roomIsTold, closedTakesNothing, removalIsKept, namesAreFree,
        repeatsAreNotCalled, repeatsHaveTheirOriginal, attemptsAreTold, rateLimitIsKept, overloadedIsTrue,
        breakerIsKept,
        timeoutIsKept, holdLimitIsKept, drainLimitIsKept,
    ]
}

extension Invariant {
    static let settledOnce = Invariant("settledOnce", "The one outcome of an arrival is told once.") { ledger in
        ledger.passages.compactMap { passage in
            guard passage.settled.count > 1 else { return nil }
            return Ledger.Fault(at: passage.settled[1].at, text: "\(passage.mark) was settled more than once")
        }
    }

    static let nothingUntakenIsTold = Invariant(
        "nothingUntakenIsTold",
        "Only what `submit` took is told of, and only after it was offered."
    ) { $0.faults }

    static let allIsSettledWhenTheRunEnds = Invariant(
        "allIsSettledWhenTheRunEnds",
        "Nothing vanishes: when `run()` has returned, every arrival that was taken has its outcome."
    ) { ledger in
        guard let ended = ledger.ended else {
            return [Ledger.Fault(at: ledger.events.count, text: "run() did not return")]
        }
        return ledger.passages.compactMap { passage in
            guard !passage.isSettled(before: ended.at) else { return nil }
            return Ledger.Fault(at: ended.at, text: "\(passage.mark) was taken, and not settled when run() returned")
        }
    }

    static let acknowledgedAsDecided = Invariant(
        "acknowledgedAsDecided",
        """
        What is decided may be acknowledged, once and before its outcome is told; what is abandoned \
        never.
        """
    ) { ledger in
        ledger.passages.compactMap { passage in
            let at = passage.acknowledged.last ?? passage.settled.first?.at ?? passage.taken
            let expected = passage.settled.isEmpty || passage.isAbandoned ? 0 : 1
            guard passage.acknowledged.count == expected else {
                let word = passage.outcome?.name ?? "not settled"
                let count = passage.acknowledged.count
                let text = "\(passage.mark) is \(word): acknowledged \(expected) times expected, \(count) seen"
                return Ledger.Fault(at: at, text: text)
            }
            guard let settled = passage.settled.first, at > settled.at else { return nil }
            return Ledger.Fault(at: at, text: "\(passage.mark) was acknowledged after its outcome was told")
        }
    }

    static let observedBeforeSettled = Invariant(
        "observedBeforeSettled",
        "Observers are told of each outcome once, before the adapter is."
    ) { ledger in
        ledger.passages.compactMap { passage in
            guard let settled = passage.settled.first else { return nil }
            let isRight = passage.observed.count == 1 && passage.observed[0].at < settled.at
            if isRight, passage.observed[0].outcome == settled.outcome { return nil }
            return Ledger.Fault(at: settled.at, text: "\(passage.mark) was not observed once, before, with its outcome")
        }
    }
}

extension Invariant {
    static let countsMatch = Invariant(
        "countsMatch",
        "Every report counts what the sinks were told, by source; each rejected or failed arrival is one dead letter, repeats apart."
    ) { ledger in
        ledger.reports.flatMap { ending -> [Ledger.Fault] in
            var faults: [Ledger.Fault] = []
            for source in ledger.scenario.sources {
                let counted = ledger.counts(of: source.index, before: ending.at)
                let told = ending.report.sources[source.name] ?? OutcomeCounts()
                if counted == told { continue }
                let text = "source s\(source.index): \(counted) expected in the report, \(told) seen"
                faults.append(Ledger.Fault(at: ending.at, text: text))
            }
            let letters = ledger.deadLetters(before: ending.at).count
            if letters != ending.report.deadLetters {
                let text = "\(letters) dead letters expected, \(ending.report.deadLetters) seen"
                faults.append(Ledger.Fault(at: ending.at, text: text))
            }
            return faults
        }
    }

    static let reportTellsTheTruth = Invariant(
        "reportTellsTheTruth",
        "What every report says is inside, and which calls have not returned, is so."
    ) { ledger in
        ledger.reports.flatMap { ending -> [Ledger.Fault] in
            var texts: [String] = []
            let inside = ledger.passages.filter { $0.taken < ending.at && !$0.isSettled(before: ending.at) }
            if ending.report.unsettled != inside.count {
                texts.append("\(inside.count) unsettled expected in the report, \(ending.report.unsettled) seen")
            }
            for source in ledger.scenario.sources {
                let own = inside.filter { $0.mark.source == source.index }
                let bytes = own.reduce(0) { $0 + ledger.length(of: $1) }
                let seen = ending.report.windows[source.name]
                if (seen?.arrivals ?? 0) != own.count || (seen?.bytes ?? 0) != bytes {
                    texts.append(
                        "s\(source.index): \(own.count) arrivals, \(bytes) bytes expected inside, not \(seen as Any)"
                    )
                }
            }
            let running = ledger.callsLeftRunning(at: ending.at)
            let seen = ending.report.callsStillRunning
            if running != seen { texts.append("calls running that were settled: \(running) expected, \(seen) seen") }
            let isAbandoned = ledger.passages.contains { $0.isAbandoned && $0.isSettled(before: ending.at) }
            if ending.report.isClean != (running.isEmpty && inside.isEmpty && !isAbandoned) {
                texts.append("isClean is \(ending.report.isClean), and should not be")
            }
            return texts.map { Ledger.Fault(at: ending.at, text: $0) }
        }
    }

    static let deadLettersAreBounded = Invariant(
        "deadLettersAreBounded",
        "The latest dead letters are kept, no more of them and of their bytes than the limits say; the others are counted."
    ) { ledger in
        guard let quiet = ledger.quiet else { return [] }
        let limits = ledger.scenario.deadLetters
        var kept: [Passage] = []
        var dropped = 0
        for letter in ledger.deadLetters(before: quiet.at) {
            guard ledger.length(of: letter) <= limits.bytes else {
                dropped += 1
                continue
            }
            kept.append(letter)
            while kept.count > limits.count || kept.reduce(0, { $0 + ledger.length(of: $1) }) > limits.bytes {
                kept.removeFirst()
                dropped += 1
            }
        }
        if ledger.letters == kept.map(\.message), quiet.report.deadLettersDropped == dropped { return [] }
        let text =
            "kept \(kept.map(\.message)) and \(dropped) dropped expected, \(ledger.letters) and "
            + "\(quiet.report.deadLettersDropped) seen"
        return [Ledger.Fault(at: quiet.at, text: text)]
    }

    static let supervisorIsFreed = Invariant(
        "supervisorIsFreed",
        "When nobody uses the supervisor any more and every call has returned, it is freed, and its lanes with their tasks."
    ) { ledger in
        ledger.events.enumerated().compactMap { position, event in
            guard case .released(let isFreed, let held) = event, !isFreed || !held.isEmpty else { return nil }
            let what = isFreed ? "the plugins of the registrations \(held) are" : "the supervisor is"
            return Ledger.Fault(at: position, text: "every call has returned, and \(what) still held")
        }
    }
}
