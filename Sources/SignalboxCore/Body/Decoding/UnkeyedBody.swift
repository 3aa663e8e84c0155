/// An array's elements in order.
struct UnkeyedBody: UnkeyedDecodingContainer {
    private let view: BodyView
    private var element: UInt32
    private let end: UInt32
    private(set) var currentIndex = 0

    /// - Precondition: `view` is at an array.
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

    /// The current element; a failing read stays at it.
    private func current() throws(BodyError) -> BodyView {
        guard element != end else {
            throw view.error(.valueMissing, "one more element expected", key: BodyCodingKey(intValue: currentIndex))
        }
        return view.at(element)
    }

    @inline(__always)
    private mutating func reading<Value>(_ read: (BodyView) throws -> Value) throws -> Value {
        let place = try current()
        let value = try read(place)
        element = place.node.next
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        let place = try current()
        guard place.isNull else { return false }
        element = place.node.next
        currentIndex += 1
        return true
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try reading { try BodyDecoder($0).container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try reading { try BodyDecoder($0).elements() }
    }

    mutating func superDecoder() throws -> any Decoder {
        try reading { BodyDecoder($0) }
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
    mutating func decode(_ type: Int.Type) throws -> Int { try reading { try $0.integer(type) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try reading { try $0.integer(type) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try reading { try $0.integer(type) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try reading { try $0.integer(type) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try reading { try $0.integer(type) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try reading { try $0.integer(type) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try reading { try $0.integer(type) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try reading { try $0.integer(type) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try reading { try $0.integer(type) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try reading { try $0.integer(type) } }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try reading { try BodyDecoder($0).value(type) }
    }
}
