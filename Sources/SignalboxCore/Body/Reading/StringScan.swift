/// Where a string ends and what was met on the way.
struct StringRun {
    /// Position of the closing quote.
    let end: Int
    /// ``BodyNode/escaped`` and ``BodyNode/beyondASCII``.
    let flags: UInt32
    /// Of the content; meaningful for a key without flags only.
    let hash: UInt32
}

extension ByteScan {
    /// The high bit of the lowest byte that is a quote, a backslash, below 0x20 or above 0x7F is exact; higher ones may
    /// be false, as borrows travel upward only.
    @inline(__always)
    static func special(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = (word ^ (ones &* 0x22)) &- ones
        let backslashes = (word ^ (ones &* 0x5C)) &- ones
        let controls = word &- (ones &* 0x20)
        return (quotes | backslashes | controls | word) & (ones &* 0x80)
    }

    /// Reads a string's content from the byte after the opening quote.
    @inline(__always)
    func string(from start: Int) throws(BodyFault) -> StringRun {
        let index = plainEnd(start)
        if byte(index) == UInt8(ascii: "\"") { return StringRun(end: index, flags: 0, hash: 0) }
        return try specialString(from: index)
    }

    /// Reads a member's name, with its hash, from the byte after the opening quote.
    @inline(__always)
    func key(from start: Int) throws(BodyFault) -> StringRun {
        var index = start
        var hash: UInt64 = 0
        var bits: UInt64
        var chunk: UInt64
        while true {
            chunk = word(index)
            bits = ByteScan.special(chunk)
            guard bits == 0 else { break }
            hash = ByteScan.mix(hash, chunk)
            index &+= 8
        }
        let shift = UInt64(bits.trailingZeroBitCount) & 0x38
        hash = ByteScan.mix(hash, chunk & ((1 << shift) &- 1))
        index &+= Int(shift >> 3)
        if byte(index) == UInt8(ascii: "\"") {
            return StringRun(end: index, flags: 0, hash: UInt32(truncatingIfNeeded: hash >> 32))
        }
        return try specialString(from: index)
    }

    @inline(__always)
    private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
        return product ^ (product >> 29)
    }

    /// The first position from `start` on that is not plain ASCII text.
    @inline(__always)
    private func plainEnd(_ start: Int) -> Int {
        var index = start
        while true {
            let bits = ByteScan.special(word(index))
            guard bits == 0 else { return index &+ (bits.trailingZeroBitCount >> 3) }
            index &+= 8
        }
    }

    @inline(never)
    private func specialString(from start: Int) throws(BodyFault) -> StringRun {
        var index = start
        var flags: UInt32 = 0
        while true {
            let first = byte(index)
            if first >= 0x80 {
                flags |= BodyNode.beyondASCII
                repeat { index = try sequenceEnd(index) } while byte(index) >= 0x80
            } else if first == UInt8(ascii: "\\") {
                let escape = try self.escape(at: index)
                flags |= escape.scalar < 0x80 ? BodyNode.escaped : BodyNode.escaped | BodyNode.beyondASCII
                index = escape.end
            } else if first == UInt8(ascii: "\"") {
                return StringRun(end: index, flags: flags, hash: 0)
            } else {
                throw BodyFault(code: index < end ? .controlCharacter : .unexpectedEnd, position: index)
            }
            index = plainEnd(index)
        }
    }
}
