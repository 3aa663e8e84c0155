/// Validates UTF-8 text that arrives in pieces (RFC 3629, section 4).
package struct UTF8Stream {
    /// The number of bytes still missing from the current character.
    private var missing = 0
    /// The valid range of the next byte.
    private var low: UInt8 = 0x80
    private var high: UInt8 = 0xBF

    package init() {}

    /// Whether the bytes so far end with a complete character.
    package var isComplete: Bool { missing == 0 }

    /// Returns whether the bytes are complete UTF-8 text.
    package static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var stream = UTF8Stream()
        return stream.take(bytes) && stream.isComplete
    }

    /// Validates the next piece of a text.
    ///
    /// - Returns: Whether the bytes so far can be the beginning of a valid text. Do not call this method again after it
    ///   returns `false`.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            if missing == 0 {
                index = UTF8Stream.afterASCII(bytes, index)
                guard index < bytes.count else { return true }
                guard begin(bytes[index]) else { return false }
            } else {
                guard bytes[index] >= low && bytes[index] <= high else { return false }
                (missing, low, high) = (missing - 1, 0x80, 0xBF)
            }
            index += 1
        }
        return true
    }

    private static func afterASCII(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var index = start
        // ASCII text is common, so it is checked eight bytes at a time.
        while bytes.count - index >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard word & 0x8080_8080_8080_8080 == 0 else { break }
            index += 8
        }
        while index < bytes.count, bytes[index] < 0x80 { index += 1 }
        return index
    }

    // Overlong forms, surrogates and values above U+10FFFF are invalid.
    private mutating func begin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0xC2...0xDF: (missing, low, high) = (1, 0x80, 0xBF)
        case 0xE0: (missing, low, high) = (2, 0xA0, 0xBF)
        case 0xED: (missing, low, high) = (2, 0x80, 0x9F)
        case 0xE1...0xEF: (missing, low, high) = (2, 0x80, 0xBF)
        case 0xF0: (missing, low, high) = (3, 0x90, 0xBF)
        case 0xF1...0xF3: (missing, low, high) = (3, 0x80, 0xBF)
        case 0xF4: (missing, low, high) = (3, 0x80, 0x8F)
        default: return false
        }
        return true
    }
}

extension Bytes {
    /// Whether the bytes are UTF-8 text.
    package var isUTF8: Bool { withUnsafeBytes { UTF8Stream.isText($0) } }
}
