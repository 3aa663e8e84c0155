import Testing

@testable import MQTTPush

/// Bytes without a meaning.
private struct Filler: PacketContent {
    let bytes: [UInt8]

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) { fields.rest(bytes) }
}

/// A content that breaks its contract: its passes write different fields.
private final class Changing: PacketContent {
    var counts: [Int]

    init(_ counts: [Int]) { self.counts = counts }

    func write(to fields: inout some PacketFields) throws(PacketEncodingError) {
        fields.rest([UInt8](repeating: 1, count: counts.removeFirst()))
    }
}

struct PacketOutputTests {
    @Test
    func acknowledgementsHaveFourBytes() {
        var output = PacketOutput(capacity: 16)
        output.acknowledge(packet: 0x1234)
        output.acknowledge(packet: 0xFFFF)
        // MQTT 5.0, 3.4.2.1; MQTT 3.1.1, 3.4.
        let bytes = output.take()
        #expect(bytes == [0x40, 2, 0x12, 0x34, 0x40, 2, 0xFF, 0xFF])
    }

    @Test(arguments: 1...20)
    func bytesLeaveInTheOrderInWhichTheyWereAdded(seed: UInt64) throws {
        var generator = PacketGenerator(seed: seed)
        var output = PacketOutput(capacity: 16, limit: generator.number(16...400))
        var model: [UInt8] = []
        for step in 0..<2_000 {
            switch generator.number(0...5) {
            case 0:
                output.acknowledge(packet: UInt16(truncatingIfNeeded: step))
                model += [0x40, 2, UInt8(truncatingIfNeeded: step >> 8), UInt8(truncatingIfNeeded: step)]
            case 1:
                output.ping()
                model += [0xC0, 0]
            case 2, 3:
                let bytes = generator.data(0...120)
                do throws(PacketEncodingError) {
                    try output.add(0x30, Filler(bytes: bytes), isSecret: generator.chance(30))
                    model += [0x30, UInt8(bytes.count)] + bytes
                } catch {
                    #expect(error == .outputFull)
                }
            default:
                let count = min(model.count, generator.number(0...90))
                output.removeFirst(count)
                model.removeFirst(count)
            }
            let (held, count, isEmpty) = (output.withBytes { Array($0) }, output.count, output.isEmpty)
            try #require(held == model && count == model.count && isEmpty == model.isEmpty)
        }
    }

    @Test
    func theLimitBoundsThePacketsThatWait() throws {
        var output = PacketOutput(capacity: 16, limit: 32)
        try output.add(0x30, Filler(bytes: [UInt8](repeating: 0, count: 14)))
        try output.add(0x30, Filler(bytes: [UInt8](repeating: 0, count: 14)))
        var error: PacketEncodingError?
        do throws(PacketEncodingError) { try output.add(0x30, Filler(bytes: [])) } catch let caught { error = caught }
        #expect(error == .outputFull)
        // Acknowledgements do not count.
        output.acknowledge(packet: 1)
        let count = output.count
        #expect(count == 36)
        output.removeFirst(count)
        // A packet over the limit is added to an empty output, and its memory does not stay.
        try output.add(0x30, Filler(bytes: [UInt8](repeating: 0, count: 1_000)))
        let large = output.capacity
        #expect(large >= 1_003)
        output.removeFirst(1_003)
        let small = output.capacity
        #expect(small == 16)
    }

    @Test
    func theMemoryIsReused() throws {
        var output = PacketOutput(capacity: 64, limit: 4_096)
        let filler = Filler(bytes: [UInt8](repeating: 0, count: 100))
        for _ in 0..<8 { try output.add(0x30, filler) }
        let capacity = output.capacity
        for _ in 0..<10_000 {
            output.removeFirst(102)
            try output.add(0x30, filler)
        }
        // Bytes move only after as many have been removed, which needs at most twice the memory.
        let later = output.capacity
        #expect(later <= 2 * capacity)
    }

    @Test
    func removingTooManyOrNegativeCountsIsHarmless() {
        var output = PacketOutput()
        output.ping()
        output.removeFirst(-1)
        let before = output.count
        #expect(before == 2)
        output.removeFirst(.max)
        let after = output.count
        #expect(after == 0)
    }

    @Test
    func writtenSecretsAreOverwritten() throws {
        // The memory stays in place, so its old bytes can be read while something else waits behind them.
        var output = PacketOutput(capacity: 64)
        try output.add(0x10, Filler(bytes: Array("secret".utf8)), isSecret: true)
        output.acknowledge(packet: 1)
        let base = output.withBytes { $0.baseAddress }
        output.removeFirst(5)
        let part = output.withBytes { bytes in Array(UnsafeRawBufferPointer(start: base, count: 5)) }
        #expect(part == [0, 0, 0, 0, 0])
        output.removeFirst(3)
        let whole = output.withBytes { bytes in Array(UnsafeRawBufferPointer(start: base, count: 8)) }
        #expect(whole == [0, 0, 0, 0, 0, 0, 0, 0])
        let rest = output.take()
        #expect(rest == [0x40, 2, 0, 1])
    }

    @Test
    func secretsAreOverwrittenWhenTheyMove() throws {
        var output = PacketOutput(capacity: 64)
        try output.add(0x30, Filler(bytes: [UInt8](repeating: 1, count: 30)))
        try output.add(0x10, Filler(bytes: Array("secret".utf8)), isSecret: true)
        output.removeFirst(32)
        let base = output.withBytes { $0.baseAddress }
        // Moves the secret to the start of the same memory, of which the new packet does not reach the old place.
        try output.add(0x30, Filler(bytes: [UInt8](repeating: 2, count: 23)))
        let (moved, old) = output.withBytes { bytes in
            (bytes.baseAddress, Array(UnsafeRawBufferPointer(start: base, count: 8).dropFirst()))
        }
        #expect(moved != base)
        #expect(old == [UInt8](repeating: 0, count: 7))
        let secret = output.withBytes { bytes in Array(bytes.prefix(8)) }
        #expect(secret == [0x10, 6] + Array("secret".utf8))
        output.removeFirst(8)
        let removed = output.withBytes { _ in Array(UnsafeRawBufferPointer(start: moved, count: 8)) }
        #expect(removed == [UInt8](repeating: 0, count: 8))
    }

    @Test
    func resettingRemovesAndOverwritesEverything() {
        var output = PacketOutput()
        output.acknowledge(packet: 0x0102)
        let base = output.withBytes { $0.baseAddress }
        output.resetBytes()
        let count = output.count
        let bytes = output.withBytes { _ in Array(UnsafeRawBufferPointer(start: base, count: 4)) }
        #expect(count == 0)
        #expect(bytes == [0, 0, 0, 0])
    }

    @Test(arguments: [[3, 2], [2, 3], [0, 1]])
    func aContentWithUnequalPassesAddsNothing(counts: [Int]) {
        var output = PacketOutput()
        let content = Changing(counts)
        expectError(.inconsistentLength, &output) { output throws(PacketEncodingError) in
            try output.add(0x10, content, isSecret: true)
        }
    }
}
