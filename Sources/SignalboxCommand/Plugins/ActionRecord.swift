import AppScheme
import MQTTPush
import SignalboxCore
import WebSocketChat

/// An action as the plugins of a configuration show it.
struct ActionRecord {
    private let body: RawBody
    private let context: ActionContext

    /// - Parameter body: as it came. A link has none: what its route captured is its body.
    init(body: RawBody, context: ActionContext) {
        self.context = context
        let isLink = context.origin.facts is LinkFacts
        self.body = isLink ? RawBody(bytes: context.action.body.json, kind: .json) : body
    }

    /// The body as text for a person.
    var shownBody: String { TerminalText.body(body) }

    /// One JSON object with a newline: `source`, `action`, `id`, `receivedAt`, the facts of a push, link or connection, `body`.
    var jsonLine: [UInt8] {
        let action = context.action
        var object = JSONObject()
        object.add("source", context.origin.source.text)
        object.add("action", action.name.text)
        object.add("id", action.id.text)
        object.add("receivedAt", WallTimeText.utc(action.receivedAt))
        switch context.origin.facts {
        case let push as PushFacts: object.add(push)
        case let link as LinkFacts: object.add(link)
        case let chat as ChatFacts: object.add(chat)
        default: break
        }
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
            shownBody,
        ]
        return Array((columns.joined(separator: "  ") + "\n").utf8)
    }
}
