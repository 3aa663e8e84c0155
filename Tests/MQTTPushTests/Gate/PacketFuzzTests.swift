import TestSupport
import Testing

@testable import MQTTPush

/// Runs the fuzz target with seeded input, so that each test run has a little of it.
struct PacketFuzzTests {
    @Test func randomBytesBreakNoInvariant() {
        var random = SeededGenerator(seed: 2)
        for _ in 0..<1_500 {
            let count = Int.random(in: 0...80, using: &random)
            fuzzPackets((0..<count + 5).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        }
    }

    /// Up to five packets, of which some bytes are replaced, left out or doubled.
    @Test func damagedPacketsBreakNoInvariant() {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<1_500 {
            let version = Bool.random(using: &random) ? MQTTVersion.v5 : .v311
            let phase = Int.random(in: 0...2, using: &random)
            let packets = SpecificationPacket.all.filter { $0.version == version }
            var stream: [UInt8] = phase == 2 ? [] : version == .v5 ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0]
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                stream += packets[Int.random(in: 0..<packets.count, using: &random)].bytes
            }
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let index = Int.random(in: 0..<stream.count, using: &random)
                switch Int.random(in: 0...3, using: &random) {
                case 0: stream.insert(stream[index], at: index)
                case 1 where stream.count > 1: stream.remove(at: index)
                case 2: stream[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
                default: stream[index] = UInt8(truncatingIfNeeded: random.next())
                }
            }
            let settings = (version == .v5 ? 0 : 1) | UInt8(phase) << 1 | (UInt8.random(in: 0...7, using: &random) << 3)
            fuzzPackets([settings] + (0..<4).map { _ in UInt8.random(in: 0...40, using: &random) } + stream)
        }
    }
}
