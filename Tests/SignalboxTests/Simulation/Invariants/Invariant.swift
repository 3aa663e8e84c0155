import SignalboxCore

@testable import Signalbox

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
        outcomesAreReportedOnce, onlyTakenArrivalsAreReported, everyArrivalIsSettledWhenTheRunEnds,
        onlyDecidedArrivalsAreAcknowledged,
        observedBeforeSettled, countsMatch, reportIsAccurate, deadLettersAreBounded, supervisorIsFreed,
        onlyAllowedArrivalsAreCalled, settledArrivalsAreNotCalled, attemptsFollowTheRetryPolicy, outcomeHasItsCause,
        reentrantIsRefused,
        concurrencyLimitIsNotExceeded, oneCallPerSourceOrKey, orderIsPreserved, noArrivalWaitsWithoutCause,
        sourcesTakeTurns,
        stalledLaneIsUnavailable, replacementsWait, replacementsStart,
        windowIsNotExceeded, signalledRoomIsAvailable, roomIsSignalled, closedIntakesTakeNothing, removalEndsInTime,
        freeNamesCanBeAdded,
        duplicatesAreNotCalled, duplicatesHaveTheirOriginal, attemptsAreReported, rateLimitIsNotExceeded,
        overloadHasItsCause,
        breakerMatchesItsModel,
        timeoutIsEnforced, ackDeadlineIsEnforced, drainLimitIsEnforced,
    ]
}

extension Invariant {
    static let outcomesAreReportedOnce = Invariant(
        "outcomesAreReportedOnce",
        "The outcome of an arrival is reported once."
    ) { history in
        history.arrivals.compactMap { arrival in
            guard arrival.settled.count > 1 else { return nil }
            return History.Anomaly(at: arrival.settled[1].at, text: "\(arrival.mark) was settled more than once")
        }
    }

    static let onlyTakenArrivalsAreReported = Invariant(
        "onlyTakenArrivalsAreReported",
        "Only arrivals taken by `submit` are reported, and only after they were offered."
    ) { $0.anomalies }

    static let everyArrivalIsSettledWhenTheRunEnds = Invariant(
        "everyArrivalIsSettledWhenTheRunEnds",
        "When `run()` has returned, every arrival taken has an outcome."
    ) { history in
        guard let ended = history.ended else {
            return [History.Anomaly(at: history.events.count, text: "run() did not return")]
        }
        return history.arrivals.compactMap { arrival in
            guard !arrival.isSettled(before: ended.at) else { return nil }
            return History.Anomaly(at: ended.at, text: "\(arrival.mark) was taken but not settled when run() returned")
        }
    }

    static let onlyDecidedArrivalsAreAcknowledged = Invariant(
        "onlyDecidedArrivalsAreAcknowledged",
        """
        A decided arrival may be acknowledged once, before its outcome is reported. An abandoned arrival is never \
        acknowledged.
        """
    ) { history in
        history.arrivals.compactMap { arrival in
            let at = arrival.acknowledged.last ?? arrival.settled.first?.at ?? arrival.taken
            let expected = arrival.settled.isEmpty || arrival.isAbandoned ? 0 : 1
            guard arrival.acknowledged.count == expected else {
                let name = arrival.outcome?.name ?? "not settled"
                let count = arrival.acknowledged.count
                let text = "\(arrival.mark) is \(name): expected \(expected) acknowledgements, found \(count)"
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
                text: "\(arrival.mark) was not observed exactly once with its outcome before it was settled"
            )
        }
    }
}

extension Invariant {
    static let countsMatch = Invariant(
        "countsMatch",
        "Every report counts the outcomes of the sinks by source. Each rejected or failed arrival is one dead letter, except duplicates."
    ) { history in
        history.reports.flatMap { ending -> [History.Anomaly] in
            var anomalies: [History.Anomaly] = []
            for source in history.scenario.sources {
                let counted = history.counts(of: source.index, before: ending.at)
                let reported = ending.report.sources[source.name] ?? OutcomeCounts()
                if counted == reported { continue }
                let text = "source s\(source.index): expected \(counted) in the report, found \(reported)"
                anomalies.append(History.Anomaly(at: ending.at, text: text))
            }
            let letters = history.deadLetters(before: ending.at).count
            if letters != ending.report.deadLetters {
                let text = "expected \(letters) dead letters, found \(ending.report.deadLetters)"
                anomalies.append(History.Anomaly(at: ending.at, text: text))
            }
            return anomalies
        }
    }

    static let reportIsAccurate = Invariant(
        "reportIsAccurate",
        "Every report has the correct unsettled arrivals and the correct running calls."
    ) { history in
        history.reports.flatMap { ending -> [History.Anomaly] in
            var texts: [String] = []
            let inside = history.arrivals.filter { $0.taken < ending.at && !$0.isSettled(before: ending.at) }
            if ending.report.unsettled != inside.count {
                texts.append(
                    "expected \(inside.count) unsettled arrivals in the report, found \(ending.report.unsettled)"
                )
            }
            for source in history.scenario.sources {
                let own = inside.filter { $0.mark.source == source.index }
                let bytes = own.reduce(0) { $0 + history.length(of: $1) }
                let seen = ending.report.windows[source.name]
                if (seen?.arrivals ?? 0) != own.count || (seen?.bytes ?? 0) != bytes {
                    texts.append(
                        "s\(source.index): expected \(own.count) arrivals and \(bytes) bytes, found \(seen as Any)"
                    )
                }
            }
            let running = history.callsLeftRunning(at: ending.at)
            let seen = ending.report.callsStillRunning
            if running != seen { texts.append("expected running calls \(running), found \(seen)") }
            let isAbandoned = history.arrivals.contains { $0.isAbandoned && $0.isSettled(before: ending.at) }
            if ending.report.isClean != (running.isEmpty && inside.isEmpty && !isAbandoned) {
                texts.append("isClean is \(ending.report.isClean), expected \(!ending.report.isClean)")
            }
            return texts.map { History.Anomaly(at: ending.at, text: $0) }
        }
    }

    static let deadLettersAreBounded = Invariant(
        "deadLettersAreBounded",
        "The latest dead letters are stored within the limits of count and bytes. Dropped ones are counted."
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
            "expected \(kept.map(\.message)) stored and \(dropped) dropped, found \(history.letters) and "
            + "\(quiet.report.deadLettersDropped)"
        return [History.Anomaly(at: quiet.at, text: text)]
    }

    static let supervisorIsFreed = Invariant(
        "supervisorIsFreed",
        "After its last use and the return of every call, the supervisor is deallocated with its lanes and tasks."
    ) { history in
        history.events.enumerated().compactMap { position, event in
            guard case .released(let isFreed, let held) = event, !isFreed || !held.isEmpty else { return nil }
            let what = isFreed ? "the plugins of the registrations \(held) are" : "the supervisor is"
            return History.Anomaly(at: position, text: "every call has returned, but \(what) still retained")
        }
    }
}
