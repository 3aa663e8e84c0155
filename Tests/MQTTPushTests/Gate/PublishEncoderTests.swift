import Testing

@testable import MQTTPush

/// The expected bytes are written by hand from the specifications.
struct PublishEncoderTests {
    private func bytes(
        _ message: MQTTMessage,
        _ options: PublishEncoder.Options = .init(),
        version: MQTTVersion = .v5
    ) throws -> [UInt8] {
        var encoder = PublishEncoder(version: version)
        let length = try encoder.encodedLength(of: message, options)
        let bytes = try encoded { output throws(PacketEncodingError) in
            try encoder.encode(message, options, into: &output)
        }
        #expect(bytes.count == length)
        return bytes
    }

    @Test
    func theHeaderHasTheFlags() throws {
        // MQTT 5.0, 3.3.1 and 3.3.2. Without properties, their length of 0 is there.
        let message = MQTTMessage([0x68, 0x69], to: "a/b", qos: .atMostOnce)
        #expect(try bytes(message) == [0x30, 8, 0, 3, 0x61, 0x2F, 0x62, 0, 0x68, 0x69])
        // MQTT 3.1.1, 3.3.
        #expect(try bytes(message, version: .v311) == [0x30, 7, 0, 3, 0x61, 0x2F, 0x62, 0x68, 0x69])
        // At QoS 0, DUP must be 0 (MQTT 5.0, 3.3.1.1).
        #expect(try bytes(message, .init(isDuplicate: true))[0] == 0x30)
        var retained = MQTTMessage([], to: "a", qos: .atLeastOnce, retain: true)
        #expect(try bytes(retained, .init(packet: 0x1234)) == [0x33, 6, 0, 1, 0x61, 0x12, 0x34, 0])
        #expect(try bytes(retained, .init(packet: 1, isDuplicate: true))[0] == 0x3B)
        #expect(try bytes(retained, .init(packet: 1), version: .v311) == [0x33, 5, 0, 1, 0x61, 0, 1])
        retained.qos = .atMostOnce
        #expect(try bytes(retained)[0] == 0x31)
    }

    @Test
    func propertiesAreInTheOrderOfThePresentClient() throws {
        var message = MQTTMessage([9], to: "a", qos: .atMostOnce)
        message.responseTopic = "r"
        message.contentType = "t"
        message.correlation = [1, 2]
        message.userProperties = [.init(name: "k", value: "v"), .init(name: "", value: "")]
        message.isText = true
        let options = PublishEncoder.Options(lifetime: .milliseconds(1_001))
        // MQTT 5.0, 3.3.2.3.
        let properties: [UInt8] =
            [8, 0, 1, 0x72, 3, 0, 1, 0x74, 9, 0, 2, 1, 2, 2, 0, 0, 0, 2, 1, 1]
            + [0x26, 0, 1, 0x6B, 0, 1, 0x76, 0x26, 0, 0, 0, 0]
        #expect(try bytes(message, options) == [0x30, 37, 0, 1, 0x61, UInt8(properties.count)] + properties + [9])
        #expect(try bytes(message, options, version: .v311) == [0x30, 4, 0, 1, 0x61, 9])
    }

    @Test
    func lifetimesAreRoundedUp() throws {
        let message = MQTTMessage([], to: "a", qos: .atMostOnce)
        let cases: [(Duration, UInt32)] = [
            (.zero, 1), (.seconds(-5), 1), (.nanoseconds(1), 1), (.seconds(1), 1), (.seconds(1) + .nanoseconds(1), 2),
            (.seconds(4_294_967_294), 4_294_967_294), (.seconds(4_294_967_294) + .nanoseconds(1), .max),
            (.seconds(4_294_967_295), .max), (.seconds(Int64.max), .max),
        ]
        for (lifetime, expiry) in cases {
            let bytes = try bytes(message, .init(lifetime: lifetime))
            let packet = try #require(try ServerPacketReader.packets(bytes, version: .v5).first)
            #expect(packet.properties == [.init(id: 2, value: .number(expiry))])
        }
    }

    @Test(arguments: [4, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152])
    func remainingLengthsHaveTheShortestForm(length: Int) throws {
        // MQTT 5.0, 1.5.5, table 1-1.
        let headers: [Int: [UInt8]] = [
            4: [4], 127: [0x7F], 128: [0x80, 1], 16_383: [0xFF, 0x7F], 16_384: [0x80, 0x80, 1],
            2_097_151: [0xFF, 0xFF, 0x7F], 2_097_152: [0x80, 0x80, 0x80, 1],
        ]
        let message = MQTTMessage([UInt8](repeating: 7, count: length - 4), to: "a", qos: .atMostOnce)
        let bytes = try bytes(message)
        let header = try #require(headers[length])
        #expect(Array(bytes.prefix(1 + header.count)) == [0x30] + header)
        #expect(bytes.count == 1 + header.count + length)
    }

