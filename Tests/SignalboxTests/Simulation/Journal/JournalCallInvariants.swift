import Signalbox
import SignalboxCore

/// What is called, and when.
extension JournalInvariant {
    static let finishedIsNotCalled = JournalInvariant(
        "finishedIsNotCalled",
        "A message is not called once the end of its row or letter is on disk."
    ) { history in
        history.calls.flatMap { call in
            call.dispatches.compactMap { dispatch in
                let end: Int? =
                    switch dispatch.copy {
                    case .memory: nil
                    case .row(let row): history.rows[row]?.finished
                    case .letter(let letter): history.letters[letter]?.removed
                    }
                guard let end, end < call.from else { return nil }
                return History.Anomaly(at: call.at, text: "\(dispatch) is called although it has left the store")
            }
        }
    }

    static let onlyRowsAreCalled = JournalInvariant(
        "onlyRowsAreCalled",
        "A message of a source with a journal is called only after its row is on disk."
    ) { history in
        history.calls.flatMap { call in
            call.dispatches.compactMap { dispatch in
                switch dispatch.copy {
                case .memory(let mark) where history.sources[mark.source].journal == nil: return nil
                case .row(let row) where history.rows[row].map { $0.appended < call.at } ?? false: return nil
                case .letter: return nil
                default: return History.Anomaly(at: call.at, text: "\(dispatch) is called before it is on disk")
                }
            }
        }
    }

    static let rowsAreCalledInOrder = JournalInvariant(
        "rowsAreCalledInOrder",
        "In each run, the first calls for the rows of a source or key come in the order of the rows, unless a plugin gave one back."
    ) { history in
        var anomalies: [History.Anomaly] = []
        var seen: Set<[Int]> = []
        var latest: [[Int]: Int] = [:]
        for call in history.calls.sorted(by: { $0.from < $1.from }) {
            let plugin = history.registrations[call.registration]
            let run = history.run(at: call.at)
            for case .row(let row) in call.dispatches.map(\.copy) {
                guard plugin.order != .none, seen.insert([run, row]).inserted,
                    !history.wasAbandoned(row, in: run, before: call.from), let stored = history.rows[row]
                else { continue }
                let key = plugin.order == .key ? history.message(stored.message).key : 0
                let group = [run, plugin.action, stored.mark.source, key]
                if let before = latest[group], before > row {
                    let text = "row \(row) (m\(stored.message)) is called after row \(before)"
                    anomalies.append(History.Anomaly(at: call.at, text: text))
                }
                latest[group] = max(row, latest[group] ?? 0)
            }
        }
        return anomalies
    }

    static let redeliveredIsMarked = JournalInvariant(
        "redeliveredIsMarked",
        "`isRedelivered` is true exactly for rows of an earlier run, rows that were given back, and letters."
    ) { history in
        history.calls.flatMap { call -> [History.Anomaly] in
            let run = history.run(at: call.at)
            return call.dispatches.compactMap { dispatch in
                let expected: Bool
                switch dispatch.copy {
                case .memory: expected = false
                case .letter: expected = true
                case .row(let row):
                    let isEarlier = history.rows[row].map { history.run(at: $0.appended) < run } ?? false
                    expected = isEarlier || history.wasAbandoned(row, in: run, before: call.from)
                }
                guard dispatch.isRedelivered != expected else { return nil }
                return History.Anomaly(at: call.at, text: "\(dispatch): expected isRedelivered \(expected)")
            }
        }
    }

    static let journalLimitsHold = JournalInvariant(
        "journalLimitsHold",
        "A source has no more rows and bytes on disk than its limits. A message may exceed the bytes while a quarter is free."
    ) { history in
        var kept: [Int: (source: Int, bytes: Int)] = [:]
        var anomalies: [History.Anomaly] = []
        for (position, event) in history.events.enumerated() {
            guard case .journal(.synced(let changes)) = event else { continue }
            for change in changes {
                if case .finished(let row) = change { kept[row] = nil }
                guard case .appended(let row, let message, let mark) = change,
                    let limits = history.sources[mark.source].journal
                else { continue }
                let own = kept.values.filter { $0.source == mark.source }
                let (before, size) = (own.reduce(0) { $0 + $1.bytes }, history.message(message).text.utf8.count)
                kept[row] = (mark.source, size)
                let isFree = before <= limits.bytes - max(1, limits.bytes / 4)
                guard own.count >= limits.rows || before + size > limits.bytes && !isFree else { continue }
                let text = "row \(row) exceeds the journal of s\(mark.source): \(own.count) rows, \(before) bytes"
                anomalies.append(History.Anomaly(at: position, text: text))
            }
        }
        return anomalies
    }

