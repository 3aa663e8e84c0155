extension BodyView {
    /// A number, or text of a route that is one. An integer literal is taken exactly or refused; what has a fraction
    /// or an exponent is rounded to nearest; what is beyond the finite range is refused.
    func double() throws(BodyError) -> Double {
        let flags = try numberFlags()
        let node = node
        if let fast = fastDouble(node, flags) { return fast }
        return try float(node, flags, significandBits: 53) { Double($0) }
    }

    func float() throws(BodyError) -> Float {
        try float(node, try numberFlags(), significandBits: 24) { Float($0) }
    }

    private func numberFlags() throws(BodyError) -> UInt32 {
        let node = node
        switch node.kind {
        case .number: return node.bits
        case .routeText:
            guard let flags = routeNumberFlags() else { throw error(.invalidValue, "a number expected") }
            return flags
        default: throw mismatch("a number")
        }
    }

    /// Both numbers are exact, so their quotient is rounded once (W. D. Clinger, "How to Read Floating Point Numbers
    /// Accurately").
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
    private func float<Value: BinaryFloatingPoint>(
        _ node: BodyNode,
        _ flags: UInt32,
        significandBits: Int,
        make: (String) -> Value?
    ) throws(BodyError) -> Value {
        guard let value = make(literal(of: node)), value.isFinite else {
            throw error(.numberOutOfRange, "a finite \(Value.self) expected")
        }
        if flags & (BodyNode.fraction | BodyNode.exponent) == 0 {
            let isNegative = flags & BodyNode.negative != 0
            let width = withText { text in
                IntegerWidth.significantBits(of: text, from: Int(node.start) + (isNegative ? 1 : 0), to: node.end)
            }
            guard width <= significandBits else {
                throw error(.inexactNumber, "\(Value.self) does not hold this integer exactly")
            }
        }
        return value
    }
}
