extension BodyView {
    func bool() throws(BodyError) -> Bool {
        let node = node
        switch node.kind {
        case .true: return true
        case .false: return false
        case .routeText:
            switch text(of: node) {
            case "true": return true
            case "false": return false
            default: throw error(.invalidValue, "true or false expected")
            }
        default: throw mismatch("a boolean")
        }
    }

    @inline(__always)
    func string() throws(BodyError) -> String { try string(at: position) }

    /// The same at another place; a view of that place is made for an error only, as it counts a reference.
    @inline(__always)
    func string(at place: UInt32) throws(BodyError) -> String {
        let node = node(at: place)
        guard node.is(.string) || node.is(.routeText) || node.is(.text) else { throw at(place).mismatch("a string") }
        return text(of: node)
    }

    /// An integer, exactly: a number without fraction and exponent, or text of a route that spells one.
    @inline(__always)
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws(BodyError) -> Integer {
        try integer(type, at: position)
    }

    /// The same at another place.
    @inline(__always)
    func integer<Integer: FixedWidthInteger>(
        _ type: Integer.Type,
        at place: UInt32
    ) throws(BodyError) -> Integer {
        let magnitude = try magnitude(at: place)
        let value =
            magnitude.isNegative
            ? Integer(exactly: 0 &- Int64(truncatingIfNeeded: magnitude.value)) : Integer(exactly: magnitude.value)
        guard let value, !magnitude.isNegative || magnitude.value <= Int64.min.magnitude else {
            throw at(place).error(.integerOutOfRange, "\(type) expected")
        }
        return value
    }

    @inline(__always)
    private func magnitude(at place: UInt32) throws(BodyError) -> (value: UInt64, isNegative: Bool) {
        let node = node(at: place)
        guard node.bits & ~BodyNode.negative == BodyNode.Kind.number.bits else {
            return try at(place).unusualMagnitude()
        }
        let isNegative = node.has(BodyNode.negative)
        let digits = withText { text -> UInt64? in
            text.decimal(from: Int(node.start) + (isNegative ? 1 : 0), to: node.end)
        }
        guard let digits else {
            throw at(place).error(.integerOutOfRange, "an integer of at most 64 bits expected")
        }
        return (digits, isNegative)
    }

    @inline(never)
    private func unusualMagnitude() throws(BodyError) -> (value: UInt64, isNegative: Bool) {
        let node = node
        switch node.kind {
        case .number:
            throw error(.notAnInteger, "an integer expected, without fraction and exponent")
        case .routeText:
            guard let flags = routeNumberFlags(), flags & ~BodyNode.negative == 0 else {
                throw error(.notAnInteger, "an integer expected")
            }
            let isNegative = flags != 0
            let digits = withText { $0.decimal(from: Int(node.start) + (isNegative ? 1 : 0), to: node.end) }
            guard let digits else { throw error(.integerOutOfRange, "an integer of at most 64 bits expected") }
            return (digits, isNegative)
        default:
            throw mismatch("an integer")
        }
    }

    /// The flags of a route's text that is a JSON number from its first to its last byte, else `nil`.
    func routeNumberFlags() -> UInt32? {
        let node = node
        return storage.bytes.withUnsafeBufferPointer { bytes in
            // What lies behind the text, another capture or message, must not look like a part of it.
            let text = ByteScan(bytes, end: node.end)
            guard let number = try? text.number(from: Int(node.start)), number.end == node.end else { return nil }
            return number.flags
        }
    }
}

extension ByteScan {
    /// The value of decimal digits, or `nil` when 64 bits do not hold it.
    @inline(__always)
    func decimal(from start: Int, to end: Int) -> UInt64? {
        var value: UInt64 = 0
        for index in start..<min(end, start &+ 18) {
            value = value &* 10 &+ UInt64(byte(index) &- UInt8(ascii: "0"))
        }
        guard end > start &+ 18 else { return value }
        for index in start &+ 18..<end {
            let (product, isOver) = value.multipliedReportingOverflow(by: 10)
            let (sum, isOverToo) = product.addingReportingOverflow(UInt64(byte(index) &- UInt8(ascii: "0")))
            guard !isOver, !isOverToo else { return nil }
            value = sum
        }
        return value
    }
}
