/// The packet identifiers of a connection's SUBSCRIBE, UNSUBSCRIBE and QoS 1 PUBLISH packets (MQTT 5.0, 2.2.1).
///
/// An identifier is in use from its packet until the answer to it. Identifiers are taken in ascending order and start
/// again at 1 after 65,535, so a released one is not used again soon. The set has 8 KiB. Taking an identifier looks at a
/// few words at most, and releasing one looks at a single word.
struct PacketIdentifiers {
    /// One bit for each identifier in use. The bit of 0, which is no identifier, is always set.
    private var used = [UInt64](repeating: 0, count: 1_024)
    /// One bit for each word of ``used`` in which all bits are set.
    private var full = [UInt64](repeating: 0, count: 16)
    private var next: UInt16 = 1
    /// The number of identifiers in use.
    private(set) var count = 0

    init() {
        used[0] = 1
    }

    /// Takes an identifier that is not in use.
    ///
    /// - Returns: `nil` if all 65,535 identifiers are in use.
    mutating func take() -> UInt16? {
        guard let identifier = firstFree(from: Int(next)) ?? firstFree(from: 0) else { return nil }
        let word = identifier >> 6
        used[word] |= 1 << UInt64(identifier & 63)
        if used[word] == .max { full[word >> 6] |= 1 << UInt64(word & 63) }
        count += 1
        next = UInt16(truncatingIfNeeded: identifier &+ 1)
        return UInt16(truncatingIfNeeded: identifier)
    }

    /// Releases an identifier after its answer.
    ///
    /// - Returns: `false` if the identifier was not in use, because the server answered something that was not sent.
    @discardableResult
    mutating func release(_ identifier: UInt16) -> Bool {
        guard contains(identifier) else { return false }
        let word = Int(identifier) >> 6
        used[word] &= ~(1 << UInt64(identifier & 63))
        full[word >> 6] &= ~(1 << UInt64(word & 63))
        count -= 1
        return true
    }

    /// Whether the identifier is in use.
    func contains(_ identifier: UInt16) -> Bool {
        identifier != 0 && used[Int(identifier) >> 6] & 1 << UInt64(identifier & 63) != 0
    }

    /// Returns the first identifier from this one on that is not in use.
    private func firstFree(from first: Int) -> Int? {
        let word = first >> 6
        let free = ~used[word] & (.max << UInt64(first & 63))
        if free != 0 { return word << 6 | free.trailingZeroBitCount }
        return firstWord(after: word).map { $0 << 6 | (~used[$0]).trailingZeroBitCount }
    }

    /// Returns the first word after this one in which a bit is clear.
    private func firstWord(after word: Int) -> Int? {
        guard word < used.count - 1 else { return nil }
        let start = word + 1
        var mask = UInt64.max << UInt64(start & 63)
        for index in (start >> 6)..<full.count {
            let free = ~full[index] & mask
            if free != 0 { return index << 6 | free.trailingZeroBitCount }
            mask = .max
        }
        return nil
    }
}
