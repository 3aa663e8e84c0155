import Signalbox
import SignalboxCore

extension Invariant {
    /// The report counts what the sinks were told, by source; each rejected or failed arrival is one dead letter, repeats
    /// apart.
    static let countsMatch = Invariant(name: "countsMatch") { ledger in
        [ledger.ended, ledger.quiet].compactMap { $0 }.flatMap { ending -> [Ledger.Fault] in
            var faults: [Ledger.Fault] = []
            for source in ledger.scenario.sources {
                let counted = ledger.counts(of: source.index, before: ending.at)
                let told = ending.report.sources[source.name] ?? OutcomeCounts()
                if counted == told { continue }
                let text = "source s\(source.index): \(counted) expected in the report, \(told) seen"
                faults.append(Ledger.Fault(at: ending.at, text: text))
            }
            let letters = ledger.passages.filter { $0.isSettled(before: ending.at) && ledger.isDeadLetter($0) }.count
            if letters != ending.report.deadLetters {
                let text = "\(letters) dead letters expected, \(ending.report.deadLetters) seen"
                faults.append(Ledger.Fault(at: ending.at, text: text))
            }
            return faults
        }
    }

    /// What the report says when `run()` returns is so: what is inside, which calls have not returned.
    static let reportTellsTheTruth = Invariant(name: "reportTellsTheTruth") { ledger in
        guard let ended = ledger.ended else { return [] }
        var faults: [Ledger.Fault] = []
        let unsettled = ledger.passages.filter { $0.taken < ended.at && !$0.isSettled(before: ended.at) }.count
        if ended.report.unsettled != unsettled {
            let text = "\(unsettled) unsettled expected in the report, \(ended.report.unsettled) seen"
            faults.append(Ledger.Fault(at: ended.at, text: text))
        }
        let isRunning = ledger.passages.contains { passage in
            ledger.attempts(of: passage).contains { $0.isRunning(at: ended.at) }
        }
        if isRunning == ended.report.callsStillRunning.isEmpty {
            let text = isRunning ? "a call has not returned" : "every call has returned"
            let seen = ended.report.callsStillRunning
            faults.append(Ledger.Fault(at: ended.at, text: "\(text), and the report says that running are \(seen)"))
        }
        let isClean = !isRunning && unsettled == 0 && !ledger.passages.contains { $0.isAbandoned }
        if ended.report.isClean != isClean {
            faults.append(Ledger.Fault(at: ended.at, text: "isClean is \(ended.report.isClean), and should not be"))
        }
        return faults
    }

    /// When nobody uses the supervisor any more and every call has returned, it is freed.
    static let supervisorIsFreed = Invariant(name: "supervisorIsFreed") { ledger in
        ledger.events.enumerated().compactMap { position, event in
            guard event == .released(false) else { return nil }
            return Ledger.Fault(at: position, text: "every call has returned, and the supervisor is still held")
        }
    }
}

extension Ledger {
    /// What a batch plugin's call left out is counted with it.
    private func isLateInBatch(_ passage: Passage, _ position: Int) -> Bool {
        guard passage.calls.isEmpty, let settled = passage.settled.first, passage.failure != nil || passage.isAbandoned
        else { return false }
        guard isLeftOutOfBatches(passage) else { return false }
        return calls.contains { call in
            guard plugin(of: call).kind == .batch, plugin(of: call).action == message(of: passage).action else {
                return false
            }
            let others = call.marks.compactMap { self.passage($0) }
            guard others.contains(where: { $0.taken == passage.taken }) else { return false }
            return call.isRunning(at: settled.at) && call.ended.map { $0 < position } ?? false
        }
    }

    func isDeadLetter(_ passage: Passage) -> Bool {
        guard !passage.isRepeat else { return false }
        return switch passage.outcome {
        case .rejected, .failed: true
        default: false
        }
    }

    func counts(of source: Int, before position: Int) -> OutcomeCounts {
        var counts = OutcomeCounts()
        for passage in passages where passage.mark.source == source && passage.isSettled(before: position) {
            switch passage.outcome {
            case .handled?: counts.handled += 1
            case .rejected?: counts.rejected += 1
            case .failed?: counts.failed += 1
            case .abandoned?: counts.abandoned += 1
            case nil: break
            }
            let isLate = attempts(of: passage).contains { attempt in
                attempt.ended.map { $0 < position && passage.isSettled(before: $0) } ?? false
            }
            if passage.isRepeat { counts.repeats += 1 }
            if isLate || isLateInBatch(passage, position) { counts.lateReturns += 1 }
        }
        return counts
    }
}
