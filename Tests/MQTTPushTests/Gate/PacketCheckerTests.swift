import Testing

@testable import MQTTPush

/// Each packet from a broker is either what the specifications define, or a violation.
struct PacketCheckerTests {
    @Test(arguments: SpecificationPacket.all)
    func aPacketOfTheSpecificationIsReadAsItsMeaning(_ packet: SpecificationPacket) {
        let reading = PacketReading(packet.bytes, packet.phase.checker(packet.version))
        #expect(reading.texts == [packet.reading, "complete"], "\(reading.violation?.text ?? "")")
        var naive = packet.phase.naive(packet.version)
        #expect(naive.read(packet.bytes) == [packet.reading, "complete"])
    }

    /// The damage can also change the length, so that the packet is followed by another or waits for more bytes.
    @Test(arguments: SpecificationPacket.all)
    func aDamagedByteIsReadAsASecondReaderReadsIt(_ packet: SpecificationPacket) {
        let (checker, naive) = (packet.phase.checker(packet.version), packet.phase.naive(packet.version))
        for index in packet.bytes.indices {
            var bytes = packet.bytes
            // In a long packet, most bytes are filler: the values that differ in one bit are enough.
            let isLong = bytes.count > 48
            for value in UInt8.min...UInt8.max where !isLong || (value ^ packet.bytes[index]).nonzeroBitCount < 2 {
                bytes[index] = value
                let reading = PacketReading(bytes, checker)
                var second = naive
                let expected = second.read(bytes)
                if reading.texts != expected {
                    Issue.record("byte \(index) is \(value): \(reading.texts), expected \(expected)")
                    return
                }
                if let violation = reading.violation, !(0...bytes.count).contains(violation.offset) {
                    Issue.record("byte \(index) is \(value): the offset of \(violation.text)")
                    return
                }
            }
        }
    }

    @Test(arguments: SpecificationPacket.all)
    func aPacketThatIsCutOffIsIncomplete(_ packet: SpecificationPacket) {
        for count in 1..<packet.bytes.count {
            let reading = PacketReading(Array(packet.bytes.prefix(count)), packet.phase.checker(packet.version))
            #expect(reading.texts == ["incomplete"])
        }
    }

    /// The fixed header then has the length of the part that is left.
    @Test(arguments: SpecificationPacket.all)
    func aShorterBodyIsReadAsASecondReaderReadsIt(_ packet: SpecificationPacket) {
        let body = Array(packet.bytes.dropFirst(packet.bytes.count < 130 ? 2 : 3))
        for count in 0..<body.count {
            let bytes = Wire.packet(packet.bytes[0], Array(body.prefix(count)))
            let reading = PacketReading(bytes, packet.phase.checker(packet.version))
            var naive = packet.phase.naive(packet.version)
            #expect(reading.texts == naive.read(bytes))
        }
    }

    /// A packet of each phase and version arrives in each other one.
    @Test(arguments: SpecificationPacket.Phase.allCases, MQTTVersion.allCases)
    func aPacketInAnotherPhaseIsReadAsASecondReaderReadsIt(_ phase: SpecificationPacket.Phase, _ version: MQTTVersion) {
        for packet in SpecificationPacket.all {
            let reading = PacketReading(packet.bytes, phase.checker(version))
            var naive = phase.naive(version)
            #expect(reading.texts == naive.read(packet.bytes), "\(packet.description)")
        }
    }

    @Test(arguments: SpecificationPacket.all)
    func noPacketFollowsTheEndOfAConnection(_ packet: SpecificationPacket) {
        for ending in [[0xE0, 0x00], [0x20, 0x03, 0x00, 0x88, 0x00]] as [[UInt8]] {
            let phase: SpecificationPacket.Phase = ending[0] == 0xE0 ? .open : .connecting
            let reading = PacketReading(ending + packet.bytes, phase.checker(.v5))
            #expect(reading.texts.count == 2 && reading.texts[1] == "violation")
        }
    }

    @Test func aViolationIsFinal() {
        var checker = SpecificationPacket.Phase.open.checker(.v5)
        let bytes: [UInt8] = [0xC0, 0x00, 0xD0, 0x00]
        bytes.withUnsafeBytes { bytes in
            let expected = PacketViolation(.notFromBroker, at: 0, in: .pingreq)
            for body in [2..<2, 4..<4, 4..<4] {
                let frame = PacketFrame(first: bytes[body.lowerBound - 2], body: body, length: 0)
                #expect(throws: expected) { try checker.check(frame, in: bytes) }
            }
        }
    }

    @Test(
        arguments: [
            (.v5, [0xD0, 0], "pong"), (.v311, [0xD0, 0], "pong"),
            (.v5, [0x90, 4, 0, 10, 0, 1], "suback 10 [1]"), (.v311, [0x90, 3, 0, 10, 1], "suback 10 [1]"),
            (.v5, [0xB0, 4, 0, 20, 0, 0], "unsuback 20 [0]"), (.v311, [0xB0, 2, 0, 20], "unsuback 20 [0]"),
        ] as [(MQTTVersion, [UInt8], String)]
    )
    func anAnswerIsExpectedOnce(_ version: MQTTVersion, _ answer: [UInt8], _ text: String) {
        let reading = PacketReading(answer + answer, SpecificationPacket.Phase.open.checker(version))
        #expect(reading.texts == [text, "ignored", "complete"])
    }

    @Test func aTopicAliasKeepsItsLastTopic() {
        let set = { (topic: String) in Wire.packet(0x30, Wire.text(topic) + [3, 0x23, 0, 1]) }
        let use = Wire.packet(0x30, Wire.text("") + [3, 0x23, 0, 1])
        let stream = set("a") + use + set("b") + set("b") + use
        let reading = PacketReading(stream, SpecificationPacket.Phase.open.checker(.v5), pieces: [1])
        let topics = reading.texts.dropLast().map { $0.split(separator: " ")[1] }
        #expect(topics == ["[97]", "[97]", "[98]", "[98]", "[98]"] && reading.texts.last == "complete")
    }
}

