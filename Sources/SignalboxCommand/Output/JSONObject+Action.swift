import AppScheme
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension JSONObject {
    /// The facts of a push that tell one message from another.
    mutating func add(_ facts: PushFacts) {
        add("topic", facts.topic)
        add("retained", facts.retained)
        add("qos", facts.qos)
        guard !facts.captures.isEmpty else { return }
        var captures = JSONObject()
        for capture in facts.captures { captures.add(capture.name, capture.value) }
        add("captures", json: captures.closed)
    }

    /// What is known about who made a link: `scheme`, and the `host` of a universal link.
    mutating func add(_ facts: LinkFacts) {
        if !facts.scheme.isEmpty { add("scheme", facts.scheme) }
        add("host", facts.universalHost)
    }

    /// Whom a message of a chat or feed came from: `peer`, and of a client `principal` and `clientOrigin`, where there are any.
    mutating func add(_ facts: ChatFacts) {
        add("peer", facts.peer)
        add("principal", facts.principal)
        add("clientOrigin", facts.origin?.description)
    }

    /// A body as the member `body`: JSON as it is, text as a string, other bytes as Base64 with `encoding` beside them;
    /// `null` when it is empty.
    mutating func add(_ body: RawBody) {
        if body.bytes.isEmpty {
            add("body", json: Array("null".utf8))
        } else if body.kind == .json {
            add("body", json: JSONText.compact(body.bytes))
        } else {
            add("body", content: body.bytes)
        }
    }
}
