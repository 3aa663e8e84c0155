/// Reads from a buffer and never beyond its end: past the end there are zeros, which no JSON token contains.
struct ByteScan {
    let base: UnsafePointer<UInt8>
    let end: Int

    /// The buffer must stay valid as long as the scan is used.
    ///
    /// - Precondition: `end` is at most the buffer's count.
    init(_ buffer: UnsafeBufferPointer<UInt8>, end: Int) {
        guard let base = buffer.baseAddress else { preconditionFailure("a scan needs a buffer") }
        precondition(end >= 0 && end <= buffer.count, "the end of a scan is within its buffer")
        self.base = base
        self.end = end
    }

    /// The byte at `index`, which must not be negative.
    @inline(__always)
    func byte(_ index: Int) -> UInt8 {
        index < end ? base[index] : 0
    }

    /// The eight bytes from `index` on, the first in the low byte; `index` must not be negative.
    @inline(__always)
    func word(_ index: Int) -> UInt64 {
        guard index &+ 8 <= end else { return lastWord(index) }
        return UInt64(littleEndian: UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self))
    }

    /// Fewer than eight bytes are left: taken by loads that overlap, and none of them beyond the end.
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

    /// Whether `length` bytes at two places are the same.
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
