import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension RawBody {
    /// Creates a body from a payload whose kind is not known, for output. A payload that is valid JSON becomes a JSON
    /// body. Any other payload becomes text or bytes.
    ///
    /// - Parameter limits: The JSON limits. A payload that exceeds them becomes text or bytes.
    init(recognizing payload: Bytes, limits: MessageLimits = MessageLimits()) {
        let isJSON = !payload.isEmpty && (try? Body(json: payload, limits: limits)) != nil
        self.init(bytes: payload, kind: isJSON ? .json : .bytes)
    }
}

/// Formats a message for the output of `subscribe` and `connect`.
struct MessageRecord {
    private let payload: RawBody
    private let context: ActionContext
    private let patterns: [TopicPattern]
    private let isBinary: Bool

    /// - Parameter patterns: The patterns whose topic captures are shown.
    init(_ body: RawBody, _ context: ActionContext, patterns: [TopicPattern], limits: MessageLimits) {
        self.context = context
        self.patterns = patterns
        // A WebSocket message says whether it is text or bytes, but a message with a topic does not.
        isBinary = body.kind == .bytes && !(context.origin.facts is PushFacts)
        payload = isBinary ? body : RawBody(recognizing: body.bytes, limits: limits)
    }

    /// Returns the output for the message.
    func bytes(_ form: MessageForm, isTerminal: Bool) throws(PayloadNotJSON) -> [UInt8] {
        let bytes = try form.bytes(
            for: TemplateMessage(payload, context.origin.facts as? PushFacts, receivedAt: context.action.receivedAt),
            isTerminal: isTerminal
        )
        return bytes ?? (isTerminal ? terminalLine : jsonLine)
    }

    /// The client that sent the message to a server, or `nil` if the source is none.
    private var client: (facts: ChatFacts, id: String)? {
        guard let facts = context.origin.facts as? ChatFacts, facts.role == .server else { return nil }
        return context.chat.map { (facts, $0.id) }
    }

    /// The message as one JSON object followed by a newline. The members are `topic`, `payload`, `payloadKind`,
    /// `encoding`, `retained`, `qos`, the MQTT 5 properties, `binary`, `peer` and `connection` of a client, `receivedAt` and `captures`.
    private var jsonLine: [UInt8] {
        let push = context.origin.facts as? PushFacts
        var object = JSONObject()
        object.add("topic", push?.topic)
        object.add(payload: payload)
        if let push {
            object.add("retained", push.retained)
            object.add("qos", push.qos)
            if let properties = push.properties { object.add(properties) }
        }
        if isBinary { object.add("binary", true) }
        if let client {
            object.add("peer", client.facts.peer)
            object.add("connection", client.id)
        }
        object.add("receivedAt", WallTimeText.utc(context.action.receivedAt))
        if let captures = push.flatMap({ push in patterns.lazy.compactMap { $0.match(push.topic) }.first }) {
            object.add("captures", captures)
        }
        return object.line
    }

    /// The message as columns for a terminal: the time of day, the topic or `<` with the client's connection, `(retained)` if the broker had stored
    /// the message, and the payload.
    private var terminalLine: [UInt8] {
        let push = context.origin.facts as? PushFacts
        let topic = push.map { TerminalText.column($0.topic, width: 32) } ?? client.map { "< \($0.id)" } ?? "<"
        let retained = push?.retained == true ? ["(retained)"] : []
        let shown = isBinary ? TerminalText.binary(payload.bytes) : TerminalText.body(payload)
        return TerminalText.line(
            [TerminalText.column(WallTimeText.time(context.action.receivedAt), width: 13), topic] + retained + [shown]
        )
    }
}
