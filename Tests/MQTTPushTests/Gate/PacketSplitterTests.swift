import TestSupport
import Testing

@testable import MQTTPush

/// A stream gives the same packets however it is divided, and the buffer stays within its bound.
struct PacketSplitterTests {
    /// Reads a stream and returns the first byte, the body and the remaining length of each packet.
    private func split(
        _ stream: [UInt8],
        pieces: [Int],
        limit: Int = 1 << 22,
        capacity: Int = 64
    ) throws -> [(first: UInt8, body: [UInt8], length: Int, isOversized: Bool)] {
        var splitter = PacketSplitter(packetLimit: limit, capacity: capacity)
        var packets: [(first: UInt8, body: [UInt8], length: Int, isOversized: Bool)] = []
        var (offset, turn) = (0, 0)
        while offset < stream.count {
            let state = splitter.state
            #expect(state.hasSpace)
            splitter.feed(stream, &offset, most: pieces[turn % pieces.count])
            turn += 1
            while let frame = try splitter.next() {
                let body = splitter.withBytes { Array($0[frame.body]) }
                packets.append((frame.first, body, frame.length, frame.isOversized))
            }
            let rest = splitter.state
            #expect(rest.size <= max(capacity, max(limit, 65_548) + capacity / 4))
        }
        let state = splitter.state
        #expect(!state.hasBytes)
        return packets
    }

    @Test func eachDivisionGivesTheSamePackets() throws {
        let packets = SpecificationPacket.all.prefix(40).map(\.bytes)
        let stream = packets.flatMap { $0 }
        for size in 1...stream.count {
            let read = try split(stream, pieces: [size])
            #expect(read.map { [$0.first] + Wire.integer($0.length) + $0.body } == packets)
        }
        var random = SeededGenerator(seed: 1)
        for _ in 0..<200 {
            let pieces = (0..<20).map { _ in Int.random(in: 1...60, using: &random) }
            let read = try split(stream, pieces: pieces, capacity: Int.random(in: 8...400, using: &random))
            #expect(read.map { [$0.first] + Wire.integer($0.length) + $0.body } == packets)
        }
    }

    @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152])
    func aLengthIsReadAtTheBoundsOfItsEncoding(_ length: Int) throws {
        let body = [UInt8](repeating: 0xAB, count: length)
        let stream = Wire.packet(0x32, body) + [0xD0, 0x00]
        for pieces in [[1, 1, 1, 1, 1, 1 << 22], [100_000], [1 << 22]] {
            let read = try split(stream, pieces: pieces)
            #expect(read.count == 2 && read[0].first == 0x32 && read[0].body == body && !read[0].isOversized)
            #expect(read[1].first == 0xD0 && read[1].length == 0)
        }
    }

    @Test func theStartOfAPacketIsItsFirstByte() throws {
        for length in [0, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152] {
            let stream = [0xD0, 0x00] + Wire.packet(0x30, [UInt8](repeating: 1, count: length))
            var splitter = PacketSplitter(packetLimit: 1 << 22, capacity: stream.count)
            var offset = 0
            splitter.feed(stream, &offset)
            _ = try splitter.next()
            let start = try splitter.next()?.start
            #expect(start == 2)
        }
    }

    @Test(
        arguments: [
            ([0x30, 0x80, 0x00], .integerNotShortest), ([0x30, 0xFF, 0x00], .integerNotShortest),
            ([0x30, 0x80, 0x80, 0x00], .integerNotShortest), ([0x30, 0x80, 0x80, 0x80, 0x00], .integerNotShortest),
            ([0x30, 0x80, 0x80, 0x80, 0x80], .integerTooLong), ([0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], .integerTooLong),
        ] as [([UInt8], PacketViolation.Rule)]
    )
    func aLengthHasAtMostFourBytesInTheShortestForm(_ stream: [UInt8], _ rule: PacketViolation.Rule) {
        let expected = PacketViolation(rule, at: 1, in: .publish)
        for size in 1...stream.count {
            #expect(throws: expected) { try split(stream, pieces: [size]) }
        }
    }

    @Test(
        arguments: [
            ([0x40, 0x80, 0x00, 0xD0, 0x00], .integerNotShortest), ([0x40, 0x7F, 0xD0, 0x00], .packetSize),
        ] as [([UInt8], PacketViolation.Rule)]
    )
    func aViolationIsFinal(_ packet: [UInt8], _ rule: PacketViolation.Rule) throws {
        var splitter = PacketSplitter(packetLimit: 100, capacity: 64)
        var offset = 0
        splitter.feed([0xD0, 0x00] + packet, &offset)
        let first = try splitter.next()?.first
        #expect(first == 0xD0)
        for _ in 0..<3 {
            var violation: PacketViolation?
            do throws(PacketViolation) { _ = try splitter.next() } catch { violation = error }
            #expect(violation == PacketViolation(rule, at: 1, in: .puback))
        }
    }

    @Test func theLastByteCompletesAPacket() throws {
        let stream = Wire.packet(0x30, [UInt8](repeating: 7, count: 300))
        var splitter = PacketSplitter(packetLimit: 1_000, capacity: 16)
        for index in stream.indices {
            var offset = index
            splitter.feed(Array(stream[...index]), &offset)
            let state = splitter.state
            #expect(state.hasBytes)
            let frame = try splitter.next()
            #expect((frame != nil) == (index == stream.count - 1))
        }
        let state = splitter.state
        #expect(!state.hasBytes)
    }
}

