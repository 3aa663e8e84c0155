import MQTTPush
import SignalboxCore

/// An action as the plugins of a configuration show it.
struct ActionRecord {
    let body: RawBody
    let context: ActionContext

    /// One JSON object with a newline: `source`, `action`, `id`, `receivedAt`, the facts of a push, `body`.
    var jsonLine: [UInt8] {
        let action = context.action
        var object = JSONObject()
        object.add("source", context.origin.source.text)
        object.add("action", action.name.text)
        object.add("id", action.id.text)
        object.add("receivedAt", WallTimeText.utc(action.receivedAt))
        if let push = context.origin.facts as? PushFacts { object.add(push) }
        object.add(body)
        return object.line
    }

    /// Columns for a terminal: time of day, source, action, id, body.
    var terminalLine: [UInt8] {
        let action = context.action
        let time = WallTimeText.utc(action.receivedAt).dropFirst(11)
        let columns = [
            TerminalText.column(String(time), width: 13),
            TerminalText.column(context.origin.source.text, width: 10),
            TerminalText.column(action.name.text, width: 16),
            TerminalText.column(action.id.text, width: 20),
            TerminalText.body(body),
        ]
        return Array((columns.joined(separator: "  ") + "\n").utf8)
    }
}
