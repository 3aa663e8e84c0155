/// How many bits an integer literal needs between its highest and its lowest bit that is set.
enum IntegerWidth {
    /// The work is quadratic in the digits, so the caller first makes sure that a float's range holds the literal:
    /// at most 309 digits.
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
