/// Zeros, compressed for permessage-deflate (RFC 7692, 7.2.1) by the fixed codes of DEFLATE (RFC 1951, 3.2.6): 159 to 1.
struct ZerosInLittle {
    private(set) var bytes: [UInt8] = []
    private var bits: UInt32 = 0
    private var count: UInt32 = 0

    init(count total: Int) {
        // A block with fixed codes that is not the last.
        put(0b010, 3)
        putCode(0x30, 8)
        for _ in 0..<(total - 1) / 258 {
            // 258 bytes more of what was one byte before.
            putCode(0b1100_0101, 8)
            putCode(0, 5)
        }
        for _ in 0..<(total - 1) % 258 { putCode(0x30, 8) }
        putCode(0, 7)
        // The beginning of an empty block; the rest of it is left out.
        put(0, 3)
        if count > 0 { put(0, 8 - count) }
    }

    private mutating func put(_ value: UInt32, _ length: UInt32) {
        bits |= value << count
        count += length
        while count >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
            count -= 8
        }
    }

    // Codes begin with their highest bit.
    private mutating func putCode(_ code: UInt32, _ length: UInt32) {
        for place in (0..<length).reversed() { put(code >> place & 1, 1) }
    }
}
