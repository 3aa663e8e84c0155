/// Encodes one value into its node.
struct BodyEncoder: Encoder {
    let node: WrittenNode
    let place: WritePlace

    var codingPath: [any CodingKey] { place.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(KeyedWriter<Key>(node: node, place: place))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedWriter(node: node, place: place)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        self
    }

    func write(_ value: some Encodable) throws {
        try place.checkDepth()
        if let string = value as? String { return node.set(string: string) }
        if let scalar = value as? any BodyScalar { return try write(scalar.bodyLiteral) }
        try value.encode(to: BodyEncoder(node: node, place: place.calling()))
    }

    private func write(_ literal: BodyLiteral) throws(BodyError) {
        switch literal {
        case .text(let text): node.set(string: text)
        case .number(let number):
            guard BodyEncoder.isNumber(number) else {
                throw place.error(.invalidValue, "a number of RFC 8259 expected")
            }
            node.set(literal: number)
        }
    }

    func write(literal: String) throws(BodyError) {
        try place.checkDepth()
        node.set(literal: literal)
    }

    func write<Number: BinaryFloatingPoint & CustomStringConvertible>(number: Number) throws(BodyError) {
        guard let literal = BodyEncoder.literal(of: number) else {
            throw place.error(.nonfiniteNumber, "a finite number expected")
        }
        try write(literal: literal)
    }

    /// A number as JSON, or `nil` when it is not finite. Integers up to 2^53 are written without a fraction, as every
    /// reader takes them for the same number.
    static func literal<Number: BinaryFloatingPoint & CustomStringConvertible>(of number: Number) -> String? {
        guard number.isFinite else { return nil }
        let text = number.description
        let isShort = text.utf8.count <= 18 && number.magnitude <= Number(1 << 53) && text.hasSuffix(".0")
        return isShort ? String(text.dropLast(2)) : text
    }

    /// Whether a text is a number of RFC 8259 from its first to its last byte.
    static func isNumber(_ text: String) -> Bool {
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            guard !bytes.isEmpty else { return false }
            return (try? ByteScan(bytes, end: bytes.count).number(from: 0).end) == bytes.count
        }
    }
}
