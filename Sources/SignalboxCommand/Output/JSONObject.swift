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
        begin(name)
        JSONText.append(text, to: &bytes)
    }

    /// A member that is a whole number.
    mutating func add(_ name: String, _ number: Int) {
        begin(name)
        bytes += String(number).utf8
    }

    /// A member that is true or false.
    mutating func add(_ name: String, _ flag: Bool) {
        begin(name)
        bytes += (flag ? "true" : "false").utf8
    }

    /// A member that is a list of texts.
    mutating func add(_ name: String, texts: [String]) {
        addList(name, texts) { text, bytes in JSONText.append(text, to: &bytes) }
    }

    /// A member that is a list of objects, each written by the closure.
    mutating func add<Element>(_ name: String, objects: [Element], _ write: (Element, inout JSONObject) -> Void) {
        addList(name, objects) { element, bytes in
            var object = JSONObject()
            write(element, &object)
            bytes += object.bytes
            bytes.append(UInt8(ascii: "}"))
        }
    }

    /// A member that is JSON already, compact and on one line.
    mutating func add(_ name: String, json: [UInt8]) {
        begin(name)
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

    private mutating func begin(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        JSONText.append(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func addList<Element>(
        _ name: String,
        _ elements: [Element],
        _ write: (Element, inout [UInt8]) -> Void
    ) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            write(element, &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }
}