/// Packets over the packet limit.
extension PacketSplitterTests {
    /// - Parameter limit: At least 65,548: below, more of a PUBLISH is kept than its limit.
    @Test(arguments: [65_548, 70_000, 200_000])
    func aMessageOverTheLimitKeepsItsStart(_ limit: Int) throws {
        for total in [limit - 1, limit, limit + 1, 4 * limit] {
            let body = (0..<total - 4).map { UInt8(truncatingIfNeeded: $0) }
            let stream = [0xD0, 0x00] + Wire.packet(0x32, body) + [0xD0, 0x00]
            for pieces in [[1_000], [65_553, 1, 4_096], [1 << 22]] {
                let read = try split(stream, pieces: pieces, limit: limit, capacity: 4_096)
                try #require(read.count == 3)
                #expect(read[1].length == total - 4 && read[1].isOversized == (total > limit))
                #expect(read[1].body == Array(body.prefix(limit - 4)) && read[2].first == 0xD0)
            }
        }
    }

    @Test func aMessageOverASmallLimitKeepsItsTopic() throws {
        let body = (0..<3_000).map { UInt8(truncatingIfNeeded: $0) }
        let stream = Wire.packet(0x30, body) + [0xD0, 0x00]
        for size in [1, 2, 3, 100, 5_000] {
            let read = try split(stream, pieces: [size], limit: 100)
            #expect(read.count == 2 && read[0].body == body && read[0].isOversized)
        }
    }

    @Test func anotherPacketOverTheLimitIsAViolation() throws {
        for first: UInt8 in [0x20, 0x40, 0x90, 0xB0, 0xD0, 0xE0, 0xF0, 0x00] {
            #expect(try split(Wire.packet(first, [UInt8](repeating: 0, count: 98)), pieces: [7], limit: 100).count == 1)
            let violation = PacketViolation(.packetSize, at: 1, in: PacketType(first: first))
            // The body has not arrived.
            #expect(throws: violation) { try split([first, 99], pieces: [7], limit: 100) }
            #expect(violation.code == 0x95)
        }
    }

    @Test func theLengthOfTheWholePayloadIsKnown() {
        for (properties, version) in [(0, .v5), (40, .v5), (70_000, .v5), (0, .v311)] as [(Int, MQTTVersion)] {
            let block = [UInt8](repeating: 0x01, count: 0) + (properties == 0 ? [] : Self.user(properties))
            let header = Wire.text("a/b") + [0, 9] + (version == .v5 ? Wire.integer(block.count) + block : [])
            let payload = [UInt8](repeating: 0x20, count: 100_000)
            let stream = Wire.packet(0x32, header + payload)
            let reading = PacketReading(
                stream + [0xD0, 0x00],
                SpecificationPacket.Phase.open.checker(version),
                pieces: [10_000],
                limit: 65_548,
                capacity: 4_096
            )
            let isCut = properties > 65_000
            let kept = isCut ? 0 : 65_548 - 4 - header.count
            #expect(reading.texts.dropFirst() == ["pong", "complete"])
            let texts = "\(isCut ? [] : block) \(payload.prefix(kept))"
            #expect(reading.texts[0] == "oversized 100000 publish [97, 47, 98] 1 9 false false \(texts)")
        }
    }

