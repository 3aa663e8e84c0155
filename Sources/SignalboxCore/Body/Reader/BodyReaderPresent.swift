extension BodyReader {
    /// A member that is an integer, or `nil`.
    public func intIfPresent(_ name: StaticString) throws(BodyError) -> Int? {
        try present(name)?.integer(Int.self)
    }

    /// A member that is text, or `nil`.
    public func stringIfPresent(_ name: StaticString) throws(BodyError) -> String? {
        try present(name)?.string()
    }

    /// A member that is true or false, or `nil`.
    public func boolIfPresent(_ name: StaticString) throws(BodyError) -> Bool? {
        try present(name)?.bool()
    }

    /// A member that is a number, or `nil`.
    public func doubleIfPresent(_ name: StaticString) throws(BodyError) -> Double? {
        try present(name)?.double()
    }

    /// A member of any decodable type, or `nil`.
    public func valueIfPresent<Value: Decodable>(
        _ name: StaticString,
        as type: Value.Type
    ) throws(BodyError) -> Value? {
        try present(name)?.decoded(type)
    }

    /// A member that is an object, read by `read`, or `nil`.
    public func objectIfPresent<Value>(
        _ name: StaticString,
        _ read: (borrowing BodyReader) throws(BodyError) -> Value
    ) throws(BodyError) -> Value? {
        guard try present(name) != nil else { return nil }
        return try object(name, read)
    }

    /// A member that is an array, each element read by `read`, or `nil`.
    public func arrayIfPresent<Element>(
        _ name: StaticString,
        _ read: (borrowing BodyReader) throws(BodyError) -> Element
    ) throws(BodyError) -> [Element]? {
        try present(name)?.elements(read)
    }

    @inline(__always)
    private func present(_ name: StaticString) throws(BodyError) -> BodyView? {
        guard let place = find(name) else {
            guard view.node.is(.object) else { throw view.mismatch("an object") }
            return nil
        }
        return place.isNull ? nil : place
    }
}