    @Test
    func propertyLengthsHaveTheShortestForm() throws {
        for count in [117, 118, 119, 16_372, 16_373, 16_374] {
            var message = MQTTMessage([], to: "a", qos: .atMostOnce)
            message.contentType = String(repeating: "x", count: count)
            message.responseTopic = "rrrr"
            let packet = try #require(try ServerPacketReader.packets(try bytes(message), version: .v5).first)
            #expect(packet.properties.last == .init(id: 3, value: .text(message.contentType ?? "")))
        }
    }

    @Test
    func theServersMaximumPacketSizeIsChecked() throws {
        let message = MQTTMessage([1, 2, 3], to: "a", qos: .atMostOnce)
        // Fixed header 2, topic 3, property length 1, payload 3.
        var encoder = PublishEncoder(version: .v5, packetLimit: 9)
        #expect(try encoder.encodedLength(of: message, .init()) == 9)
        encoder = PublishEncoder(version: .v5, packetLimit: 8)
        #expect(throws: PacketEncodingError.packetTooLarge(bytes: 9, limit: 8)) {
            try encoder.encodedLength(of: message, .init())
        }
        var output = PacketOutput()
        expectError(.packetTooLarge(bytes: 9, limit: 8), &output) { output throws(PacketEncodingError) in
            try encoder.encode(message, .init(), into: &output)
        }
    }

    @Test
    func thePacketLimitOfTheProtocolIsChecked() throws {
        let encoder = PublishEncoder(version: .v5)
        // A payload that is as long as possible: topic 3, property length 1.
        var message = MQTTMessage([UInt8](repeating: 0, count: 268_435_451), to: "a", qos: .atMostOnce)
        #expect(try encoder.encodedLength(of: message, .init()) == 268_435_460)
        message.payload.append(0)
        #expect(throws: PacketEncodingError.packetTooLarge(bytes: 268_435_461, limit: 268_435_460)) {
            try encoder.encodedLength(of: message, .init())
        }
    }

    @Test
    func invalidMessagesAreRefusedAndAddNothing() {
        var output = PacketOutput()
        let long = String(repeating: "a", count: 65_536)
        var cases: [(MQTTMessage, UInt16, PacketEncodingError)] = [
            (MQTTMessage([], to: "", qos: .atMostOnce), 0, .invalid(.emptyTopic)),
            (MQTTMessage([], to: "a", qos: .atMostOnce), 1, .invalid(.packetIdentifier)),
            (MQTTMessage([], to: "a", qos: .atLeastOnce), 0, .invalid(.packetIdentifier)),
            (MQTTMessage([], to: long, qos: .atMostOnce), 0, .tooLong(.topic, bytes: 65_536)),
            (MQTTMessage([], to: "12345678\u{0}", qos: .atMostOnce), 0, .nullCharacter(.topic)),
            (MQTTMessage([], to: "1234567\u{0}", qos: .atMostOnce), 0, .nullCharacter(.topic)),
        ]
        var message = MQTTMessage([], to: "topic/with/alias", qos: .atMostOnce)
        message.userProperties = [.init(name: "a", value: long)]
        cases.append((message, 0, .tooLong(.userProperty, bytes: 65_536)))
        message.userProperties = [.init(name: "\u{0}", value: "")]
        cases.append((message, 0, .nullCharacter(.userProperty)))
        message.userProperties = []
        message.correlation = [UInt8](repeating: 0, count: 65_536)
        cases.append((message, 0, .tooLong(.correlation, bytes: 65_536)))
        message.correlation = nil
        message.responseTopic = long
        cases.append((message, 0, .tooLong(.responseTopic, bytes: 65_536)))
        message.responseTopic = nil
        message.contentType = long
        cases.append((message, 0, .tooLong(.contentType, bytes: 65_536)))
        for (message, packet, error) in cases {
            var encoder = PublishEncoder(version: .v5, aliasMaximum: 10)
            expectError(error, &output) { output throws(PacketEncodingError) in
                try encoder.encode(message, .init(packet: packet), into: &output)
            }
        }
    }
}
