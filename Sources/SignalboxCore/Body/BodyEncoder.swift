/// Encodes replies, facts and bodies as compact JSON whose members are sorted by name.
///
/// Use it to create the body for ``Sender/send(_:id:body:)``.
public enum BodyWriter {
    /// Encodes a value as JSON without whitespace. The members of each object are sorted by the UTF-8 bytes of their
    /// names.
    ///
    /// The bytes depend only on what `encode(to:)` writes, not on the order in which it writes members. Integers are
    /// written in full. Floating-point numbers are written in the shortest form that parses to the same value.
    ///
    /// - Parameters:
    ///   - value: The value to encode, by calling its `encode(to:)`.
    ///   - depth: The maximum nesting depth: the number of arrays and objects that may be open at once, from 1 to 512.
    /// - Throws: ``BodyError`` with a path that begins with `reply`. The code is `nonfiniteNumber` or `tooDeep`. If
    ///   `encode(to:)` throws a `BodyError`, that error is rethrown unchanged; an error of any other type is reported
    ///   as `invalidValue`.
    /// - Precondition: `depth` is between 1 and 512.
    public static func write(_ value: some Encodable, depth: Int = 64) throws(BodyError) -> Bytes {
        precondition((1...512).contains(depth), "a depth limit is 1 to 512")
        let root = EncodedNode()
        do {
            try BodyEncoder(node: root, position: EncodingPosition(limit: depth)).write(value)
        } catch let error as BodyError {
            throw error
        } catch EncodingError.invalidValue(_, let context) {
            throw BodyError(.invalidValue, path: BodyPath.text(context.codingPath, root: "reply"))
        } catch {
            throw BodyError(.invalidValue, path: "reply", detail: "threw \(type(of: error))")
        }
        var text = JSONText()
        try root.write(to: &text, depth: depth)
        return Bytes(text.bytes)
    }
}

/// Encodes one value into its node.
struct BodyEncoder: Encoder {
    let node: EncodedNode
    let position: EncodingPosition

    var codingPath: [any CodingKey] { position.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.makeObject()
        return KeyedEncodingContainer(KeyedWriter<Key>(node: node, position: position))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.makeArray()
        return UnkeyedWriter(node: node, position: position)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        self
    }

    func write(_ value: some Encodable) throws {
        try position.checkDepth()
        if let string = value as? String { return node.set(.string(string)) }
        try value.encode(to: BodyEncoder(node: node, position: position.calling()))
    }

    func write(literal: String) throws(BodyError) {
        try position.checkDepth()
        node.set(.literal(literal))
    }

    /// Writes a finite number. Integers up to 2^53 are written without a fraction, because every parser reads both
    /// forms as the same number.
    func write<Number: BinaryFloatingPoint & CustomStringConvertible>(number: Number) throws(BodyError) {
        guard number.isFinite else { throw position.error(.nonfiniteNumber, "expected a finite number") }
        let text = number.description
        let isShort = text.utf8.count <= 18 && number.magnitude <= Number(1 << 53) && text.hasSuffix(".0")
        try write(literal: isShort ? String(text.dropLast(2)) : text)
    }
}

extension BodyEncoder: SingleValueEncodingContainer {
    func encodeNil() throws { try write(literal: "null") }
    func encode(_ value: Bool) throws { try write(literal: value ? "true" : "false") }
    func encode(_ value: String) throws { try write(value) }
    func encode(_ value: Double) throws { try write(number: value) }
    func encode(_ value: Float) throws { try write(number: value) }
    @inline(__always)
    func encode<Integer: FixedWidthInteger & Encodable>(_ value: Integer) throws {
        try write(literal: value.description)
    }
    func encode<Value: Encodable>(_ value: Value) throws { try write(value) }
}

