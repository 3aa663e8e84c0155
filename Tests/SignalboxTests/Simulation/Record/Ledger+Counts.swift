import Signalbox
import SignalboxCore

extension Ledger {
    func length(of passage: Passage) -> Int { message(of: passage).text.utf8.count }

    /// What became a dead letter, in that order.
    func deadLetters(before position: Int) -> [Passage] {
        let letters = passages.filter { $0.isSettled(before: position) && isDeadLetter($0) }
        return letters.sorted { ($0.observed.first?.at ?? 0) < ($1.observed.first?.at ?? 0) }
    }

    private func isDeadLetter(_ passage: Passage) -> Bool {
        guard !passage.isRepeat else { return false }
        return switch passage.outcome {
        case .rejected, .failed: true
        default: false
        }
    }

    /// The calls that are running although their arrivals are settled, as `source/action`, sorted.
    func callsLeftRunning(at position: Int) -> [String] {
        let left = passages.filter { passage in
            passage.isSettled(before: position) && attempts(of: passage).contains { $0.isRunning(at: position) }
        }
        // A call of a batch plugin is for several.
        var calls: Set<Int> = []
        let counted = left.filter { passage in
            guard let call = passage.calls.last, plugin(of: self.calls[call]).kind == .batch else { return true }
            return calls.insert(call).inserted
        }
        return counted.map { "\(source(of: $0).name)/p\(message(of: $0).action)" }.sorted()
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
            if passage.isRepeat { counts.repeats += 1 }
            if isLate(passage, position) || isLateInBatch(passage, position) { counts.lateReturns += 1 }
        }
        return counts
    }

    private func isLate(_ passage: Passage, _ position: Int) -> Bool {
        attempts(of: passage).contains { attempt in
            attempt.ended.map { $0 < position && passage.isSettled(before: $0) } ?? false
        }
    }

    /// What a batch plugin's call left out is counted with it.
    private func isLateInBatch(_ passage: Passage, _ position: Int) -> Bool {
        guard passage.calls.isEmpty, let settled = passage.settled.first, passage.failure != nil || passage.isAbandoned
        else { return false }
        guard !passage.isRepeat, isLeftOutOfBatches(passage) else { return false }
        return calls.contains { call in
            guard plugin(of: call).kind == .batch, plugin(of: call).action == message(of: passage).action else {
                return false
            }
            let others = call.marks.compactMap { self.passage($0) }
            guard others.contains(where: { $0.taken == passage.taken }) else { return false }
            return call.isRunning(at: settled.at) && call.ended.map { $0 < position } ?? false
        }
    }
}
