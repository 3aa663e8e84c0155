/// Writes an object's members.
struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private let node: WrittenNode
    private let place: WritePlace

    init(node: WrittenNode, place: WritePlace) {
        self.node = node
        self.place = place
        node.makeObject()
    }

    var codingPath: [any CodingKey] { place.codingPath }

    private func member(_ key: any CodingKey) -> BodyEncoder {
        BodyEncoder(node: node.appendMember(key.stringValue), place: place.below(key))
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
    func encode(_ value: Int, forKey key: Key) throws { try member(key).write(literal: value.description) }
    func encode(_ value: Int8, forKey key: Key) throws { try member(key).write(literal: value.description) }
    func encode(_ value: Int16, forKey key: Key) throws { try member(key).write(literal: value.description) }
    func encode(_ value: Int32, forKey key: Key) throws { try member(key).write(literal: value.description) }
    func encode(_ value: Int64, forKey key: Key) throws { try member(key).write(literal: value.description) }
    func encode(_ value: UInt, forKey key: Key) throws { try member(key).write(literal: value.description) }
    func encode(_ value: UInt8, forKey key: Key) throws { try member(key).write(literal: value.description) }
    func encode(_ value: UInt16, forKey key: Key) throws { try member(key).write(literal: value.description) }
    func encode(_ value: UInt32, forKey key: Key) throws { try member(key).write(literal: value.description) }
    func encode(_ value: UInt64, forKey key: Key) throws { try member(key).write(literal: value.description) }
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try member(key).write(value) }
}
