import Signalbox
import SignalboxCore

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
