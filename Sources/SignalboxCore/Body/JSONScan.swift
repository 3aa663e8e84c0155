/// A bounds-checked view of a buffer. A read past the end returns zeros, which no JSON token contains.
struct ByteScan {
    let base: UnsafePointer<UInt8>
    let end: Int

    /// Creates a scan over a buffer. The buffer must outlive the scan.
    ///
    /// - Precondition: `end` is at most the buffer's count.
    init(_ buffer: UnsafeBufferPointer<UInt8>, end: Int) {
        guard let base = buffer.baseAddress else { preconditionFailure("a scan needs a buffer") }
        precondition(end >= 0 && end <= buffer.count, "the end of a scan is within its buffer")
        self.base = base
        self.end = end
    }

    /// Returns the byte at `index`, which must not be negative.
    @inline(__always)
    func byte(_ index: Int) -> UInt8 {
        index < end ? base[index] : 0
    }

    /// Returns the eight bytes from `index`, which must not be negative. The first byte is in the low bits.
    @inline(__always)
    func word(_ index: Int) -> UInt64 {
        guard index &+ 8 <= end else { return lastWord(index) }
        return UInt64(littleEndian: UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self))
    }

    /// Returns the bytes that remain when fewer than eight are left, using overlapping loads within the buffer.
    @inline(__always)
    private func lastWord(_ index: Int) -> UInt64 {
        let rest = end &- index
        guard rest > 0 else { return 0 }
        let raw = UnsafeRawPointer(base)
        if end >= 8 {
            let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: end &- 8, as: UInt64.self))
            return word >> UInt64((8 &- rest) &* 8)
        }
        if rest >= 4 {
            let low = UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt32.self))
            let high = UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: end &- 4, as: UInt32.self))
            return UInt64(low) | UInt64(high) << UInt64((rest &- 4) &* 8)
        }
        return UInt64(byte(index)) | UInt64(byte(index &+ 1)) << 8 | UInt64(byte(index &+ 2)) << 16
    }

    /// Returns whether the `length` bytes at each of the two positions are equal.
    func same(_ left: Int, _ right: Int, length: Int) -> Bool {
        var offset = 0
        while offset &+ 8 <= length {
            guard word(left &+ offset) == word(right &+ offset) else { return false }
            offset &+= 8
        }
        guard offset < length else { return true }
        let unused = UInt64((8 &- (length &- offset)) &* 8)
        return (word(left &+ offset) ^ word(right &+ offset)) << unused == 0
    }
}

/// Describes a scanned string: where it ends, its flags and its hash.
struct StringRun {
    /// The position of the closing quote.
    let end: Int
    /// The flags that apply to the string: ``BodyNode/escaped`` and ``BodyNode/beyondASCII``.
    let flags: UInt32
    /// The hash of the content. Valid only for a key without flags.
    let hash: UInt32
}

extension ByteScan {
    /// Marks the high bit of each byte that is a quote, a backslash, below 0x20 or above 0x7F. Only the lowest mark is
    /// reliable, because borrows propagate upward and may set higher marks falsely.
    @inline(__always)
    static func special(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = (word ^ (ones &* 0x22)) &- ones
        let backslashes = (word ^ (ones &* 0x5C)) &- ones
        let controls = word &- (ones &* 0x20)
        return (quotes | backslashes | controls | word) & (ones &* 0x80)
    }

    /// Scans a string's content, from the byte after the opening quote.
    @inline(__always)
    func string(from start: Int) throws(BodyParserError) -> StringRun {
        let index = plainEnd(start)
        if byte(index) == UInt8(ascii: "\"") { return StringRun(end: index, flags: 0, hash: 0) }
        return try specialString(from: index)
    }

    /// Scans and hashes a member's name, from the byte after the opening quote.
    @inline(__always)
    func key(from start: Int) throws(BodyParserError) -> StringRun {
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

    /// Returns the first position at or after `start` that is not plain ASCII text.
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
    private func specialString(from start: Int) throws(BodyParserError) -> StringRun {
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
                throw BodyParserError(code: index < end ? .controlCharacter : .unexpectedEnd, position: index)
            }
            index = plainEnd(index)
        }
    }
}