/// The code with which the client leaves, and the text that it logs.
struct PacketViolationTests {
    private static let log = Wire.text("push/log")

    @Test(
        arguments: [
            (Wire.packet(0x30, [0, 5, 0x61]), 0x81, "PUBLISH, byte 4: the packet ends inside a field"),
            (Wire.packet(0x30, log), 0x81, "PUBLISH, byte 12: the packet ends inside a field"),
            (
                Wire.packet(0x34, log + [0, 1, 0]), 0x82,
                "PUBLISH, byte 0: QoS 2 is not supported: another program subscribed with QoS 2 under this client id"
            ),
            (Wire.packet(0x36, log + [0, 1, 0]), 0x81, "PUBLISH, byte 0: QoS 3 does not exist"),
            (Wire.packet(0x38, log + [0]), 0x81, "PUBLISH, byte 0: DUP is set at QoS 0"),
            (Wire.packet(0x32, log + [0, 0, 0]), 0x82, "PUBLISH, byte 12: the packet identifier is 0"),
            (
                Wire.packet(0x30, [0, 0, 0]), 0x82,
                "PUBLISH, byte 2: the topic is empty, and there is no topic alias"
            ),
            (
                Wire.packet(0x30, log + [3, 0x23, 0, 0]), 0x94,
                "PUBLISH, byte 14: the topic alias is 0 or greater than the maximum"
            ),
            (
                Wire.packet(0x30, log + [3, 0x23, 0, 5]), 0x94,
                "PUBLISH, byte 13: the topic alias is 0 or greater than the maximum"
            ),
            (Wire.packet(0x30, [0, 0, 3, 0x23, 0, 3]), 0x82, "PUBLISH, byte 5: the topic alias is not set"),
            (
                Wire.packet(0x30, [0, 1, 0, 0]), 0x81,
                "PUBLISH, byte 2: a text is not valid UTF-8 or contains U+0000"
            ),
            (
                Wire.packet(0x30, log + [2, 0x0B, 0]), 0x82,
                "PUBLISH, byte 14: the value of the property is not allowed"
            ),
            (
                Wire.packet(0x30, log + [4, 0x01, 0, 0x01, 0]), 0x82,
                "PUBLISH, byte 15: the property occurs more than once"
            ),
            (
                Wire.packet(0x30, log + [5, 0x11, 0, 0, 0, 1]), 0x81,
                "PUBLISH, byte 13: the property does not exist or is not allowed in this packet"
            ),
            (
                Wire.packet(0x30, log + [0xFF, 0xFF, 0xFF, 0xFF, 1]), 0x81,
                "PUBLISH, byte 12: a variable byte integer has more than four bytes"
            ),
            (
                Wire.packet(0x30, log + [0x80, 0]), 0x81,
                "PUBLISH, byte 12: a variable byte integer is not in its shortest form"
            ),
            (
                [0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], 0x81,
                "PUBLISH, byte 1: a variable byte integer has more than four bytes"
            ),
            ([0x91, 4, 0, 10, 0, 1], 0x81, "SUBACK, byte 0: reserved bits are set"),
            (
                [0x90, 5, 0, 10, 0, 1, 1], 0x82,
                "SUBACK, byte 5: the number of reason codes differs from the number of topic filters"
            ),
            ([0x90, 4, 0, 10, 0, 3], 0x81, "SUBACK, byte 5: the reason code is not defined for this packet"),
            ([0xD0, 1, 0], 0x81, "PINGRESP, byte 2: the packet continues after its last field"),
            ([0x20, 3, 0, 0, 0], 0x82, "CONNACK, byte 0: CONNACK was already received"),
            ([0x10, 0], 0x82, "CONNECT, byte 0: a broker must not send this type of packet"),
            ([0x00, 0], 0x82, "the reserved packet type, byte 0: a broker must not send this type of packet"),
            ([0x62, 2, 0, 7], 0x82, "PUBREL, byte 0: a broker must not send this type of packet"),
            ([0xF0, 2, 0x18, 0], 0x82, "AUTH, byte 2: the authentication does not match the one requested"),
        ] as [([UInt8], Int, String)]
    )
    func aViolationHasACodeAndAText(_ bytes: [UInt8], _ code: Int, _ text: String) {
        let violation = PacketReading(bytes, SpecificationPacket.Phase.open.checker(.v5)).violation
        #expect(violation?.code == UInt8(code))
        #expect(violation?.text == text)
    }

    @Test func beforeConnackOnlyConnackIsLegal() {
        for (bytes, rule) in [
            ([0xE0, 0], .beforeConnack), ([0xD0, 0], .beforeConnack), ([0x30, 0], .beforeConnack),
            ([0xF0, 2, 0x18, 0], .authentication), ([0x20, 3, 2, 0, 0], .reservedBits),
            ([0x20, 3, 1, 0x88, 0], .sessionPresent), ([0x20, 3, 0, 0x7F, 0], .reasonCode),
            ([0x20, 2, 0, 0], .truncated), ([0x20, 7, 0, 0, 4, 0x15, 0, 1, 0x4D], .authentication),
            ([0x20, 7, 0, 0, 4, 0x16, 0, 1, 0x4D], .authentication),
        ] as [([UInt8], PacketViolation.Rule)] {
            let violation = PacketReading(bytes, SpecificationPacket.Phase.connecting.checker(.v5)).violation
            #expect(violation?.rule == rule, "\(bytes)")
        }
    }
}
