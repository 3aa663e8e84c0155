import AppScheme
import HTTPActions
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension JSONObject {
    /// Adds bytes as text if they are valid UTF-8. Otherwise, adds them as Base64 together with a member `encoding`.
    mutating func add(_ name: String, content: Bytes) {
        if let text = content.text {
            add(name, text)
        } else {
            add(name, Base64.encoded(content))
            add(name == "payload" || name == "body" ? "encoding" : "\(name)Encoding", "base64")
        }
    }

    /// Adds captures as an object whose members are the names of the captures. Adds nothing if there are no captures.
    mutating func add(_ name: String, _ captures: RouteCaptures) {
        guard !captures.isEmpty else { return }
        add(name) { object in
            for capture in captures { object.add(capture.name, capture.value) }
        }
    }

    /// Adds the facts about where a message came from:
    ///
    /// - For a push, `topic`.
    /// - For a link, `scheme`; for a universal link, also `host`.
    /// - For a chat, a feed or an HTTP request, `peer`; for a client, also `principal` and `clientOrigin` if they are known.
    mutating func add(_ facts: (any OriginFacts)?) {
        switch facts {
        case let push as PushFacts: add("topic", push.topic)
        case let link as LinkFacts:
            if !link.scheme.isEmpty { add("scheme", link.scheme) }
            add("host", link.universalHost)
        case let chat as ChatFacts:
            add("peer", chat.peer)
            add("principal", chat.principal)
            add("clientOrigin", chat.origin?.description)
        case let request as HTTPActionFacts:
            add("peer", request.peer)
            add("principal", request.principal)
            add("clientOrigin", request.origin?.description)
        default: break
        }
    }

    /// Adds the MQTT 5 properties that a message has: `contentType`, `responseTopic`, `correlationData`, `userProperties`
    /// (a list, because names may repeat), `payloadFormat`, `messageExpiry` in seconds, and `propertiesTruncated`.
    mutating func add(_ properties: PushProperties) {
        add("contentType", properties.contentType)
        add("responseTopic", properties.responseTopic)
        if let data = properties.correlationData { add("correlationData", content: Bytes(data)) }
        if !properties.userProperties.isEmpty {
            add("userProperties", objects: properties.userProperties) { property, object in
                object.add("name", property.name)
                object.add("value", property.value)
            }
        }
        if let format = properties.payloadFormat { add("payloadFormat", Int(format)) }
        if let expiry = properties.messageExpiry { add("messageExpiry", Int(expiry)) }
        if properties.truncated { add("propertiesTruncated", true) }
    }

    /// Adds the number of items that cannot be read. Adds nothing if there are none.
    mutating func add(unreadableItems count: Int) {
        if count > 0 { add("unreadableItems", count) }
    }

    /// Adds a body as the member `body`. JSON is added unchanged, text is added as a string, and an empty body is
    /// `null`. Any other bytes are added as Base64 together with a member `encoding`.
    mutating func add(_ body: RawBody) {
        if body.bytes.isEmpty { add("body", json: "null".utf8) } else { add("body", payload: body) }
    }

    /// Adds the members `payload` and `payloadKind`. The kind says what the value is: the JSON itself (`json`), a string
    /// with the payload's text (`text`), or Base64 of its bytes (`binary`). Without it, the JSON text `"hello"` could not
    /// be distinguished from the text `hello`.
    mutating func add(payload: RawBody) {
        add("payload", payload: payload)
        add("payloadKind", payload.kind == .json ? "json" : payload.bytes.text == nil ? "binary" : "text")
    }

    /// Adds a payload. JSON is added unchanged, and text is added as a string. Any other bytes are added as Base64
    /// together with a member `encoding`.
    mutating func add(_ name: String, payload: RawBody) {
        if payload.kind == .json {
            add(name, json: EscapedJSON.compact(payload.bytes))
        } else {
            add(name, content: payload.bytes)
        }
    }
}

/// Creates JSON that fits on one line and cannot control a terminal.
enum EscapedJSON {
    /// Returns valid JSON without insignificant white space and with unsafe characters in strings escaped.
    ///
    /// Numbers and existing escapes stay unchanged.
    static func compact(_ json: some Sequence<UInt8>) -> [UInt8] {
        var line: [UInt8] = []
        var isInString = false
        var isEscaped = false
        for scalar in String(decoding: Array(json), as: UTF8.self).unicodeScalars {
            if isInString {
                let escape = scalar.isUnsafeInLine ? JSONText.escape(scalar) : nil
                line += (escape ?? String(scalar)).utf8
                isInString = isEscaped || scalar != "\""
                isEscaped = !isEscaped && scalar == "\\"
            } else if !scalar.properties.isWhitespace {
                line += String(scalar).utf8
                isInString = scalar == "\""
            }
        }
        return line
    }
}