    static let rememberedIsNotCalled = JournalInvariant(
        "rememberedIsNotCalled",
        "A message whose id is remembered on disk, and has not expired, is not called again."
    ) { history in
        history.calls.flatMap { call -> [History.Anomaly] in
            call.dispatches.compactMap { dispatch in
                let message = history.message(dispatch.message)
                guard let id = message.id, history.isRemembered(id, of: message.source, at: call.from) else {
                    return nil
                }
                return History.Anomaly(at: call.at, text: "\(dispatch) is called although its id is remembered")
            }
        }
    }
}

// MARK: - Crashes

extension JournalInvariant {
    static let poisonIsFound = JournalInvariant(
        "poisonIsFound",
        "The process dies at most twice during the calls for a row that is dispatched alone. Then the row is not called any more."
    ) { history in
        history.rows.flatMap { number, row -> [History.Anomaly] in
            var deaths = 0
            return history.runs.compactMap { run -> History.Anomaly? in
                guard let crashed = run.crashed,
                    let began = row.beganAlone.last(where: { run.from < $0 && $0 < crashed })
                else { return nil }
                if row.survivedAlone.contains(where: { run.from < $0 && $0 < crashed }) { deaths = 0 }
                let isAlone = !row.survivedAlone.contains { began < $0 && $0 < crashed }
                guard isAlone, history.dispatchOfDeath(in: run)?.copy == .row(number) else { return nil }
                deaths += 1
                guard deaths > 2 else { return nil }
                let text = "the process died \(deaths) times during row \(number) (m\(row.message)) alone"
                return History.Anomaly(at: crashed, text: text)
            }
        }
    }

    static let crashesHaveTheirCount = JournalInvariant(
        "crashesHaveTheirCount",
        "Only a row that was on disk at three crashes, and dispatched alone at two of them, becomes a letter with `crashedPlugin`."
    ) { history in
        history.rows.compactMap { number, row in
            guard row.letter == "crashedPlugin", let finished = row.finished else { return nil }
            let crashes = history.runs.filter { run in
                run.crashed.map { row.appended < $0 && $0 < finished } ?? false
            }
            let alone = history.runs.filter { run in
                // What begins alone when its run has ended is counted too, because nothing can take it back.
                let (start, end) = run.crashed.map { (run.from, $0) } ?? (run.ended ?? finished, run.until ?? finished)
                return row.beganAlone.contains { start < $0 && $0 < end }
            }
            guard crashes.count < 3 || alone.count < 2 else { return nil }
            let counts = "on disk at \(crashes.count) crashes, alone at \(alone.count)"
            return History.Anomaly(at: finished, text: "row \(number) (m\(row.message)) was \(counts)")
        }
    }
}

extension JournalHistory {
    /// Returns the message whose call ended the process in a run.
    fileprivate func dispatchOfDeath(in run: Run) -> JournalDispatch? {
        guard let crashed = run.crashed, run.poison != nil else { return nil }
        return calls.last { $0.at < crashed }?.dispatches.first
    }

    /// Returns whether a row was abandoned in a run before a position, and so is dispatched again.
    func wasAbandoned(_ row: Int, in run: Int, before position: Int) -> Bool {
        outcomes.contains {
            $0.at < position && $0.isAbandoned && $0.dispatch.copy == .row(row) && self.run(at: $0.at) == run
        }
    }

    /// Returns whether an id is remembered on disk with certainty.
    fileprivate func isRemembered(_ id: String, of source: Int, at position: Int) -> Bool {
        guard sources.indices.contains(source), let limits = sources[source].remembered else { return false }
        let messages = scenario.base.messages.filter { $0.source == source && $0.id != nil }
        // Which one of several messages with the id is remembered, and whether ids are forgotten for room, is not modelled here.
        guard messages.count(where: { $0.id == id }) == 1, messages.count <= limits.count, limits.bytes >= 1_000_000
        else { return false }
        // The expiry is rounded to ticks at each start.
        let margin = 2
        return remembered.contains {
            $0.at < position && $0.source == source && $0.id == id && ticks[position] + margin < $0.until
        }
    }
}
