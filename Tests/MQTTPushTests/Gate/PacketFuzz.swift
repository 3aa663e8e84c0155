@testable import MQTTPush

/// Packets of a broker: a byte of settings (bit 0: MQTT 3.1.1; bits 1 and 2: the phase; bit 3: a packet limit of 100
/// bytes; bit 4: a second reader reads the stream, too; bit 5: no topic aliases), four bytes with the sizes of the
/// pieces, less 1, and the stream.
///
/// For any input, the result does not depend on the pieces, each range is within its packet, the buffer is bounded, and
/// a violation is the last result. A broken invariant traps.
func fuzzPackets(_ input: [UInt8]) {
    let settings = input.first ?? 0
    let pieces = input.dropFirst().prefix(4).map { Int($0) + 1 }
    let stream = Array(input.dropFirst(5))
    let version: MQTTVersion = settings & 1 == 0 ? .v5 : .v311
    let phase = SpecificationPacket.Phase.allCases[Int(settings >> 1 & 3) % 3]
    // The second reader knows no limit.
    let hasSecondReader = settings & 0x18 == 0x10
    let limit = hasSecondReader ? 1 << 29 : settings & 8 == 0 ? 1 << 20 : 100
    let hasAliases = settings & 0x20 == 0
    let checker = phase.checker(version, hasAliases: hasAliases)
    let whole = PacketReading(stream, checker, limit: limit)
    requirePackets(!whole.hasForeignRange, "a range outside of its packet")
    for (sizes, capacity) in [([1], 8), (pieces, 8), (pieces, 300)] {
        let divided = PacketReading(stream, checker, pieces: sizes, limit: limit, capacity: capacity)
        requirePackets(divided.texts == whole.texts, "pieces of \(sizes): \(divided.texts), whole: \(whole.texts)")
        requirePackets(divided.violation == whole.violation, "the violation depends on the pieces")
        requirePackets(divided.size <= limit + 256 * 1_024, "a buffer of \(divided.size)")
    }
    if let violation = whole.violation {
        requirePackets(0...stream.count ~= violation.offset, "the offset of \(violation.text)")
        requirePackets(violation.type != nil && 0x81...0x95 ~= violation.code, "a violation is complete")
    }
    guard hasSecondReader else { return }
    var naive = phase.naive(version, hasAliases: hasAliases)
    let expected = naive.read(stream)
    requirePackets(whole.texts == expected, "\(whole.texts), the second reader: \(expected)")
}

private func requirePackets(_ condition: Bool, _ rule: @autoclosure () -> String) {
    guard condition else { fatalError("broken: \(rule())") }
}
