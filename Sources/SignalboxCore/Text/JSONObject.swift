/// Writes a JSON object on one line, member by member, in the order of the calls.
package struct JSONObject {
    private var text = JSONText()

    /// Creates an object without members.
    package init() {}

    /// The object as JSON, without a newline.
    package var bytes: [UInt8] {
        text.bytes.isEmpty ? Array("{}".utf8) : text.bytes + [UInt8(ascii: "}")]
    }

    /// The object as JSON, with a newline at the end.
    package var line: [UInt8] { bytes + [UInt8(ascii: "\n")] }

    /// Adds a string. If the string is `nil`, no member is added.
    package mutating func add(_ name: String, _ text: String?) {
        guard let text else { return }
        begin(name)
        self.text.append(string: text)
    }

    /// Adds an integer.
    package mutating func add(_ name: String, _ number: Int) {
        add(name, json: String(number).utf8)
    }

    /// Adds a Boolean.
    package mutating func add(_ name: String, _ flag: Bool) {
        add(name, json: (flag ? "true" : "false").utf8)
    }

    /// Adds an array of strings.
    package mutating func add(_ name: String, texts: [String]) {
        begin(name)
        text.append(texts, between: "[", and: "]") { element, text in text.append(string: element) }
    }

    /// Adds an array of objects, each of which the closure writes.
    package mutating func add<Element>(
        _ name: String,
        objects: [Element],
        _ write: (Element, inout JSONObject) -> Void
    ) {
        begin(name)
        text.append(objects, between: "[", and: "]") { element, text in
            var object = JSONObject()
            write(element, &object)
            text.append(json: object.bytes)
        }
    }

    /// Adds a JSON value, which must be compact and on one line.
    package mutating func add(_ name: String, json: some Sequence<UInt8>) {
        begin(name)
        text.append(json: json)
    }

    /// Adds an object, which the closure writes.
    package mutating func add(_ name: String, object write: (inout JSONObject) -> Void) {
        var object = JSONObject()
        write(&object)
        add(name, json: object.bytes)
    }

    private mutating func begin(_ name: String) {
        text.append(text.bytes.isEmpty ? UInt8(ascii: "{") : UInt8(ascii: ","))
        text.append(string: name)
        text.append(UInt8(ascii: ":"))
    }
}
