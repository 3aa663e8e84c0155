/// Decodes one value from a body. The decoder retains the batch's storage, so a copy of the decoder may outlive the
/// call to `init(from:)`.
@usableFromInline
struct BodyDecoder: Decoder {
    let view: BodyView

    @usableFromInline var codingPath: [any CodingKey] { view.codingPath }
    @usableFromInline var userInfo: [CodingUserInfoKey: Any] { [:] }

    @usableFromInline
    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard view.node.is(.object) else { throw view.mismatch("an object") }
        return KeyedDecodingContainer(KeyedBody<Key>(view: view))
    }

    @usableFromInline
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try elements()
    }

    @usableFromInline
    func singleValueContainer() throws -> any SingleValueDecodingContainer {
        self
    }

    func elements() throws(BodyError) -> UnkeyedBody {
        guard view.node.is(.array) else { throw view.mismatch("an array") }
        return UnkeyedBody(view)
    }

    /// Whether the value is a string, a number or route text. Such a value is decoded by ``value(_:)``, without a
    /// container.
    @usableFromInline var isPlain: Bool {
        switch view.node.kind {
        case .string, .number, .routeText: true
        default: false
        }
    }

    @usableFromInline
    func bodyError(_ error: any Error) -> BodyError {
        BodyError.from(error, in: view)
    }

    /// Decodes a value of any type. The most common types are decoded without a container.
    @usableFromInline
    func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if type == String.self { return BodyDecoder.same(try view.string()) }
        if type == Int.self { return BodyDecoder.same(try view.integer(Int.self)) }
        if type == Double.self { return BodyDecoder.same(try view.double()) }
        if type == [Int].self { return BodyDecoder.same(try elements().integers()) }
        return try Value(from: self)
    }

    /// Returns the decoder itself if it belongs to a body. A dynamic cast would cost as much as decoding a member.
    @inlinable
    static func found<Other: Decoder>(in decoder: Other) -> BodyDecoder? {
        guard Other.self == BodyDecoder.self else { return nil }
        return same(decoder) as BodyDecoder
    }

    /// Returns `known` as `Value`, which must already be its type. A dynamic cast would cost more than the decoding
    /// itself.
    @inlinable
    @inline(__always)
    static func same<Known, Value>(_ known: Known) -> Value {
        precondition(Known.self == Value.self, "only a value of the same type can be passed on")
        return unsafeBitCast(known, to: Value.self)
    }
}

extension BodyDecoder {
    @usableFromInline
    init(storage: BatchStorage, node: UInt32) {
        self.init(view: BodyView(storage: storage, root: node, position: node))
    }
}

extension BodyDecoder: SingleValueDecodingContainer {
    @usableFromInline func decodeNil() -> Bool { view.isNull }
    @usableFromInline func decode(_ type: Bool.Type) throws -> Bool { try view.bool() }
    @usableFromInline func decode(_ type: String.Type) throws -> String { try view.string() }
    @usableFromInline func decode(_ type: Double.Type) throws -> Double { try view.double() }
    @usableFromInline func decode(_ type: Float.Type) throws -> Float { try view.float() }
    @usableFromInline func decode<Integer: FixedWidthInteger & Decodable>(_ type: Integer.Type) throws -> Integer {
        try view.integer(type)
    }
    @usableFromInline func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value(type) }
}
