/// An immutable run of bytes: a range of a batch's shared memory, or memory of its own.
///
/// Copying a `Bytes` copies a reference. A range of a batch keeps the whole batch alive; ``copied()`` gives the same
/// content in memory of its own, for whoever keeps it for long.
public struct Bytes: Sendable {
    package let storage: BatchStorage
    package let start: UInt32
    package let length: UInt32

    package init(storage: BatchStorage, start: UInt32, length: UInt32) {
        self.storage = storage
        self.start = start
        self.length = length
    }

    /// Takes over an array as memory of its own.
    ///
    /// - Precondition: the array holds fewer than 2^32 bytes.
    public init(_ bytes: [UInt8]) {
        self.init(storage: BatchStorage(bytes: bytes), start: 0, length: UInt32(bytes.count))
    }

    /// Copies the UTF-8 form of a text.
    public init(_ text: String) {
        self.init(Array(text.utf8))
    }

    /// The same content in memory of its own.
    public func copied() -> Bytes {
        Bytes(Array(self))
    }

    /// Calls `body` with the bytes; the pointer is valid during the call only.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.bytes.withUnsafeBufferPointer { (whole: UnsafeBufferPointer<UInt8>) throws(Failure) -> Result in
            let range = Int(start)..<Int(start) + Int(length)
            return try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: whole[range])))
        }
    }

    /// The bytes as text, or `nil` when they are not UTF-8.
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

    /// Gives the standard library's algorithms the bytes in one piece.
    public func withContiguousStorageIfAvailable<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
    ) rethrows -> Result? {
        try storage.bytes.withUnsafeBufferPointer { whole in
            try body(UnsafeBufferPointer(rebasing: whole[Int(start)..<Int(start) + Int(length)]))
        }
    }
}

extension Bytes: Hashable {
    /// Equal when the bytes are.
    public static func == (left: Bytes, right: Bytes) -> Bool {
        left.elementsEqual(right)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}
