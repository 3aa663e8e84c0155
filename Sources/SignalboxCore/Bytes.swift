/// An immutable sequence of bytes.
///
/// The bytes are either in the memory that the messages of a batch share or in a separate allocation; in both cases,
/// copying a `Bytes` copies only a reference. Bytes in a batch keep the whole batch alive, so a plugin should call
/// ``copied()`` on bytes that it keeps after its call returns.
public struct Bytes: Sendable {
    package let storage: BatchStorage
    package let start: UInt32
    package let length: UInt32

    package init(storage: BatchStorage, start: UInt32, length: UInt32) {
        self.storage = storage
        self.start = start
        self.length = length
    }

    /// Creates a value that takes ownership of an array without copying it.
    ///
    /// - Precondition: The array holds fewer than 2^32 bytes.
    public init(_ bytes: [UInt8]) {
        self.init(storage: BatchStorage(buffers: BatchBuffers(bytes: bytes)), start: 0, length: UInt32(bytes.count))
    }

    /// Creates a value by copying a string's UTF-8 bytes.
    public init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// Returns the same bytes in a separate allocation that does not keep the batch alive.
    public func copied() -> Bytes {
        Bytes(Array(self))
    }

    /// Calls `body` with the bytes. The pointer is valid only during the call.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.bytes.withUnsafeBufferPointer { (whole: UnsafeBufferPointer<UInt8>) throws(Failure) -> Result in
            let range = Int(start)..<Int(start) + Int(length)
            return try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: whole[range])))
        }
    }

    /// The bytes as text, or `nil` if they are not valid UTF-8.
    public var text: String? {
        String(validating: self, as: UTF8.self)
    }
}

extension Bytes: RandomAccessCollection {
    /// Always 0.
    public var startIndex: Int { 0 }

    /// The number of bytes.
    public var endIndex: Int { Int(length) }

    /// The byte at `position`, counted from 0.
    ///
    /// - Precondition: `position` is in `0..<count`.
    public subscript(position: Int) -> UInt8 {
        precondition(position >= 0 && position < Int(length), "Bytes index out of range")
        return storage.bytes[Int(start) + position]
    }

    /// Calls `body` with the bytes as one contiguous buffer.
    public func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        try storage.bytes.withUnsafeBufferPointer { whole in
            try body(UnsafeBufferPointer(rebasing: whole[Int(start)..<Int(start) + Int(length)]))
        }
    }
}

extension Bytes: CustomStringConvertible {
    /// The bytes as text if they are valid UTF-8. Otherwise, the first 32 bytes in hexadecimal.
    public var description: String { text ?? hexadecimal(first: 32) }

    /// Returns the first `count` bytes in hexadecimal. If there are more, the text ends in `…` and the total number.
    package func hexadecimal(first count: Int) -> String {
        let digits = prefix(count).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return digits.joined(separator: " ") + (self.count > count ? " … (\(self.count) bytes)" : "")
    }
}

extension Bytes: Hashable {
    /// Returns whether both values hold the same bytes.
    public static func == (left: Bytes, right: Bytes) -> Bool {
        left.elementsEqual(right)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// Compares short byte sequences a word at a time. The core compares the action and member names in every message this
/// way.
package enum ByteComparison {
    /// Returns whether both buffers hold the same bytes.
    @inlinable
    package static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        var position = 0
        var difference: UInt64 = 0
        while position + 8 <= left.count {
            difference |=
                left.loadUnaligned(fromByteOffset: position, as: UInt64.self)
                ^ right.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            position += 8
        }
        while position < left.count {
            difference |= UInt64(left[position] ^ right[position])
            position += 1
        }
        return difference == 0
    }
}

/// A 64-bit hash with a random seed, so that senders cannot predict its values.
///
/// The algorithm follows wyhash (Wang Yi, 2019): it reads a word at a time, multiplies two words to 128 bits and folds
/// the halves together. It is not a cryptographic hash. The supervisor uses it to recognize messages that it has
/// already received.
package struct SeededHash: Sendable {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64

    /// Creates a hash with a random seed.
    package init() {
        first = .random(in: .min ... .max)
        second = .random(in: .min ... .max)
        third = .random(in: .min ... .max)
    }

    /// Creates a hash with the secret of a store, so that its values are the same in each run of a program.
    package init(_ secret: StoreSecret) {
        first = secret.words[0]
        second = secret.words[1]
        third = secret.words[2]
    }

    /// Returns the hash of `bytes`.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to hash. Their count also affects the hash.
    ///   - seed: The hash of the preceding piece, if several pieces are hashed in sequence.
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
            let (low, high) = SeededHash.tail(of: bytes, from: position)
            state = SeededHash.fold(low ^ third, high ^ state)
        }
        return SeededHash.fold(state ^ first, third)
    }

    /// Returns the last bytes, of which there are 1 to 15 from `position`. The words may overlap, and may include earlier bytes:
    /// together with the count, they still tell any two sequences apart.
    private static func tail(of bytes: UnsafeRawBufferPointer, from position: Int) -> (low: UInt64, high: UInt64) {
        let end = bytes.count
        if end >= 16 {
            return (bytes.word(at: end - 16, as: UInt64.self), bytes.word(at: end - 8, as: UInt64.self))
        }
        if end >= 8 { return (bytes.word(at: 0, as: UInt64.self), bytes.word(at: end - 8, as: UInt64.self)) }
        if end >= 4 { return (bytes.word(at: 0, as: UInt32.self), bytes.word(at: end - 4, as: UInt32.self)) }
        return (UInt64(bytes[0]) << 8 | UInt64(bytes[end / 2]), UInt64(bytes[end - 1]))
    }

    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func word<Word: UnsignedInteger & BitwiseCopyable>(at position: Int, as type: Word.Type) -> UInt64 {
        UInt64(loadUnaligned(fromByteOffset: position, as: type))
    }
}
