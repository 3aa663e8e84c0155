import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// A message as `subscribe` shows it.
struct MessageRecord {
    let payload: Bytes
    let context: ActionContext
    let patterns: [TopicPattern]

    /// One JSON object with a newline.
    var jsonLine: [UInt8] {
        var object = JSONObject()
        let push = context.origin.facts as? PushFacts
        object.add("topic", push?.topic)
        if let json = JSONPayload.compact(payload, origin: context.origin, limits: SubscribeRequest.limits) {
            object.add("payload", json: json)
        } else {
            object.add("payload", content: payload)
        }
        object.add("retained", push?.retained ?? false)
        object.add("qos", push?.qos ?? 0)
        object.add("receivedAt", WallTimeText.utc(context.action.receivedAt))
        if let captures { object.add("captures", json: captures) }
        return object.line
    }

    /// Time of day, topic, payload.
    var terminalLine: [UInt8] {
        let time = WallTimeText.utc(context.action.receivedAt).dropFirst(11)
        let topic = (context.origin.facts as? PushFacts)?.topic ?? ""
        let shown =
            JSONPayload.compact(payload, origin: context.origin, limits: SubscribeRequest.limits).map {
                String(decoding: $0, as: UTF8.self)
            }
            ?? payload.text.map(LineEscape.escaped) ?? "(\(payload.count) bytes)"
        let columns = [TerminalText.column(String(time), width: 13), TerminalText.column(topic, width: 32), shown]
        return Array((columns.joined(separator: "  ") + "\n").utf8)
    }

    /// What the first pattern that matches named in the topic, as a JSON object.
    private var captures: [UInt8]? {
        guard let topic = (context.origin.facts as? PushFacts)?.topic,
            let found = patterns.lazy.compactMap({ $0.match(topic) }).first, !found.isEmpty
        else { return nil }
        var object = JSONObject()
        for capture in found { object.add(capture.name, capture.value) }
        return object.closed
    }
}
