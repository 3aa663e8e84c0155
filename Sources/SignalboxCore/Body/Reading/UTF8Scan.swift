extension ByteScan {
    /// The position after the UTF-8 sequence at `index`, whose first byte is 0x80 or above (RFC 3629 section 4).
    @inline(__always)
    func sequenceEnd(_ index: Int) throws(BodyFault) -> Int {
        let first = byte(index)
        let second = byte(index &+ 1)
        switch first {
        case 0xE1...0xEC, 0xEE...0xEF:
            guard isTail(second), isTail(byte(index &+ 2)) else { break }
            return index &+ 3
        case 0xC2...0xDF:
            guard isTail(second) else { break }
            return index &+ 2
        case 0xE0:
            guard second >= 0xA0, second <= 0xBF, isTail(byte(index &+ 2)) else { break }
            return index &+ 3
        case 0xED:
            guard second >= 0x80, second <= 0x9F, isTail(byte(index &+ 2)) else { break }
            return index &+ 3
        case 0xF0...0xF4:
            let lowest: UInt8 = first == 0xF0 ? 0x90 : 0x80
            let highest: UInt8 = first == 0xF4 ? 0x8F : 0xBF
            guard second >= lowest, second <= highest, isTail(byte(index &+ 2)), isTail(byte(index &+ 3)) else { break }
            return index &+ 4
        default:
            break
        }
        throw BodyFault(code: .invalidUTF8, position: index)
    }

    @inline(__always)
    private func isTail(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

    /// Checks a whole payload of text.
    func checkText(from start: Int) throws(BodyFault) {
        var index = start
        while index < end {
            if word(index) & 0x8080_8080_8080_8080 == 0 {
                index &+= 8
            } else if byte(index) < 0x80 {
                index &+= 1
            } else {
                index = try sequenceEnd(index)
            }
        }
    }
}
