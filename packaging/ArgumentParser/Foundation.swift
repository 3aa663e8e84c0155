// In the program for installation, packaging/build puts this file in place of the file of swift-argument-parser that has this name. That
// one uses FoundationEssentials for the two declarations that follow, which would add 5 MB to the program.

extension Error {
    /// Returns the text of an error. No error of the program is a `LocalizedError`.
    func describe() -> String { String(describing: self) }
}

/// Encodes values as JSON, for the description of the commands that `--experimental-dump-help` prints.
enum JSONEncoder {
    /// Returns JSON with sorted keys, or empty text if the value cannot be encoded.
    static func encode(_ value: some Encodable) -> String {
        let node = Node()
        do { try value.encode(to: NodeEncoder(node: node, codingPath: [])) } catch { return "" }
        var text = ""
        node.write(to: &text, indent: "\n")
        return text
    }
}

/// A JSON value that an encoder fills in. Without a call of the encoder it is an empty object, as in Foundation.
private final class Node {
    enum Content {
        case text(String)
        /// A number, `true`, `false` or `null`.
        case literal(String)
        case array([Node])
        case object([String: Node])
    }

    var content = Content.object([:])

    func write(to text: inout String, indent: String) {
        let inner = indent + "  "
        switch content {
        case .text(let string): Node.write(string, to: &text)
        case .literal(let literal): text += literal
        case .array(let nodes):
            text += "["
            for (index, node) in nodes.enumerated() {
                text += (index == 0 ? "" : ",") + inner
                node.write(to: &text, indent: inner)
            }
            text += indent + "]"
        case .object(let nodes):
            text += "{"
            for (index, (key, node)) in nodes.sorted(by: { $0.key < $1.key }).enumerated() {
                text += (index == 0 ? "" : ",") + inner
                Node.write(key, to: &text)
                text += " : "
                node.write(to: &text, indent: inner)
            }
            text += indent + "}"
        }
    }

    /// Writes a JSON string (RFC 8259, section 7).
    private static func write(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case "\n": text += "\\n"
            case ..<" ":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }

    /// Appends a node to the array.
    func append() -> Node {
        let node = Node()
        if case .array(let nodes) = content { content = .array(nodes + [node]) } else { content = .array([node]) }
        return node
    }

    /// Adds a node to the object.
    func add(_ key: String) -> Node {
        let node = Node()
        var nodes: [String: Node] = [:]
        if case .object(let present) = content { nodes = present }
        nodes[key] = node
        content = .object(nodes)
        return node
    }
}

private struct NodeEncoder: Encoder {
    let node: Node
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(ObjectContainer<Key>(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.content = .array([])
        return ArrayContainer(node: node, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        ValueContainer(node: node, codingPath: codingPath)
    }
}

private struct ValueContainer: SingleValueEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]

    func encodeNil() { node.content = .literal("null") }
    func encode(_ value: Bool) { node.content = .literal(value ? "true" : "false") }
    func encode(_ value: String) { node.content = .text(value) }

    func encode(_ value: Double) throws { try encodeNumber(value, value.isFinite) }
    func encode(_ value: Float) throws { try encodeNumber(value, value.isFinite) }
    func encode(_ value: Int) { node.content = .literal("\(value)") }
    func encode(_ value: Int8) { node.content = .literal("\(value)") }
    func encode(_ value: Int16) { node.content = .literal("\(value)") }
    func encode(_ value: Int32) { node.content = .literal("\(value)") }
    func encode(_ value: Int64) { node.content = .literal("\(value)") }
    func encode(_ value: UInt) { node.content = .literal("\(value)") }
    func encode(_ value: UInt8) { node.content = .literal("\(value)") }
    func encode(_ value: UInt16) { node.content = .literal("\(value)") }
    func encode(_ value: UInt32) { node.content = .literal("\(value)") }
    func encode(_ value: UInt64) { node.content = .literal("\(value)") }

    func encode(_ value: some Encodable) throws {
        try value.encode(to: NodeEncoder(node: node, codingPath: codingPath))
    }

    private func encodeNumber(_ value: some Encodable, _ isFinite: Bool) throws {
        guard isFinite else {
            throw EncodingError.invalidValue(
                value,
                .init(codingPath: codingPath, debugDescription: "JSON has no such number")
            )
        }
        node.content = .literal("\(value)")
    }
}

private struct ArrayContainer: UnkeyedEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]

    var count: Int { if case .array(let nodes) = node.content { nodes.count } else { 0 } }

    func encodeNil() { node.append().content = .literal("null") }

    func encode(_ value: some Encodable) throws {
        try value.encode(to: NodeEncoder(node: node.append(), codingPath: codingPath))
    }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        superEncoder().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { superEncoder().unkeyedContainer() }

    func superEncoder() -> any Encoder { NodeEncoder(node: node.append(), codingPath: codingPath) }
}

private struct ObjectContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: Node
    let codingPath: [any CodingKey]

    func encodeNil(forKey key: Key) { node.add(key.stringValue).content = .literal("null") }

    func encode(_ value: some Encodable, forKey key: Key) throws { try value.encode(to: superEncoder(forKey: key)) }

    func nestedContainer<Inner: CodingKey>(keyedBy: Inner.Type, forKey key: Key) -> KeyedEncodingContainer<Inner> {
        superEncoder(forKey: key).container(keyedBy: keyedBy)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        superEncoder(forKey: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { NodeEncoder(node: node.add("super"), codingPath: codingPath) }

    func superEncoder(forKey key: Key) -> any Encoder {
        NodeEncoder(node: node.add(key.stringValue), codingPath: codingPath + [key])
    }
}
