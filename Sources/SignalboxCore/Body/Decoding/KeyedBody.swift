/// An object's members by name.
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

    @inline(__always)
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type, _ key: Key) throws(BodyError) -> Integer {
        try view.integer(type, at: try position(key))
    }

    @inline(never)
    private func missing(_ key: Key) -> BodyError { view.error(.missingMember, key: key) }

    /// The member's place, or `nil` when it is absent or null.
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
        try BodyDecoder(try member(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try BodyDecoder(try member(key)).elements()
    }

    func superDecoder() throws -> any Decoder {
        let key = BodyCodingKey(stringValue: "super")
        guard let position = view.member(key.stringValue) else { throw view.error(.missingMember, key: key) }
        return BodyDecoder(view.at(position))
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        BodyDecoder(try member(key))
    }
}
