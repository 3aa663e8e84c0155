import Signalbox
import SignalboxCore

/// The outcome of an arrival, formatted for output.
struct OutcomeLine {
    /// The settled arrival, retained as long as this value.
    let settled: SettledArrival

    /// A line of `run --outcomes`: `source`, `action`, `id` and the outcome. A push adds its topic, a link its scheme
    /// and host, and a chat or feed its peer and principal, where known. A dead letter adds the stages that it passed
    /// and the original message.
    var runLine: [UInt8] {
        var object = JSONObject()
        object.add("source", source)
        object.add("action", action?.name.text)
        object.add("id", action?.id.text)
        object.add(settled.arrival.origin.facts)
        object.add(settled.outcome)
        if let explanation = settled.explanation { object.add("explanation", explanation.steps) }
        switch settled.outcome {
        case .rejected, .failed: object.add("deadLetter", content: settled.arrival.original)
        case .handled, .abandoned: break
        }
        return object.line
    }

    /// A line of `bridge` and `send`: the sender's id if there is one, the body or the unreadable message, the outcome,
    /// and the reply. The same input always gives the same line.
    var recordLine: [UInt8] {
        var object = JSONObject()
        object.add("source", source)
        if let action {
            object.add("action", action.name.text)
            object.add("id", action.senderID)
            if let body = try? action.body.decode(RawBody.self) { object.add(body) }
        } else {
            object.add("original", content: settled.arrival.original)
        }
        object.add(settled.outcome)
        if case .handled(let reply?) = settled.outcome { object.add("reply", json: EscapedJSON.compact(reply)) }
        return object.line
    }

    /// The columns for a terminal: outcome, action, id, body, and the reply or the reason for its absence.
    var terminalLine: [UInt8] {
        let body = action.flatMap { try? $0.body.decode(RawBody.self) }
        let original = RawBody(bytes: settled.arrival.original, kind: .bytes)
        let columns = [
            TerminalText.column(settled.outcome.name, width: 9),
            TerminalText.column(action?.name.text ?? "(unreadable)", width: 16),
            TerminalText.column(action?.senderID ?? "", width: 8),
            TerminalText.column(TerminalText.body(body ?? original), width: 32),
            LineEscape.escaped(result),
        ]
        return TerminalText.line(columns)
    }

    private var source: String { settled.arrival.origin.source.text }

    private var action: Action? { try? settled.arrival.reading.get() }

    /// The reply, or the reason for its absence.
    private var result: String {
        guard case .handled(let reply) = settled.outcome else { return settled.outcome.text }
        return reply.map { "-> " + String(decoding: EscapedJSON.compact($0), as: UTF8.self) } ?? ""
    }
}

extension Action {
    /// The id that the sender gave the action, if any.
    var senderID: String? { idKey == .assigned ? nil : id.text }
}

extension JSONObject {
    /// Adds `outcome` and, unless the arrival was handled, `reason`, `detail` and the `path` of an error in the body.
    fileprivate mutating func add(_ outcome: Outcome) {
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
