import Signalbox
import SignalboxCore

/// A property that holds in every run, whatever the plugins and sources do.
struct Invariant: Sendable {
    let name: String
    /// The property in words.
    let promise: String
    /// Returns the positions at which the property does not hold, and the expectation.
    let check: @Sendable (History) -> [History.Anomaly]

    init(_ name: String, _ promise: String, _ check: @escaping @Sendable (History) -> [History.Anomaly]) {
        self.name = name
        self.promise = promise
        self.check = check
    }

    static let all: [Invariant] = [
        settledOnce, onlyTakenArrivalsAreReported, allIsSettledWhenTheRunEnds, acknowledgedAsDecided,
        observedBeforeSettled, countsMatch, reportIsAccurate, deadLettersAreBounded, supervisorIsFreed,
        onlyAllowedArrivalsAreCalled, notCalledAfterItsEnd, attemptsAreKept, outcomeHasItsCause, reentrantIsRefused,
        neverMoreCallsThanAllowed, oneCallPerSourceOrKey, orderIsKept, nothingWaitsWithoutReason, sourcesTakeTurns,
        stalledLaneIsUnavailable, replacementsWait, replacementsBegin,
        windowIsNeverExceeded, signalledRoomExists, roomIsSignalled, closedTakesNothing, removalIsKept, namesAreFree,
        duplicatesAreNotCalled, duplicatesHaveTheirOriginal, attemptsAreReported, rateLimitIsKept,
        overloadedHasItsCause,
        breakerIsKept,
        timeoutIsKept, ackDeadlineIsKept, drainLimitIsKept,
    ]
}

extension Invariant {
    static let settledOnce = Invariant("settledOnce", "The outcome of an arrival is reported once.") { history in
        history.arrivals.compactMap { arrival in
            guard arrival.settled.count > 1 else { return nil }
            return History.Anomaly(at: arrival.settled[1].at, text: "\(arrival.mark) was settled more than once")
        }
    }

    static let onlyTakenArrivalsAreReported = Invariant(
        "onlyTakenArrivalsAreReported",
        "Only arrivals that `submit` took are reported, and only after they were offered."
    ) { $0.anomalies }

    static let allIsSettledWhenTheRunEnds = Invariant(
        "allIsSettledWhenTheRunEnds",
        "Nothing vanishes: when `run()` has returned, every arrival that was taken has its outcome."
    ) { history in
        guard let ended = history.ended else {
            return [History.Anomaly(at: history.events.count, text: "run() did not return")]
        }
        return history.arrivals.compactMap { arrival in
            guard !arrival.isSettled(before: ended.at) else { return nil }
            return History.Anomaly(at: ended.at, text: "\(arrival.mark) was taken, and not settled when run() returned")
        }
    }

    static let acknowledgedAsDecided = Invariant(
        "acknowledgedAsDecided",
        """
        What is decided may be acknowledged, once and before its outcome is reported; what is abandoned \
        never.
        """
    ) { history in
        history.arrivals.compactMap { arrival in
            let at = arrival.acknowledged.last ?? arrival.settled.first?.at ?? arrival.taken
            let expected = arrival.settled.isEmpty || arrival.isAbandoned ? 0 : 1
            guard arrival.acknowledged.count == expected else {
                let name = arrival.outcome?.name ?? "not settled"
                let count = arrival.acknowledged.count
                let text = "\(arrival.mark) is \(name): acknowledged \(expected) times expected, \(count) seen"
                return History.Anomaly(at: at, text: text)
            }
            guard let settled = arrival.settled.first, at > settled.at else { return nil }
            return History.Anomaly(at: at, text: "\(arrival.mark) was acknowledged after its outcome was reported")
        }
    }

    static let observedBeforeSettled = Invariant(
        "observedBeforeSettled",
        "Observers receive each outcome once, before the adapter does."
    ) { history in
        history.arrivals.compactMap { arrival in
            guard let settled = arrival.settled.first else { return nil }
            let isRight = arrival.observed.count == 1 && arrival.observed[0].at < settled.at
            if isRight, arrival.observed[0].outcome == settled.outcome { return nil }
            return History.Anomaly(
                at: settled.at,
                text: "\(arrival.mark) was not observed once, before, with its outcome"
            )
        }
    }
}