extension ByteScan {
    /// Parses the escape whose backslash is at `index` (RFC 8259 section 7).
    ///
    /// - Returns: The Unicode scalar value, and the position after the escape or surrogate pair.
    func escape(at index: Int) throws(BodyParserError) -> (scalar: UInt32, end: Int) {
        let letter = byte(index &+ 1)
        if letter == UInt8(ascii: "u") { return try unicodeEscape(at: index) }
        guard let scalar = ByteScan.shortEscape(letter) else {
            throw BodyParserError(code: index &+ 1 < end ? .invalidEscape : .unexpectedEnd, position: index)
        }
        return (scalar, index &+ 2)
    }

    private static func shortEscape(_ letter: UInt8) -> UInt32? {
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): UInt32(letter)
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "t"): 0x09
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "r"): 0x0D
        default: nil
        }
    }

    private func unicodeEscape(at index: Int) throws(BodyParserError) -> (scalar: UInt32, end: Int) {
        let unit = try hexUnit(index &+ 2, of: index)
        switch unit {
        case 0xD800...0xDBFF:
            guard byte(index &+ 6) == UInt8(ascii: "\\"), byte(index &+ 7) == UInt8(ascii: "u") else {
                throw BodyParserError(code: .loneSurrogate, position: index)
            }
            let low = try hexUnit(index &+ 8, of: index &+ 6)
            guard (0xDC00...0xDFFF).contains(low) else { throw BodyParserError(code: .loneSurrogate, position: index) }
            return (0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00), index &+ 12)
        case 0xDC00...0xDFFF:
            throw BodyParserError(code: .loneSurrogate, position: index)
        default:
            return (unit, index &+ 6)
        }
    }

    private func hexUnit(_ start: Int, of escape: Int) throws(BodyParserError) -> UInt32 {
        var unit: UInt32 = 0
        for index in start..<start + 4 {
            guard let digit = ByteScan.hexDigit(byte(index)) else {
                throw BodyParserError(code: index < end ? .invalidEscape : .unexpectedEnd, position: escape)
            }
            unit = unit << 4 | digit
        }
        return unit
    }

    private static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }
}

extension ByteScan {
    /// Returns the text of a previously scanned string, with its escapes resolved.
    @inline(__always)
    func string(at start: Int, length: Int, flags: UInt32) -> String {
        precondition(start >= 0 && length >= 0 && start &+ length <= end, "a string lies within its buffer")
        guard flags & BodyNode.escaped != 0 else {
            return String(decoding: UnsafeBufferPointer(start: base + start, count: length), as: UTF8.self)
        }
        return unescapedString(at: start, length: length)
    }

    @inline(never)
    private func unescapedString(at start: Int, length: Int) -> String {
        String(unsafeUninitializedCapacity: length) { buffer in
            var used = 0
            unescape(at: start, length: length) { byte in
                buffer[used] = byte
                used += 1
            }
            return used
        }
    }

    /// Calls `emit` with each byte of a previously scanned string of `length` bytes, with its escapes resolved.
    func unescape(at start: Int, length: Int, emit: (UInt8) -> Void) {
        var index = start
        while index < start + length {
            guard byte(index) == UInt8(ascii: "\\"), let escape = try? escape(at: index) else {
                emit(byte(index))
                index += 1
                continue
            }
            UTF8.encode(Unicode.Scalar(escape.scalar) ?? "\u{FFFD}", into: emit)
            index = escape.end
        }
    }
}

extension UTF8 {
    fileprivate static func encode(_ scalar: Unicode.Scalar, into emit: (UInt8) -> Void) {
        encode(scalar)?.forEach(emit)
    }
}

extension ByteScan {
    /// Returns the position after the UTF-8 sequence at `index`, whose first byte is 0x80 or above (RFC 3629 section
    /// 4).
    @inline(__always)
    func sequenceEnd(_ index: Int) throws(BodyParserError) -> Int {
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
        throw BodyParserError(code: .invalidUTF8, position: index)
    }

    @inline(__always)
    private func isTail(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

    /// Checks that a text payload is valid UTF-8.
    func checkText(from start: Int) throws(BodyParserError) {
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
