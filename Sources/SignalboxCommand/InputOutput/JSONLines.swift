import AppScheme
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

extension JSONObject {
    /// Adds bytes as text if they are valid UTF-8, and otherwise as Base64 with an additional `encoding` member.
    mutating func add(_ name: String, content: Bytes) {
        if let text = content.text {
            add(name, text)
        } else {
            add(name, Base64.encoded(content))
            add(name == "payload" || name == "body" ? "encoding" : "\(name)Encoding", "base64")
        }
    }

    /// Adds captures by name as an object, or nothing without captures.
    mutating func add(_ name: String, _ captures: RouteCaptures) {
        guard !captures.isEmpty else { return }
        add(name) { object in
            for capture in captures { object.add(capture.name, capture.value) }
        }
    }

    /// Adds the facts that distinguish push messages.
    mutating func add(_ facts: PushFacts) {
        add("topic", facts.topic)
        add("retained", facts.retained)
        add("qos", facts.qos)
        add("captures", facts.captures)
    }

    /// Adds the facts about a link: `scheme`, and the `host` of a universal link.
    mutating func add(_ facts: LinkFacts) {
        if !facts.scheme.isEmpty { add("scheme", facts.scheme) }
        add("host", facts.universalHost)
    }

    /// Adds the sender of a chat or feed message: `peer`, and for a client `principal` and `clientOrigin`, if present.
    mutating func add(_ facts: ChatFacts) {
        add("peer", facts.peer)
        add("principal", facts.principal)
        add("clientOrigin", facts.origin?.description)
    }

    /// Adds a body as the member `body`: JSON unchanged, text as a string, other bytes as Base64 with an `encoding`
    /// member, `null` if it is empty.
    mutating func add(_ body: RawBody) {
        if body.bytes.isEmpty {
            add("body", json: "null".utf8)
        } else if body.kind == .json {
            add("body", json: EscapedJSON.compact(body.bytes))
        } else {
            add("body", content: body.bytes)
        }
    }
}

/// JSON text that stays on one line and cannot control a terminal.
enum EscapedJSON {
    /// Returns valid JSON without insignificant white space. Unsafe characters in strings are escaped.
    ///
    /// Numbers and existing escapes are unchanged.
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
