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
            default: throw error(.invalidValue, "expected true or false")
            }
        default: throw mismatch("a boolean")
        }
    }

    @inline(__always)
    func string() throws(BodyError) -> String { try string(at: position) }

    /// Returns the string at `index`. A view is created only to report an error, because a view retains the storage.
    @inline(__always)
    func string(at index: UInt32) throws(BodyError) -> String {
        let node = node(at: index)
        guard node.is(.string) || node.is(.routeText) || node.is(.text) else { throw at(index).mismatch("a string") }
        return text(of: node)
    }

    /// Returns an exact integer from a number without a fraction or exponent, or from route text that has the form of
    /// such a number.
    @inline(__always)
    func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws(BodyError) -> Integer {
        try integer(type, at: position)
    }

    /// Returns the integer at `index`.
    @inline(__always)
    func integer<Integer: FixedWidthInteger>(
        _ type: Integer.Type,
        at index: UInt32
    ) throws(BodyError) -> Integer {
        let magnitude = try magnitude(at: index)
        let value =
            magnitude.isNegative
            ? Integer(exactly: 0 &- Int64(truncatingIfNeeded: magnitude.value)) : Integer(exactly: magnitude.value)
        guard let value, !magnitude.isNegative || magnitude.value <= Int64.min.magnitude else {
            throw at(index).error(.integerOutOfRange, "expected \(type)")
        }
        return value
    }

    @inline(__always)
    private func magnitude(at index: UInt32) throws(BodyError) -> (value: UInt64, isNegative: Bool) {
        let node = node(at: index)
        guard node.bits & ~BodyNode.negative == BodyNode.Kind.number.bits else {
            return try at(index).unusualMagnitude()
        }
        let isNegative = node.has(BodyNode.negative)
        let digits = withText { text -> UInt64? in
            text.decimal(from: Int(node.start) + (isNegative ? 1 : 0), to: node.end)
        }
        guard let digits else {
            throw at(index).error(.integerOutOfRange, "expected an integer of at most 64 bits")
        }
        return (digits, isNegative)
    }

    @inline(never)
    private func unusualMagnitude() throws(BodyError) -> (value: UInt64, isNegative: Bool) {
        let node = node
        switch node.kind {
        case .number:
            throw error(.notAnInteger, "expected an integer without fraction or exponent")
        case .routeText:
            guard let flags = routeNumberFlags(), flags & ~BodyNode.negative == 0 else {
                throw error(.notAnInteger, "expected an integer")
            }
            let isNegative = flags != 0
            let digits = withText { $0.decimal(from: Int(node.start) + (isNegative ? 1 : 0), to: node.end) }
            guard let digits else { throw error(.integerOutOfRange, "expected an integer of at most 64 bits") }
            return (digits, isNegative)
        default:
            throw mismatch("an integer")
        }
    }

    /// Returns the number flags of this route text if the whole text is one JSON number, or `nil` otherwise.
    func routeNumberFlags() -> UInt32? {
        let node = node
        return storage.bytes.withUnsafeBufferPointer { bytes in
            // The bytes after the text belong to a different capture or message, so they must not be read as part of
            // the number.
            let text = ByteScan(bytes, end: node.end)
            guard let number = try? text.number(from: Int(node.start)), number.end == node.end else { return nil }
            return number.flags
        }
    }
}

extension ByteScan {
    /// Returns the value of the decimal digits, or `nil` if it does not fit in 64 bits.
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

extension BodyView {
    /// Returns the value as a floating-point number. Route text is converted too.
    ///
    /// An integer literal must be exactly representable. A number with a fraction or exponent is rounded to the nearest
    /// value. A number beyond the finite range is an error.
    func double() throws(BodyError) -> Double {
        let flags = try numberFlags()
        let node = node
        if let fast = fastDouble(node, flags) { return fast }
        return try float(node, flags)
    }

    func float() throws(BodyError) -> Float {
        try float(node, try numberFlags())
    }

    private func numberFlags() throws(BodyError) -> UInt32 {
        let node = node
        switch node.kind {
        case .number: return node.bits
        case .routeText:
            guard let flags = routeNumberFlags() else { throw error(.invalidValue, "expected a number") }
            return flags
        default: throw mismatch("a number")
        }
    }

