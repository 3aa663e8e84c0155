import Signalbox
import SignalboxCore

/// A property of several runs with one store, whatever plugins and sources do and whenever the process dies.
struct JournalInvariant: Sendable {
    let name: String
    /// The property in words.
    let promise: String
    /// Returns the positions at which the property does not hold, and the expectation.
    let check: @Sendable (JournalHistory) -> [History.Anomaly]

    init(_ name: String, _ promise: String, _ check: @escaping @Sendable (JournalHistory) -> [History.Anomaly]) {
        self.name = name
        self.promise = promise
        self.check = check
    }

    static let all = [
        acknowledgedIsStored, acknowledgedIsNotLost, rowsLeaveWithTheirOutcome, lettersLeaveWhenHandled,
        takenIsAnsweredOnce, nothingIsLeft,
        finishedIsNotCalled, rowsAreCalledInOrder, redeliveredIsMarked, onlyRowsAreCalled, journalLimitsHold,
        rememberedIsNotCalled, poisonIsFound, crashesHaveTheirCount,
    ]
}

// MARK: - Nothing is lost

extension JournalInvariant {
    static let acknowledgedIsStored = JournalInvariant(
        "acknowledgedIsStored",
        "An arrival is acknowledged only after its row is on disk or, without a journal, after it was handled or its letter is on disk."
    ) { history in
        let rows = Dictionary(history.rows.values.map { ($0.mark, $0.appended) }, uniquingKeysWith: min)
        return history.taken.flatMap { mark, taken in
            taken.acknowledged.compactMap { at in
                let isStored =
                    history.sources[mark.source].journal != nil
                    ? rows[mark].map { $0 < at } ?? false
                    : history.isHandled(taken.message, before: at) || history.hasLetter(taken.message, at: at)
                if isStored { return nil }
                return History.Anomaly(at: at, text: "\(mark) (m\(taken.message)) is acknowledged but not on disk")
            }
        }
    }

    static let acknowledgedIsNotLost = JournalInvariant(
        "acknowledgedIsNotLost",
        "In the end, each acknowledged message was handled or is a dead letter."
    ) { history in
        let letters = Set(history.left?.letters ?? [])
        return history.taken.compactMap { mark, taken in
            guard let at = taken.acknowledged.first, !letters.contains(taken.message),
                !history.isHandled(taken.message, before: history.events.count)
            else { return nil }
            return History.Anomaly(at: at, text: "\(mark) (m\(taken.message)) was acknowledged and is lost")
        }
    }

    static let rowsLeaveWithTheirOutcome = JournalInvariant(
        "rowsLeaveWithTheirOutcome",
        "A row leaves the journal only after its message was handled, or together with its letter."
    ) { history in
        history.rows.compactMap { number, row in
            guard let finished = row.finished, row.letter == nil else { return nil }
            let own = history.outcomes.last { $0.at < finished && $0.dispatch.copy == .row(number) }
            // The duplicate of a message that failed has no letter, because the letter of the first one keeps the message.
            let isFirstKept = own?.isDuplicate ?? false && history.hasLetter(row.message, at: finished)
            if own?.isHandled ?? false || isFirstKept { return nil }
            let text = "row \(number) (m\(row.message)) left the journal without a cause"
            return History.Anomaly(at: finished, text: text)
        }
    }

    static let lettersLeaveWhenHandled = JournalInvariant(
        "lettersLeaveWhenHandled",
        "A dead letter leaves the store only after its message was handled."
    ) { history in
        history.letters.compactMap { number, letter in
            guard let removed = letter.removed, !history.isHandled(letter.message, before: removed) else { return nil }
            let text = "letter \(number) (m\(letter.message)) was removed without a cause"
            return History.Anomaly(at: removed, text: text)
        }
    }

    static let takenIsAnsweredOnce = JournalInvariant(
        "takenIsAnsweredOnce",
        "Each arrival taken is acknowledged and settled at most once and, if the process lives, settled when `run()` returns."
    ) { history in
        history.taken.compactMap { mark, taken in
            if taken.settled.count > 1 {
                return History.Anomaly(at: taken.settled[1], text: "\(mark) was settled more than once")
            }
            if taken.acknowledged.count > 1 {
                return History.Anomaly(at: taken.acknowledged[1], text: "\(mark) was acknowledged more than once")
            }
            if let settled = taken.settled.first, let acknowledged = taken.acknowledged.first, acknowledged > settled {
                return History.Anomaly(at: acknowledged, text: "\(mark) was acknowledged after it was settled")
            }
            guard let ended = history.runs[history.run(at: taken.at)].ended,
                taken.settled.first.map({ $0 > ended }) ?? true
            else { return nil }
            return History.Anomaly(at: ended, text: "\(mark) was not settled when run() returned")
        }
    }

    static let nothingIsLeft = JournalInvariant(
        "nothingIsLeft",
        "In the end the journals are empty, and after each run in which the process lives no task and no supervisor is left."
    ) { history in
        var anomalies = history.runs.indices.compactMap { number -> History.Anomaly? in
            let run = history.runs[number]
            guard run.crashed == nil, !run.isLost, run.isFreed != true else { return nil }
            return History.Anomaly(at: run.ended ?? run.from, text: "the supervisor of run \(number) is still retained")
        }
        if history.left?.rows != [] {
            let rows = (history.left?.rows ?? []).map { "m\($0)" }
            anomalies.append(
                History.Anomaly(at: history.events.count - 1, text: "the journal is not empty: \(rows)")
            )
        }
        return anomalies
    }
}
