/// Whether bytes that come in pieces are UTF-8 (RFC 3629, 4).
struct UTF8Stream {
    /// How many bytes of a character are still to come.
    private var missing = 0
    /// What the next of them may be.
    private var low: UInt8 = 0x80
    private var high: UInt8 = 0xBF

    /// Whether no character is cut off.
    var isComplete: Bool { missing == 0 }

    /// Whether these bytes are a text, and nothing of it is missing.
    static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var stream = UTF8Stream()
        return stream.take(bytes) && stream.isComplete
    }

    /// - Returns: whether what has come can be the beginning of a text. Nothing is to be taken after `false`.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var place = 0
        while place < bytes.count {
            if missing == 0 {
                place = UTF8Stream.afterASCII(bytes, place)
                guard place < bytes.count else { return true }
                guard begin(bytes[place]) else { return false }
            } else {
                guard bytes[place] >= low && bytes[place] <= high else { return false }
                (missing, low, high) = (missing - 1, 0x80, 0xBF)
            }
            place += 1
        }
        return true
    }

    private static func afterASCII(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var place = start
        // Eight bytes are looked at together.
        while bytes.count - place >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            guard word & 0x8080_8080_8080_8080 == 0 else { break }
            place += 8
        }
        while place < bytes.count, bytes[place] < 0x80 { place += 1 }
        return place
    }

    // Neither what is longer than it need be, nor surrogates, nor what is above U+10FFFF.
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
