import SignalboxCore

/// Stands for what a message is known again by, in 128 bits: the id that its sender gave, with the `source` of an event
/// beside it where the envelope has one. What differs has different keys, and nobody who sends can find two that have not,
/// as both halves are hashed with secrets.
struct RepeatKey: Sendable, Hashable {
    /// No text of UTF-8 has this byte, so that an id alone is never the same as a source and an id.
    private static let mark: UInt8 = 0xFF

    let strong: UInt64
    let fast: UInt64

    init(_ arrival: Arrival, _ hash: SeededHash) {
        let source = arrival.eventSource
        self = arrival.withIDBytes { id in
            guard var source else { return RepeatKey(id, hash) }
            return source.withUTF8 { RepeatKey(id, of: UnsafeRawBufferPointer($0), hash) }
        }
    }

    init(_ id: UnsafeRawBufferPointer, _ hash: SeededHash) {
        var hasher = Hasher()
        hasher.combine(bytes: id)
        strong = UInt64(bitPattern: Int64(hasher.finalize()))
        fast = hash.value(of: id)
    }

    private init(_ id: UnsafeRawBufferPointer, of source: UnsafeRawBufferPointer, _ hash: SeededHash) {
        var hasher = Hasher()
        hasher.combine(RepeatKey.mark)
        hasher.combine(bytes: source)
        hasher.combine(RepeatKey.mark)
        hasher.combine(bytes: id)
        strong = UInt64(bitPattern: Int64(hasher.finalize()))
        fast = hash.value(of: id, after: hash.value(of: source))
    }

    func hash(into hasher: inout Hasher) { hasher.combine(fast) }
}
