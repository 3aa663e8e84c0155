extension BodyEncoder: SingleValueEncodingContainer {
    func encodeNil() throws { try write(literal: "null") }
    func encode(_ value: Bool) throws { try write(literal: value ? "true" : "false") }
    func encode(_ value: String) throws { try write(value) }
    func encode(_ value: Double) throws { try write(number: value) }
    func encode(_ value: Float) throws { try write(number: value) }
    func encode(_ value: Int) throws { try write(literal: value.description) }
    func encode(_ value: Int8) throws { try write(literal: value.description) }
    func encode(_ value: Int16) throws { try write(literal: value.description) }
    func encode(_ value: Int32) throws { try write(literal: value.description) }
    func encode(_ value: Int64) throws { try write(literal: value.description) }
    func encode(_ value: UInt) throws { try write(literal: value.description) }
    func encode(_ value: UInt8) throws { try write(literal: value.description) }
    func encode(_ value: UInt16) throws { try write(literal: value.description) }
    func encode(_ value: UInt32) throws { try write(literal: value.description) }
    func encode(_ value: UInt64) throws { try write(literal: value.description) }
    func encode<Value: Encodable>(_ value: Value) throws { try write(value) }
}