extension Invariant {
    static let countsMatch = Invariant(
        "countsMatch",
        "Every report counts what the sinks received, by source; each rejected or failed arrival is one dead letter, duplicates apart."
    ) { history in
        history.reports.flatMap { ending -> [History.Anomaly] in
            var anomalies: [History.Anomaly] = []
            for source in history.scenario.sources {
                let counted = history.counts(of: source.index, before: ending.at)
                let reported = ending.report.sources[source.name] ?? OutcomeCounts()
                if counted == reported { continue }
                let text = "source s\(source.index): \(counted) expected in the report, \(reported) seen"
                anomalies.append(History.Anomaly(at: ending.at, text: text))
            }
            let letters = history.deadLetters(before: ending.at).count
            if letters != ending.report.deadLetters {
                let text = "\(letters) dead letters expected, \(ending.report.deadLetters) seen"
                anomalies.append(History.Anomaly(at: ending.at, text: text))
            }
            return anomalies
        }
    }

    static let reportIsAccurate = Invariant(
        "reportIsAccurate",
        "What every report says is inside, and which calls have not returned, is so."
    ) { history in
        history.reports.flatMap { ending -> [History.Anomaly] in
            var texts: [String] = []
            let inside = history.arrivals.filter { $0.taken < ending.at && !$0.isSettled(before: ending.at) }
            if ending.report.unsettled != inside.count {
                texts.append("\(inside.count) unsettled expected in the report, \(ending.report.unsettled) seen")
            }
            for source in history.scenario.sources {
                let own = inside.filter { $0.mark.source == source.index }
                let bytes = own.reduce(0) { $0 + history.length(of: $1) }
                let seen = ending.report.windows[source.name]
                if (seen?.arrivals ?? 0) != own.count || (seen?.bytes ?? 0) != bytes {
                    texts.append(
                        "s\(source.index): \(own.count) arrivals, \(bytes) bytes expected inside, not \(seen as Any)"
                    )
                }
            }
            let running = history.callsLeftRunning(at: ending.at)
            let seen = ending.report.callsStillRunning
            if running != seen { texts.append("calls running that were settled: \(running) expected, \(seen) seen") }
            let isAbandoned = history.arrivals.contains { $0.isAbandoned && $0.isSettled(before: ending.at) }
            if ending.report.isClean != (running.isEmpty && inside.isEmpty && !isAbandoned) {
                texts.append("isClean is \(ending.report.isClean), and should not be")
            }
            return texts.map { History.Anomaly(at: ending.at, text: $0) }
        }
    }

    static let deadLettersAreBounded = Invariant(
        "deadLettersAreBounded",
        "The latest dead letters are kept, no more of them and of their bytes than the limits say; the others are counted."
    ) { history in
        guard let quiet = history.quiet else { return [] }
        let limits = history.scenario.deadLetters
        var kept: [ArrivalHistory] = []
        var dropped = 0
        for letter in history.deadLetters(before: quiet.at) {
            guard history.length(of: letter) <= limits.bytes else {
                dropped += 1
                continue
            }
            kept.append(letter)
            while kept.count > limits.count || kept.reduce(0, { $0 + history.length(of: $1) }) > limits.bytes {
                kept.removeFirst()
                dropped += 1
            }
        }
        if history.letters == kept.map(\.message), quiet.report.deadLettersDropped == dropped { return [] }
        let text =
            "kept \(kept.map(\.message)) and \(dropped) dropped expected, \(history.letters) and "
            + "\(quiet.report.deadLettersDropped) seen"
        return [History.Anomaly(at: quiet.at, text: text)]
    }

    static let supervisorIsFreed = Invariant(
        "supervisorIsFreed",
        "When nobody uses the supervisor any more and every call has returned, it is freed, and its lanes with their tasks."
    ) { history in
        history.events.enumerated().compactMap { position, event in
            guard case .released(let isFreed, let held) = event, !isFreed || !held.isEmpty else { return nil }
            let what = isFreed ? "the plugins of the registrations \(held) are" : "the supervisor is"
            return History.Anomaly(at: position, text: "every call has returned, and \(what) still held")
        }
    }
}
