/// Writes an array's elements.
struct UnkeyedWriter: UnkeyedEncodingContainer {
    private let node: WrittenNode
    private let place: WritePlace

    init(node: WrittenNode, place: WritePlace) {
        self.node = node
        self.place = place
        node.makeArray()
    }

    var codingPath: [any CodingKey] { place.codingPath }
    var count: Int { node.count }

    private func element() -> BodyEncoder {
        let key = BodyCodingKey(intValue: node.count)
        return BodyEncoder(node: node.appendElement(), place: place.below(key))
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
    func encode(_ value: Int) throws { try element().write(literal: value.description) }
    func encode(_ value: Int8) throws { try element().write(literal: value.description) }
    func encode(_ value: Int16) throws { try element().write(literal: value.description) }
    func encode(_ value: Int32) throws { try element().write(literal: value.description) }
    func encode(_ value: Int64) throws { try element().write(literal: value.description) }
    func encode(_ value: UInt) throws { try element().write(literal: value.description) }
    func encode(_ value: UInt8) throws { try element().write(literal: value.description) }
    func encode(_ value: UInt16) throws { try element().write(literal: value.description) }
    func encode(_ value: UInt32) throws { try element().write(literal: value.description) }
    func encode(_ value: UInt64) throws { try element().write(literal: value.description) }
    func encode<Value: Encodable>(_ value: Value) throws { try element().write(value) }
}