    /// Returns the quotient of two exact numbers, which is rounded only once (W. D. Clinger, "How to Read Floating
    /// Point Numbers Accurately").
    private func fastDouble(_ node: BodyNode, _ flags: UInt32) -> Double? {
        guard flags & BodyNode.exponent == 0, node.length <= 17 else { return nil }
        let isNegative = flags & BodyNode.negative != 0
        let (digits, scale) = withText { text -> (UInt64, Int) in
            var value: UInt64 = 0
            var scale = 0
            for index in Int(node.start) + (isNegative ? 1 : 0)..<node.end {
                let digit = text.byte(index) &- UInt8(ascii: "0")
                if digit > 9 {
                    scale = node.end &- index &- 1
                } else {
                    value = value &* 10 &+ UInt64(digit)
                }
            }
            return (value, scale)
        }
        guard digits <= 1 << 53 else { return nil }
        let value = Double(digits) / BodyView.powersOfTen[scale]
        return isNegative ? -value : value
    }

    private static let powersOfTen: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
    ]

    @inline(never)
    private func float<Value: BinaryFloatingPoint & LosslessStringConvertible>(
        _ node: BodyNode,
        _ flags: UInt32
    ) throws(BodyError) -> Value {
        guard let value = Value(literal(of: node)), value.isFinite else {
            throw error(.numberOutOfRange, "expected a finite \(Value.self)")
        }
        if flags & (BodyNode.fraction | BodyNode.exponent) == 0 {
            let isNegative = flags & BodyNode.negative != 0
            let width = withText { text in
                IntegerWidth.significantBits(of: text, from: Int(node.start) + (isNegative ? 1 : 0), to: node.end)
            }
            guard width <= Value.significandBitCount + 1 else {
                throw error(.inexactNumber, "\(Value.self) cannot represent this integer exactly")
            }
        }
        return value
    }
}

extension ByteScan {
    /// Scans the number that begins at `start` (RFC 8259 section 6) without computing its value.
    ///
    /// - Returns: The position after the number, and the flags that apply: ``BodyNode/negative``, ``BodyNode/fraction``
    ///   and ``BodyNode/exponent``.
    @inline(__always)
    func number(from start: Int) throws(BodyParserError) -> (end: Int, flags: UInt32) {
        var index = start
        var flags: UInt32 = 0
        if byte(index) == UInt8(ascii: "-") {
            flags = BodyNode.negative
            index &+= 1
        }
        if byte(index) == UInt8(ascii: "0") {
            index &+= 1
        } else {
            index = try digitsEnd(index)
        }
        if byte(index) == UInt8(ascii: ".") {
            flags |= BodyNode.fraction
            index = try digitsEnd(index &+ 1)
        }
        if byte(index) | 0x20 == UInt8(ascii: "e") {
            flags |= BodyNode.exponent
            index &+= 1
            if byte(index) == UInt8(ascii: "+") || byte(index) == UInt8(ascii: "-") { index &+= 1 }
            index = try digitsEnd(index)
        }
        return (index, flags)
    }

    /// Returns the position after one or more digits.
    @inline(__always)
    private func digitsEnd(_ start: Int) throws(BodyParserError) -> Int {
        var index = start
        while byte(index) &- UInt8(ascii: "0") <= 9 { index &+= 1 }
        guard index > start else {
            throw BodyParserError(code: index < end ? .invalidSyntax : .unexpectedEnd, position: index)
        }
        return index
    }
}

/// Computes how many bits an integer literal spans, from its highest to its lowest set bit.
enum IntegerWidth {
    /// Returns the number of bits. The cost is quadratic in the number of digits. The caller must therefore first check
    /// that the literal is in the floating-point type's range, which limits the literal to 309 digits.
    static func significantBits(of text: ByteScan, from start: Int, to end: Int) -> Int {
        var limbs: [UInt32] = []
        for index in start..<end {
            var carry = UInt64(text.byte(index) &- UInt8(ascii: "0"))
            for position in limbs.indices {
                carry += UInt64(limbs[position]) * 10
                limbs[position] = UInt32(truncatingIfNeeded: carry)
                carry >>= 32
            }
            if carry > 0 { limbs.append(UInt32(carry)) }
        }
        guard let highest = limbs.last, let lowest = limbs.firstIndex(where: { $0 != 0 }) else { return 0 }
        let width = limbs.count * 32 - highest.leadingZeroBitCount
        return width - lowest * 32 - limbs[lowest].trailingZeroBitCount
    }
}
