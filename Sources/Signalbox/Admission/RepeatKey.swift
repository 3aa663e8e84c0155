import SignalboxCore

/// Stands for the id that a sender gave, in 128 bits: ids of different bytes have different keys, and nobody who sends can
/// find two that have not, as both halves are hashed with secrets.
struct RepeatKey: Sendable, Hashable {
    let strong: UInt64
    let fast: UInt64

    init(_ id: UnsafeRawBufferPointer, _ hash: SeededHash) {
        var hasher = Hasher()
        hasher.combine(bytes: id)
        strong = UInt64(bitPattern: Int64(hasher.finalize()))
        fast = hash.value(of: id)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(fast) }
}
