/// A 64-bit hash of bytes, read in words, with a secret of its own: fast, and nobody who sends can foresee it.
///
/// In the manner of wyhash (Wang Yi, 2019): two words are multiplied to 128 bits, whose halves are folded together. It
/// tells messages apart and is of no use for secrets.
package struct SeededHash: Sendable {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64

    /// A hash whose values no other instance has.
    package init() {
        first = .random(in: .min ... .max)
        second = .random(in: .min ... .max)
        third = .random(in: .min ... .max)
    }

    /// - Parameters:
    ///   - bytes: what is hashed; their number counts too.
    ///   - seed: what was hashed before it, where pieces follow each other.
    package func value(of bytes: UnsafeRawBufferPointer, after seed: UInt64 = 0) -> UInt64 {
        var state = SeededHash.fold(seed ^ first, UInt64(bytes.count) ^ second)
        var position = 0
        while position + 16 <= bytes.count {
            let low = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let high = bytes.loadUnaligned(fromByteOffset: position + 8, as: UInt64.self)
            state = SeededHash.fold(low ^ second, high ^ state)
            position += 16
        }
        if position < bytes.count {
            let low = SeededHash.word(bytes, at: position)
            let high = SeededHash.word(bytes, at: position + 8)
            state = SeededHash.fold(low ^ third, high ^ state)
        }
        return SeededHash.fold(state ^ first, third)
    }

    /// The eight bytes from a position on; zeros beyond the end.
    private static func word(_ bytes: UnsafeRawBufferPointer, at position: Int) -> UInt64 {
        guard position + 8 > bytes.count else { return bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self) }
        var word: UInt64 = 0
        var shift: UInt64 = 0
        var position = position
        while position < bytes.count {
            word |= UInt64(bytes[position]) << shift
            shift += 8
            position += 1
        }
        return word
    }

    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
