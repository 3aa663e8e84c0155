#if Macros
// What the initializers that `ActionBody()` writes call for each property. The compiler chooses the overload by the
// property's type: a macro sees only the spelling of a type, which may be an alias, inferred, or a user's own `Int`. Each
// overload has the results and errors of the method that synthesized decoding calls for the same type.

extension BodyReader {
    /// Returns the type of a property. The key path only carries the type, as a function that is never called.
    @inlinable
    public func _type<Root, Value>(of property: (Root) -> Value) -> Value.Type { Value.self }

    /// Returns a member as an integer.
    public func _member(_ name: StaticString, _ type: Int.Type) throws(BodyError) -> Int { try int(name) }
    /// Returns a member as an integer, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: Int?.Type) throws(BodyError) -> Int? { try intIfPresent(name) }
    /// Returns a member as text.
    public func _member(_ name: StaticString, _ type: String.Type) throws(BodyError) -> String { try string(name) }
    /// Returns a member as text, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: String?.Type) throws(BodyError) -> String? {
        try stringIfPresent(name)
    }
    /// Returns a member as a boolean.
    public func _member(_ name: StaticString, _ type: Bool.Type) throws(BodyError) -> Bool { try bool(name) }
    /// Returns a member as a boolean, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: Bool?.Type) throws(BodyError) -> Bool? { try boolIfPresent(name) }
    /// Returns a member as a number.
    public func _member(_ name: StaticString, _ type: Double.Type) throws(BodyError) -> Double { try double(name) }
    /// Returns a member as a number, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: Double?.Type) throws(BodyError) -> Double? {
        try doubleIfPresent(name)
    }
    /// Returns a member as a number.
    public func _member(_ name: StaticString, _ type: Float.Type) throws(BodyError) -> Float {
        try member(name).float()
    }
    /// Returns a member as a number, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: Float?.Type) throws(BodyError) -> Float? {
        try present(name)?.float()
    }
    /// Returns a member as an array of texts.
    public func _member(_ name: StaticString, _ type: [String].Type) throws(BodyError) -> [String] {
        try member(name).strings()
    }
    /// Returns a member as an array of texts, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: [String]?.Type) throws(BodyError) -> [String]? {
        try present(name)?.strings()
    }
    /// Returns a member as an array of integers.
    public func _member(_ name: StaticString, _ type: [Int].Type) throws(BodyError) -> [Int] {
        try member(name).integers()
    }
    /// Returns a member as an array of integers, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: [Int]?.Type) throws(BodyError) -> [Int]? {
        try present(name)?.integers()
    }
}

// One method for each type, because a generic one would not be specialized in the module of the struct.
extension BodyReader {
    /// Returns a member as an `Int8`.
    public func _member(_ name: StaticString, _ type: Int8.Type) throws(BodyError) -> Int8 { try narrow(name) }
    /// Returns a member as an `Int8`, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: Int8?.Type) throws(BodyError) -> Int8? {
        try narrowIfPresent(name)
    }
    /// Returns a member as an `Int16`.
    public func _member(_ name: StaticString, _ type: Int16.Type) throws(BodyError) -> Int16 { try narrow(name) }
    /// Returns a member as an `Int16`, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: Int16?.Type) throws(BodyError) -> Int16? {
        try narrowIfPresent(name)
    }
    /// Returns a member as an `Int32`.
    public func _member(_ name: StaticString, _ type: Int32.Type) throws(BodyError) -> Int32 { try narrow(name) }
    /// Returns a member as an `Int32`, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: Int32?.Type) throws(BodyError) -> Int32? {
        try narrowIfPresent(name)
    }
    /// Returns a member as an `Int64`.
    public func _member(_ name: StaticString, _ type: Int64.Type) throws(BodyError) -> Int64 { try narrow(name) }
    /// Returns a member as an `Int64`, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: Int64?.Type) throws(BodyError) -> Int64? {
        try narrowIfPresent(name)
    }
    /// Returns a member as a `UInt`.
    public func _member(_ name: StaticString, _ type: UInt.Type) throws(BodyError) -> UInt { try narrow(name) }
    /// Returns a member as a `UInt`, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: UInt?.Type) throws(BodyError) -> UInt? {
        try narrowIfPresent(name)
    }
    /// Returns a member as a `UInt8`.
    public func _member(_ name: StaticString, _ type: UInt8.Type) throws(BodyError) -> UInt8 { try narrow(name) }
    /// Returns a member as a `UInt8`, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: UInt8?.Type) throws(BodyError) -> UInt8? {
        try narrowIfPresent(name)
    }
    /// Returns a member as a `UInt16`.
    public func _member(_ name: StaticString, _ type: UInt16.Type) throws(BodyError) -> UInt16 { try narrow(name) }
    /// Returns a member as a `UInt16`, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: UInt16?.Type) throws(BodyError) -> UInt16? {
        try narrowIfPresent(name)
    }
    /// Returns a member as a `UInt32`.
    public func _member(_ name: StaticString, _ type: UInt32.Type) throws(BodyError) -> UInt32 { try narrow(name) }
    /// Returns a member as a `UInt32`, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: UInt32?.Type) throws(BodyError) -> UInt32? {
        try narrowIfPresent(name)
    }
    /// Returns a member as a `UInt64`.
    public func _member(_ name: StaticString, _ type: UInt64.Type) throws(BodyError) -> UInt64 { try narrow(name) }
    /// Returns a member as a `UInt64`, or `nil` if it is absent or null.
    public func _member(_ name: StaticString, _ type: UInt64?.Type) throws(BodyError) -> UInt64? {
        try narrowIfPresent(name)
    }

    @inline(__always)
    private func narrow<Integer: FixedWidthInteger>(_ name: StaticString) throws(BodyError) -> Integer {
        try view.integer(Integer.self, at: try position(name))
    }

    @inline(__always)
    private func narrowIfPresent<Integer: FixedWidthInteger>(_ name: StaticString) throws(BodyError) -> Integer? {
        try present(name)?.integer(Integer.self)
    }
}

