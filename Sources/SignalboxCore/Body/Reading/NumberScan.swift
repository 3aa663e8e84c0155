extension ByteScan {
    /// Reads the number that begins at `start` (RFC 8259 section 6); its value is not computed.
    ///
    /// - Returns: the position after it, and ``BodyNode/negative``, ``BodyNode/fraction``, ``BodyNode/exponent``.
    @inline(__always)
    func number(from start: Int) throws(BodyFault) -> (end: Int, flags: UInt32) {
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

    /// The position after one or more digits.
    @inline(__always)
    private func digitsEnd(_ start: Int) throws(BodyFault) -> Int {
        var index = start
        while byte(index) &- UInt8(ascii: "0") <= 9 { index &+= 1 }
        guard index > start else {
            throw BodyFault(code: index < end ? .invalidSyntax : .unexpectedEnd, position: index)
        }
        return index
    }
}
