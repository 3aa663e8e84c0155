import SignalboxCore
import SignalboxStore

/// Formats a dead letter of a store for output.
struct LetterLine {
    let entry: DeadLetterEntry

    /// The line of `dead list`. Its members are `number`, `lastAt`, `source`, `action` if the message could be read, `reason`,
    /// `detail`, `attempts` and `failures`, and `isToBeReplayed` for a letter that is.
    var listLine: [UInt8] {
        var object = JSONObject()
        object.add("number", Int(entry.number))
        object.add("lastAt", WallTimeText.utc(entry.lastAt))
        object.add("source", message.source.text)
        object.add("action", message.action?.text)
        object.add("reason", letter.reason)
        object.add("detail", letter.detail)
        object.add("attempts", letter.attempts)
        object.add("failures", entry.failures)
        if entry.isToBeReplayed { object.add("isToBeReplayed", true) }
        return object.line
    }

    /// The same as columns for a terminal.
    var listColumns: [UInt8] {
        let counts = "\(plural(letter.attempts, "attempt")), \(plural(entry.failures, "failure"))"
        return TerminalText.line([
            TerminalText.column("\(entry.number)", width: 6),
            TerminalText.column(WallTimeText.utc(entry.lastAt), width: 24),
            TerminalText.column(message.source.text, width: 10),
            TerminalText.column(message.action?.text ?? "(unreadable)", width: 16),
            TerminalText.column(letter.reason, width: 16, color: .red),
            TerminalText.column(counts + (entry.isToBeReplayed ? ", to be replayed" : ""), width: 24),
            LineEscape.escaped(letter.detail),
        ])
    }

    /// The line of `dead show`: everything that the store has about the letter. The original message is text, or Base64 with
    /// `"originalEncoding":"base64"`.
    var wholeLine: [UInt8] {
        var object = JSONObject()
        object.add("number", Int(entry.number))
        addFacts(to: &object, time: WallTimeText.utc)
        object.add("explanation", objects: steps) { step, object in
            object.add("stage", step.stage)
            object.add("passes", step.passes)
            object.add("detail", step.detail)
        }
        object.add("original", content: message.original)
        if entry.isToBeReplayed { object.add("isToBeReplayed", true) }
        return object.line
    }

    /// The line of `dead export`: everything but the number, from which ``ImportedLetter`` reads the letter again.
    var exportLine: [UInt8] {
        var object = JSONObject()
        addFacts(to: &object, time: WallTimeText.exact)
        object.add("hasSenderID", message.hasSenderID)
        object.add("explanation", json: EscapedJSON.compact(letter.explanation))
        object.add("original", content: message.original)
        return object.line
    }

    private func addFacts(to object: inout JSONObject, time: (WallTime) -> String) {
        object.add("source", message.source.text)
        object.add("factsKind", message.factsKind)
        object.add("facts", json: EscapedJSON.compact(message.facts))
        object.add("envelope", message.envelope.description)
        object.add("action", message.action?.text)
        object.add("id", message.id?.text)
        object.add("payloadKind", message.payload.rawValue)
        object.add("outcome", letter.outcome)
        object.add("reason", letter.reason)
        object.add("detail", letter.detail)
        object.add("path", letter.path)
        object.add("plugin", letter.plugin?.text)
        object.add("attempts", letter.attempts)
        object.add("failures", entry.failures)
        object.add("receivedAt", time(message.receivedAt))
        object.add("expiresAt", message.expiresAt.map(time))
        object.add("firstAt", time(entry.firstAt))
        object.add("lastAt", time(entry.lastAt))
    }

    /// The lines of `dead show` for a terminal: one for each fact, then the stages, marked `ok` or `no`, and the message.
    var wholeColumns: [UInt8] {
        var lines: [UInt8] = []
        func add(_ name: String, _ text: String?, passes: Bool? = nil) {
            guard let text else { return }
            let mark = passes.map { $0 ? "ok" : "no" } ?? ""
            lines += TerminalText.line([
                TerminalText.column(mark, width: 2, color: passes.map { $0 ? .green : .red }),
                TerminalText.column(name, width: 14), LineEscape.escaped(text),
            ])
        }
        add("number", "\(entry.number)\(entry.isToBeReplayed ? ", to be replayed" : "")")
        add("source", message.source.text)
        add("facts", String(decoding: EscapedJSON.compact(message.facts), as: UTF8.self))
        add("envelope", message.envelope.description)
        add("action", message.action?.text)
        add("id", message.id?.text)
        add("outcome", "\(letter.outcome): \(letter.reason): \(letter.detail)")
        add("path", letter.path)
        add("plugin", letter.plugin?.text)
        add("failures", "\(entry.failures), with \(plural(letter.attempts, "attempt")) in all")
        add("received", WallTimeText.utc(message.receivedAt))
        add("expires", message.expiresAt.map(WallTimeText.utc))
        add("first failure", WallTimeText.utc(entry.firstAt))
        add("last failure", WallTimeText.utc(entry.lastAt))
        for step in steps { add(step.stage, step.detail, passes: step.passes) }
        add("message", TerminalText.body(RawBody(recognizing: message.original)))
        return lines
    }

    private var letter: StoredDeadLetter { entry.letter }
    private var message: StoredMessage { entry.letter.message }

    /// The stages that the message passed, and the one that stopped it.
    var steps: [Step] { (try? Body(json: letter.explanation).decode([Step].self)) ?? [] }

    struct Step: Decodable {
        let stage: String
        let passes: Bool
        let detail: String
    }

    private func plural(_ count: Int, _ word: String) -> String { "\(count) \(word)\(count == 1 ? "" : "s")" }
}
