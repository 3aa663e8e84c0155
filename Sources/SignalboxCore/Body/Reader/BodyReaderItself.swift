/// Reads of the value the reader stands at, such as an element of an array.
extension BodyReader {
    /// Whether the value is null.
    public var isNull: Bool { view.isNull }

    /// The value itself as an integer.
    public func int() throws(BodyError) -> Int { try view.integer(Int.self) }

    /// The value itself as text.
    public func string() throws(BodyError) -> String { try view.string() }

    /// The value itself as true or false.
    public func bool() throws(BodyError) -> Bool { try view.bool() }

    /// The value itself as a number.
    public func double() throws(BodyError) -> Double { try view.double() }

    /// The value itself as any decodable type.
    public func value<Value: Decodable>(as type: Value.Type) throws(BodyError) -> Value { try view.decoded(type) }

    /// The elements of the value itself, which is an array.
    public func array<Element>(
        _ read: (borrowing BodyReader) throws(BodyError) -> Element
    ) throws(BodyError) -> [Element] {
        try view.elements(read)
    }
}

extension BodyView {
    func decoded<Value: Decodable>(_ type: Value.Type) throws(BodyError) -> Value {
        do {
            return try BodyDecoder(self).value(type)
        } catch {
            throw BodyError.from(error, in: self)
        }
    }

    func elements<Element>(
        _ read: (borrowing BodyReader) throws(BodyError) -> Element
    ) throws(BodyError) -> [Element] {
        guard node.is(.array) else { throw mismatch("an array") }
        var elements: [Element] = []
        elements.reserveCapacity(Int(node.count))
        for element in BodyElements(of: self) {
            elements.append(try read(BodyReader(view: at(element))))
        }
        return elements
    }
}