extension BodyReader {
    /// Returns a member whose type is ``BodyReadable``.
    public func _member<Value: BodyReadable>(_ name: StaticString, _ type: Value.Type) throws(BodyError) -> Value {
        try Value(reading: BodyReader(view: try member(name)))
    }

    /// Returns a member whose type is ``BodyReadable``, or `nil` if it is absent or null.
    public func _member<Value: BodyReadable>(_ name: StaticString, _ type: Value?.Type) throws(BodyError) -> Value? {
        guard let found = try present(name) else { return nil }
        return try Value(reading: BodyReader(view: found))
    }

    /// Returns a member that is an array of ``BodyReadable`` values.
    public func _member<Value: BodyReadable>(_ name: StaticString, _ type: [Value].Type) throws(BodyError) -> [Value] {
        try member(name).elements(Value.init(reading:))
    }

    /// Returns a member that is an array of ``BodyReadable`` values, or `nil` if it is absent or null.
    public func _member<Value: BodyReadable>(_ name: StaticString, _ type: [Value]?.Type) throws(BodyError) -> [Value]?
    {
        try present(name)?.elements(Value.init(reading:))
    }

    /// Decodes a member as any decodable type.
    public func _member<Value: Decodable>(_ name: StaticString, _ type: Value.Type) throws(BodyError) -> Value {
        try decoded(try member(name))
    }

    /// Decodes a member as any decodable type, or returns `nil` if it is absent or null.
    public func _member<Value: Decodable>(_ name: StaticString, _ type: Value?.Type) throws(BodyError) -> Value? {
        guard let found = try present(name) else { return nil }
        return try decoded(found)
    }

    /// Refuses a property that cannot be decoded.
    @available(*, unavailable, message: "the type of this property must conform to 'Decodable'")
    public func _member<Value>(_ name: StaticString, _ type: Value.Type) throws(BodyError) -> Value {
        throw invalid(name, "expected a type that can be decoded")
    }

    /// Throws unless the value is an object. For a struct that has `CodingKeys` but reads no member.
    public func _object() throws(BodyError) {
        guard view.node.is(.object) else { throw view.mismatch("an object") }
    }

    /// As in synthesized decoding, an error that a type's own code throws concerns the whole body: the path does not lead
    /// to the member.
    private func decoded<Value: Decodable>(_ member: BodyView) throws(BodyError) -> Value {
        do {
            return try BodyDecoder(view: member).value(Value.self)
        } catch {
            throw BodyError.from(error, in: view.at(view.root))
        }
    }
}

extension BodyView {
    fileprivate func strings() throws(BodyError) -> [String] {
        try elements { element throws(BodyError) in try element.string() }
    }

    fileprivate func integers() throws(BodyError) -> [Int] {
        try BodyDecoder(view: self).elements().integers()
    }
}
#endif