    @Test func aMessageOverTheLimitIsCheckedToo() {
        let rest = [UInt8](repeating: 0x20, count: 200)
        for (head, rule) in [
            ([0, 1, 0, 0], .invalidText), ([0, 0, 0], .emptyTopic), ([0, 1, 0x61, 0x80, 0], .integerNotShortest),
            ([0, 1, 0x61, 0xFF, 0x7F], .truncated), ([0, 1, 0x61, 1, 0x7F], .property),
            ([0, 1, 0x61, 3, 0x23, 0, 9], .topicAlias),
        ] as [([UInt8], PacketViolation.Rule)] {
            let stream = Wire.packet(0x30, head + rest)
            let reading = PacketReading(stream, SpecificationPacket.Phase.open.checker(.v5), limit: 100)
            #expect(reading.violation?.rule == rule)
        }
        let aliased = Wire.packet(0x30, [0, 0, 0x80, 0x80, 0x08] + [UInt8](repeating: 0, count: 131_072))
        let reading = PacketReading(aliased, SpecificationPacket.Phase.open.checker(.v5), limit: 100)
        #expect(reading.violation?.rule == .packetSize)
    }

    /// User properties of about this size.
    private static func user(_ size: Int) -> [UInt8] {
        (0..<size / 10).flatMap { _ in [0x26] + Wire.text("nam") + Wire.text("va") }
    }
}

/// The space for reads.
extension PacketSplitterTests {
    @Test func aLengthAloneReservesNoMemory() throws {
        var splitter = PacketSplitter(packetLimit: 1 << 22, capacity: 4_096)
        let stream = [0x30, 0xFF, 0xFF, 0x7F] + [UInt8](repeating: 0, count: 100_000)
        var offset = 0
        while offset < stream.count {
            splitter.feed(stream, &offset, most: 10_000)
            let isComplete = try splitter.next() != nil
            let state = splitter.state
            #expect(!isComplete && state.size <= max(2 * offset, 4_096))
        }
    }

    @Test func theBufferShrinksAfterALargePacket() throws {
        var splitter = PacketSplitter(packetLimit: 1 << 20, capacity: 4_096)
        let stream = Wire.packet(0x30, [UInt8](repeating: 0, count: 100_000))
        var offset = 0
        var frame: PacketFrame?
        while offset < stream.count {
            splitter.feed(stream, &offset)
            frame = try splitter.next()
        }
        let state = splitter.state
        #expect(frame?.length == 100_000 && state.size > 100_000)
        _ = splitter.fill { _ in 0 }
        let shrunk = splitter.state
        #expect(shrunk.size == 4_096)
    }

    @Test func aBufferFullOfPacketsHasNoSpace() throws {
        var splitter = PacketSplitter(packetLimit: 100, capacity: 64)
        let stream = [UInt8](repeating: 0xD0, count: 64).enumerated().map { $0.offset % 2 == 0 ? 0xD0 : 0 } as [UInt8]
        var offset = 0
        splitter.feed(stream, &offset)
        let state = splitter.state
        #expect(offset == 64 && !state.hasSpace)
        var calls = 0
        let result = splitter.fill { _ in
            calls += 1
            return 0
        }
        #expect(result == 0 && calls == 0)
        var count = 0
        while try splitter.next() != nil { count += 1 }
        let emptied = splitter.state
        #expect(count == 32 && emptied.hasSpace && !emptied.hasBytes)
    }

    @Test func aReadReturnsItsErrorAndItsResult() {
        struct Failure: Error {}
        var splitter = PacketSplitter(packetLimit: 100, capacity: 64)
        var hasFailed = false
        do { _ = try splitter.fill { _ throws(Failure) in throw Failure() } } catch { hasFailed = true }
        #expect(hasFailed)
        // The last reader claims more than the space that it got.
        for (result, count) in [(-1, 0), (0, 0), (Int.min, 0), (Int.max, 64)] {
            let returned = splitter.fill { _ in result }
            let buffered = splitter.withBytes { $0.count }
            #expect(returned == result && buffered == count)
        }
    }
}

extension PacketSplitter {
    /// A copy for `#expect`, which cannot take the splitter itself.
    var state: (hasBytes: Bool, hasSpace: Bool, size: Int) { (hasBytes, hasSpace, size) }

    /// Fills the buffer once with the bytes from an offset, and moves the offset behind what was read.
    mutating func feed(_ stream: [UInt8], _ offset: inout Int, most: Int = .max) {
        _ = fill { space in
            let count = min(space.count, most, stream.count - offset)
            stream.withUnsafeBytes { bytes in
                space.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count]))
            }
            offset += count
            return count
        }
    }
}
