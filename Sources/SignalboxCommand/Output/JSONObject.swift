import SignalboxCore

/// A JSON object that is written member by member, in the order given, as one line.
struct JSONObject {
    private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

    /// The finished object.
    var closed: [UInt8] { bytes + [UInt8(ascii: "}")] }

    /// The finished object with a newline behind it.
    var line: [UInt8] { bytes + Array("}\n".utf8) }

    /// A member that is text; nothing when `nil`.
    mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        add(name, json: JSONText.string(text))
    }

    /// A member that is a whole number.
    mutating func add(_ name: String, _ number: Int) {
        add(name, json: Array(String(number).utf8))
    }

    /// A member that is true or false.
    mutating func add(_ name: String, _ flag: Bool) {
        add(name, json: Array((flag ? "true" : "false").utf8))
    }

    /// A member that is JSON already, compact and on one line.
    mutating func add(_ name: String, json: [UInt8]) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        bytes += JSONText.string(name)
        bytes.append(UInt8(ascii: ":"))
        bytes += json
    }

    /// Bytes as text when they are UTF-8; else as Base64 with a member `encoding` beside them that says so.
    mutating func add(_ name: String, content: Bytes) {
        if let text = content.text {
            add(name, text)
        } else {
            add(name, Base64.text(content))
            add(name == "payload" || name == "body" ? "encoding" : "\(name)Encoding", "base64")
        }
    }
}
