extension BodyDecoder: SingleValueDecodingContainer {
    @usableFromInline func decodeNil() -> Bool { view.isNull }
    @usableFromInline func decode(_ type: Bool.Type) throws -> Bool { try view.bool() }
    @usableFromInline func decode(_ type: String.Type) throws -> String { try view.string() }
    @usableFromInline func decode(_ type: Double.Type) throws -> Double { try view.double() }
    @usableFromInline func decode(_ type: Float.Type) throws -> Float { try view.float() }
    @usableFromInline func decode(_ type: Int.Type) throws -> Int { try view.integer(type) }
    @usableFromInline func decode(_ type: Int8.Type) throws -> Int8 { try view.integer(type) }
    @usableFromInline func decode(_ type: Int16.Type) throws -> Int16 { try view.integer(type) }
    @usableFromInline func decode(_ type: Int32.Type) throws -> Int32 { try view.integer(type) }
    @usableFromInline func decode(_ type: Int64.Type) throws -> Int64 { try view.integer(type) }
    @usableFromInline func decode(_ type: UInt.Type) throws -> UInt { try view.integer(type) }
    @usableFromInline func decode(_ type: UInt8.Type) throws -> UInt8 { try view.integer(type) }
    @usableFromInline func decode(_ type: UInt16.Type) throws -> UInt16 { try view.integer(type) }
    @usableFromInline func decode(_ type: UInt32.Type) throws -> UInt32 { try view.integer(type) }
    @usableFromInline func decode(_ type: UInt64.Type) throws -> UInt64 { try view.integer(type) }
    @usableFromInline func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value(type) }
}
