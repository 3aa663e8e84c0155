/// A container for decoding the members of an object.
struct KeyedBody<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let view: BodyView

    var codingPath: [any CodingKey] { view.codingPath }

    var allKeys: [Key] {
        BodyMembers(of: view).compactMap { Key(stringValue: view.text(of: view.node(at: $0))) }
    }

    func contains(_ key: Key) -> Bool { view.member(key.stringValue) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key).isNull }

    @inline(__always)
    func member(_ key: Key) throws(BodyError) -> BodyView {
        view.at(try position(key))
    }

    @inline(__always)
    func position(_ key: Key) throws(BodyError) -> UInt32 {
        guard let position = view.member(key.stringValue) else { throw missing(key) }
        return position
    }

    @inline(never)
    private func missing(_ key: Key) -> BodyError { view.error(.missingMember, key: key) }

    /// Returns the member, or `nil` if it is absent or null.
    @inline(__always)
    func present(_ key: Key) -> BodyView? {
        guard let position = view.member(key.stringValue) else { return nil }
        let member = view.at(position)
        return member.isNull ? nil : member
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try BodyDecoder(view: try member(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try BodyDecoder(view: try member(key)).elements()
    }

    func superDecoder() throws -> any Decoder {
        let key = BodyCodingKey(stringValue: "super")
        guard let position = view.member(key.stringValue) else { throw view.error(.missingMember, key: key) }
        return BodyDecoder(view: view.at(position))
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        BodyDecoder(view: try member(key))
    }
}

// One method serves all integer types. It is inlined into the container's methods, which are generic over the key.
extension KeyedBody {
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try member(key).bool() }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try view.string(at: try position(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try member(key).double() }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try member(key).float() }
    @inline(__always)
    func decode<Integer: FixedWidthInteger & Decodable>(_ type: Integer.Type, forKey key: Key) throws -> Integer {
        try view.integer(type, at: try position(key))
    }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try BodyDecoder(view: try member(key)).value(type)
    }
}

// Each of these methods searches once, whereas the standard library's defaults search three times. The standard library
// prefers those defaults to a generic method, so each integer type needs its own method.
extension KeyedBody {
    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try present(key)?.bool() }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try present(key)?.string() }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try present(key)?.double() }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try present(key)?.float() }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try present(key)?.integer(type) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try present(key)?.integer(type) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try present(key)?.integer(type) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try present(key)?.integer(type) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try present(key)?.integer(type) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try present(key)?.integer(type) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try present(key)?.integer(type) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try present(key)?.integer(type) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try present(key)?.integer(type) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try present(key)?.integer(type) }
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let member = present(key) else { return nil }
        return try BodyDecoder(view: member).value(type)
    }
}

/// A container for decoding the elements of an array.
struct UnkeyedBody: UnkeyedDecodingContainer {
    private let view: BodyView
    private var element: UInt32
    private let end: UInt32
    private(set) var currentIndex = 0

    /// - Precondition: `view` refers to an array.
    init(_ view: BodyView) {
        self.view = view
        element = view.position + 1
        end = view.node.next
    }

    var codingPath: [any CodingKey] { view.codingPath }

    var count: Int? {
        let count = view.node.count
        return count == BodyNode.countLimit ? nil : Int(count)
    }

    var isAtEnd: Bool { element == end }

    /// Returns the current element. If reading the element fails, the container does not advance to the next one.
    private func current() throws(BodyError) -> BodyView {
        guard element != end else {
            throw view.error(.valueMissing, "expected another element", key: BodyCodingKey(intValue: currentIndex))
        }
        return view.at(element)
    }

    @inline(__always)
    private mutating func reading<Value>(_ read: (BodyView) throws -> Value) throws -> Value {
        let next = try current()
        let value = try read(next)
        element = next.node.next
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard try current().isNull else { return false }
        return try reading { _ in true }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try reading { try BodyDecoder(view: $0).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try reading { try BodyDecoder(view: $0).elements() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try reading { BodyDecoder(view: $0) }
    }

    func integers() throws(BodyError) -> [Int] {
        var integers: [Int] = []
        integers.reserveCapacity(count ?? 0)
        for element in BodyElements(of: view) {
            integers.append(try view.at(element).integer(Int.self))
        }
        return integers
    }
}

extension UnkeyedBody {
    mutating func decode(_ type: Bool.Type) throws -> Bool { try reading { try $0.bool() } }
    mutating func decode(_ type: String.Type) throws -> String { try reading { try $0.string() } }
    mutating func decode(_ type: Double.Type) throws -> Double { try reading { try $0.double() } }
    mutating func decode(_ type: Float.Type) throws -> Float { try reading { try $0.float() } }
    @inline(__always)
    mutating func decode<Integer: FixedWidthInteger & Decodable>(_ type: Integer.Type) throws -> Integer {
        try reading { try $0.integer(type) }
    }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try reading { try BodyDecoder(view: $0).value(type) }
    }
}
