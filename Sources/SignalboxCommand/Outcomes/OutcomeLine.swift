import Signalbox
import SignalboxCore

/// Formats the outcome of an arrival for output.
struct OutcomeLine {
    /// The settled arrival, which stays retained while this value exists.
    let settled: SettledArrival

    /// The line for `run --outcomes`. It contains `source`, `action`, `id` and the outcome. In addition, where they are
    /// known:
    ///
    /// - A push has its topic.
    /// - A link has its scheme and host.
    /// - A chat or feed has its peer and principal.
    /// - A message with items that cannot be read has their number.
    /// - A duplicate and a message that may have been dispatched before say so.
    /// - A dead letter has the stages that it passed and the original message.
    var runLine: [UInt8] {
        var object = JSONObject()
        object.add("source", source)
        object.add("action", action?.name.text)
        object.add("id", action?.id.text)
        object.add(settled.arrival.origin.facts)
        object.add(unreadableItems: settled.arrival.unreadableItems)
        object.add(settled.outcome)
        // The names of `HistoryLine`.
        if settled.isDuplicate { object.add("isDuplicate", true) }
        if settled.arrival.isRedelivered { object.add("isRedelivered", true) }
        if let explanation = settled.explanation { object.add("explanation", explanation.steps) }
        switch settled.outcome {
        case .rejected, .failed: object.add("deadLetter", content: settled.arrival.original)
        case .handled, .abandoned: break
        }
        return object.line
    }

    /// The line for `bridge` and `send`. It contains the sender's id if there is one, the body or the unreadable
    /// message, the outcome, and the reply. The same input always produces the same line.
    var recordLine: [UInt8] { OutcomeLine.recordLine(of: settled.arrival, settled.outcome) }

    /// Returns the line for an arrival with an outcome.
    static func recordLine(of arrival: Arrival, _ outcome: Outcome) -> [UInt8] {
        var object = JSONObject()
        object.add("source", arrival.origin.source.text)
        if let action = try? arrival.reading.get() {
            object.add("action", action.name.text)
            object.add("id", action.senderID)
            if let body = try? action.body.decode(RawBody.self) { object.add(body) }
        } else {
            object.add("original", content: arrival.original)
        }
        object.add(outcome)
        if case .handled(let reply?) = outcome { object.add("reply", json: EscapedJSON.compact(reply)) }
        return object.line
    }

    /// The outcome as columns for a terminal: the outcome, the action, the id, the body, and the reply or the reason
    /// why there was no reply.
    var terminalLine: [UInt8] {
        let body = action.flatMap { try? $0.body.decode(RawBody.self) }
        let original = RawBody(bytes: settled.arrival.original, kind: .bytes)
        let columns = [
            TerminalText.column(settled.outcome.name, width: 9, color: TerminalColor(settled.outcome)),
            TerminalText.column(action?.name.text ?? "(unreadable)", width: 16),
            TerminalText.column(action?.senderID ?? "", width: 8),
            TerminalText.column(TerminalText.body(body ?? original), width: 32),
            LineEscape.escaped(result),
        ]
        return TerminalText.line(columns)
    }

    private var source: String { settled.arrival.origin.source.text }

    private var action: Action? { try? settled.arrival.reading.get() }

    /// The reply, or the reason why there was no reply.
    private var result: String {
        guard case .handled(let reply) = settled.outcome else { return settled.outcome.text }
        return reply.map { "-> " + String(decoding: EscapedJSON.compact($0), as: UTF8.self) } ?? ""
    }
}

extension Action {
    /// The id that the sender gave the action, or `nil` if the sender gave none.
    var senderID: String? { idKey == .assigned ? nil : id.text }
}

extension JSONObject {
    /// Adds `outcome`. If the arrival was not handled, this method also adds `reason` and `detail`. If the body has an
    /// error, it adds the `path` of the error too.
    mutating func add(_ outcome: Outcome) {
        add("outcome", outcome.name)
        if !outcome.isHandled { add("reason", outcome.code) }
        switch outcome {
        case .handled: break
        case .rejected(let rejection):
            add("detail", rejection.detail)
            if let path = rejection.bodyError?.path, !path.isEmpty { add("path", path) }
        case .failed(let failure): add("detail", failure.detail)
        case .abandoned(let abandonment): if !abandonment.detail.isEmpty { add("detail", abandonment.detail) }
        }
    }
}