/// A container for encoding the members of an object.
struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: EncodedNode
    let position: EncodingPosition

    var codingPath: [any CodingKey] { position.codingPath }

    private func member(_ key: any CodingKey) -> BodyEncoder {
        BodyEncoder(node: node.appendMember(key.stringValue), position: position.below(key))
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { member(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { member(BodyCodingKey(stringValue: "super")) }
    func superEncoder(forKey key: Key) -> any Encoder { member(key) }

    func encodeNil(forKey key: Key) throws { try member(key).write(literal: "null") }
    func encode(_ value: Bool, forKey key: Key) throws { try member(key).write(literal: value ? "true" : "false") }
    func encode(_ value: String, forKey key: Key) throws { try member(key).write(value) }
    func encode(_ value: Double, forKey key: Key) throws { try member(key).write(number: value) }
    func encode(_ value: Float, forKey key: Key) throws { try member(key).write(number: value) }
    @inline(__always)
    func encode<Integer: FixedWidthInteger & Encodable>(_ value: Integer, forKey key: Key) throws {
        try member(key).write(literal: value.description)
    }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try member(key).write(value) }
}

/// A container for encoding the elements of an array.
struct UnkeyedWriter: UnkeyedEncodingContainer {
    let node: EncodedNode
    let position: EncodingPosition

    var codingPath: [any CodingKey] { position.codingPath }
    var count: Int { node.count }

    private func element() -> BodyEncoder {
        let key = BodyCodingKey(intValue: node.count)
        return BodyEncoder(node: node.appendElement(), position: position.below(key))
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        element().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { element().unkeyedContainer() }
    func superEncoder() -> any Encoder { element() }

    func encodeNil() throws { try element().write(literal: "null") }
    func encode(_ value: Bool) throws { try element().write(literal: value ? "true" : "false") }
    func encode(_ value: String) throws { try element().write(value) }
    func encode(_ value: Double) throws { try element().write(number: value) }
    func encode(_ value: Float) throws { try element().write(number: value) }
    @inline(__always)
    func encode<Integer: FixedWidthInteger & Encodable>(_ value: Integer) throws {
        try element().write(literal: value.description)
    }
    func encode<Value: Encodable>(_ value: Value) throws { try element().write(value) }
}

/// A position in the value being encoded, with a link to its parent position.
final class EncodingPosition {
    private let parent: EncodingPosition?
    private let key: (any CodingKey)?
    /// The number of open arrays and objects.
    private let depth: Int
    /// The number of nested calls to `encode(to:)`. If a value keeps encoding itself, it opens no container, so only
    /// this number grows.
    private let calls: Int
    private let limit: Int

    init(limit: Int, parent: EncodingPosition? = nil, key: (any CodingKey)? = nil, depth: Int = 0, calls: Int = 0) {
        self.limit = limit
        self.parent = parent
        self.key = key
        self.depth = depth
        self.calls = calls
    }

    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var position: EncodingPosition? = self
        while let current = position {
            if let key = current.key { path.append(key) }
            position = current.parent
        }
        return path.reversed()
    }

    /// Returns the position of `key` inside the array or object opened here.
    func below(_ key: any CodingKey) -> EncodingPosition {
        EncodingPosition(limit: limit, parent: self, key: key, depth: depth + 1, calls: calls)
    }

    /// Returns the position inside a nested call to `encode(to:)`.
    func calling() throws(BodyError) -> EncodingPosition {
        guard calls < limit * 4 else { throw error(.tooDeep, "expected a value of finite depth") }
        return EncodingPosition(limit: limit, parent: self, depth: depth, calls: calls + 1)
    }

    /// Throws an error if the position is too deep. This method is called for every value that is written inside a
    /// container.
    func checkDepth() throws(BodyError) {
        guard depth <= limit else { throw error(.tooDeep, "expected at most \(limit) levels") }
    }

    func error(_ code: BodyError.Code, _ detail: String) -> BodyError {
        BodyError(code, path: BodyPath.text(codingPath, root: "reply"), detail: detail)
    }
}

/// A JSON value under construction. All containers for a value share one node, so they all add to the same value.
final class EncodedNode {
    enum Content {
        case nothing
        case literal(String)
        case string(String)
        case array
        case object
    }

    private var content = Content.nothing
    /// The elements of an array, with empty names, or the members of an object in the order they were encoded.
    private var parts: [(name: String, node: EncodedNode)] = []

    /// The number of elements in an array.
    var count: Int { if case .array = content { parts.count } else { 0 } }

    /// Replaces the value with one that has no parts.
    func set(_ content: Content) {
        self.content = content
        parts = []
    }

    func makeArray() {
        guard case .array = content else { return set(.array) }
    }

    func makeObject() {
        guard case .object = content else { return set(.object) }
    }

    func appendElement() -> EncodedNode {
        makeArray()
        return append("")
    }

    func appendMember(_ name: String) -> EncodedNode {
        makeObject()
        return append(name)
    }

    private func append(_ name: String) -> EncodedNode {
        let node = EncodedNode()
        parts.append((name, node))
        return node
    }

    /// Writes the value recursively.
    ///
    /// - Parameter depth: The number of arrays and objects that may still be opened.
    /// - Throws: `tooDeep` if the value opens more than `depth` arrays and objects at once.
    func write(to text: inout JSONText, depth: Int) throws(BodyError) {
        switch content {
        case .nothing: text.append(literal: "{}")
        case .literal(let literal): text.append(literal: literal)
        case .string(let string): text.append(string: string)
        case .array:
            let depth = try EncodedNode.below(depth)
            try text.append(parts, between: "[", and: "]") { (element, text) throws(BodyError) in
                try element.node.write(to: &text, depth: depth)
            }
        case .object:
            try writeMembers(to: &text, depth: EncodedNode.below(depth))
        }
    }

    private static func below(_ depth: Int) throws(BodyError) -> Int {
        guard depth > 0 else { throw BodyError(.tooDeep, path: "reply", detail: "expected fewer levels") }
        return depth - 1
    }

    /// Writes the members sorted by name. If several members have the same name, the last one wins.
    private func writeMembers(to text: inout JSONText, depth: Int) throws(BodyError) {
        let order = parts.indices.sorted { left, right in
            let (one, other) = (parts[left].name.utf8, parts[right].name.utf8)
            return one.elementsEqual(other) ? left < right : one.lexicographicallyPrecedes(other)
        }
        let last = order.indices.lazy.filter { [parts] position in
            let next = position + 1
            return next == order.count
                || !parts[order[next]].name.utf8.elementsEqual(parts[order[position]].name.utf8)
        }
        try text.append(last, between: "{", and: "}") { (position, text) throws(BodyError) in
            let member = parts[order[position]]
            text.append(string: member.name)
            text.append(UInt8(ascii: ":"))
            try member.node.write(to: &text, depth: depth)
        }
    }
}
