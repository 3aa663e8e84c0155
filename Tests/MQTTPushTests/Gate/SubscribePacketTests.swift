import Testing

@testable import MQTTPush

/// The expected bytes are written by hand from the specifications.
struct SubscribePacketTests {
    private func group(_ filters: [String], _ qos: MQTTQoS = .atLeastOnce, _ retained: MQTTRetained = .deliver)
        -> SubscriptionGroup
    {
        SubscriptionGroup(qos: qos, retained: retained, filters: filters)
    }

    @Test
    func subscribeHasOptionsAndAnIdentifier() throws {
        // MQTT 5.0, 3.8.2 and 3.8.3.1: retain handling 1, QoS 1.
        let plain: [UInt8] = [0x82, 13, 0x12, 0x34, 0, 0, 3, 0x61, 0x2F, 0x23, 0x11, 0, 1, 0x62, 0x11]
        let several = group(["a/#", "b"])
        #expect(
            try encoded { output throws(PacketEncodingError) in
                try output.subscribe(several, packet: 0x1234, version: .v5)
            } == plain
        )
        // MQTT 5.0, 3.8.2.1.2: 300 is AC 02; retain handling 2, QoS 0.
        let identified: [UInt8] = [0x82, 10, 0, 1, 3, 0x0B, 0xAC, 2, 0, 1, 0x62, 0x20]
        let ignored = group(["b"], .atMostOnce, .ignore)
        #expect(
            try encoded { output throws(PacketEncodingError) in
                try output.subscribe(ignored, packet: 1, identifier: 300, version: .v5)
            } == identified
        )
        // MQTT 3.1.1, 3.8.3: requested QoS only.
        let old: [UInt8] = [0x82, 6, 0, 1, 0, 1, 0x62, 1]
        let single = group(["b"], .atLeastOnce, .ignore)
        #expect(
            try encoded { output throws(PacketEncodingError) in
                try output.subscribe(single, packet: 1, identifier: 300, version: .v311)
            } == old
        )
    }

    @Test(arguments: [1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, 268_435_455] as [UInt32])
    func subscriptionIdentifiersAreVariableByteIntegers(identifier: UInt32) throws {
        let group = group(["b"])
        let bytes = try encoded { output throws(PacketEncodingError) in
            try output.subscribe(group, packet: 9, identifier: identifier, version: .v5)
        }
        let packet = try #require(try ServerPacketReader.packets(bytes, version: .v5).first)
        #expect(packet.properties == [.init(id: 0x0B, value: .number(identifier))])
    }

    @Test
    func unsubscribeHasFilters() throws {
        // MQTT 5.0, 3.10.2 and 3.10.3; MQTT 3.1.1, 3.10.
        let new: [UInt8] = [0xA2, 9, 0, 7, 0, 0, 1, 0x61, 0, 1, 0x62]
        let old: [UInt8] = [0xA2, 8, 0, 7, 0, 1, 0x61, 0, 1, 0x62]
        for (version, expected) in [(MQTTVersion.v5, new), (.v311, old)] {
            let bytes = try encoded { output throws(PacketEncodingError) in
                try output.unsubscribe(["a", "b"], packet: 7, version: version)
            }
            #expect(bytes == expected)
        }
    }

    @Test
    func pingAndNormalDisconnectAreHeaders() throws {
        // MQTT 5.0, 3.12.1 and 3.14.2.1: reason 0 without properties is left out.
        let bytes = try encoded { output throws(PacketEncodingError) in
            output.ping()
            output.disconnect()
            try output.disconnect(.success, version: .v5)
            try output.disconnect(ReasonCode(rawValue: 0x82), sessionExpiry: 1, reasonString: "x", version: .v311)
        }
        #expect(bytes == [0xC0, 0, 0xE0, 0, 0xE0, 0, 0xE0, 0])
    }

    @Test
    func disconnectHasAReasonAndProperties() throws {
        let reason = ReasonCode(rawValue: 0x82)
        // MQTT 5.0, 3.14.2.2.1: a remaining length below 2 means no properties.
        let plain = try encoded { output throws(PacketEncodingError) in try output.disconnect(reason, version: .v5) }
        #expect(plain == [0xE0, 1, 0x82])
        // MQTT 5.0, 3.14.2.2.2 and 3.14.2.2.3.
        let expiry = try encoded { output throws(PacketEncodingError) in
            try output.disconnect(.success, sessionExpiry: 0, version: .v5)
        }
        #expect(expiry == [0xE0, 7, 0, 5, 0x11, 0, 0, 0, 0])
        let full = try encoded { output throws(PacketEncodingError) in
            try output.disconnect(reason, sessionExpiry: 0x01020304, reasonString: "no", version: .v5)
        }
        #expect(full == [0xE0, 12, 0x82, 10, 0x11, 1, 2, 3, 4, 0x1F, 0, 2, 0x6E, 0x6F])
    }

    @Test
    func authHasAMethodAndData() throws {
        let reason = ReasonCode(rawValue: 0x18)
        // MQTT 5.0, 3.15.2.
        let full = try encoded { output throws(PacketEncodingError) in
            try output.authenticate(reason, method: "X", data: [1, 2], version: .v5)
        }
        #expect(full == [0xF0, 11, 0x18, 9, 0x15, 0, 1, 0x58, 0x16, 0, 2, 1, 2])
        let short = try encoded { output throws(PacketEncodingError) in
            try output.authenticate(reason, method: "X", data: nil, version: .v5)
        }
        #expect(short == [0xF0, 6, 0x18, 4, 0x15, 0, 1, 0x58])
    }

    @Test
    func protocolErrorsAreRefusedAndAddNothing() {
        var output = PacketOutput()
        let long = String(repeating: "a", count: 65_536)
        let one = group(["a"])
        expectError(.invalid(.packetIdentifier), &output) { output throws(PacketEncodingError) in
            try output.subscribe(one, packet: 0, version: .v5)
        }
        for identifier in [0, 268_435_456, .max] as [UInt32] {
            expectError(.invalid(.subscriptionIdentifier), &output) { output throws(PacketEncodingError) in
                try output.subscribe(one, packet: 1, identifier: identifier, version: .v5)
            }
        }
        for (filters, error) in [
            ([], .invalid(.noFilters)), (["a", ""], .invalid(.emptyTopic)), ([long], .tooLong(.filter, bytes: 65_536)),
            (["a\u{0}b"], .nullCharacter(.filter)),
        ] as [([String], PacketEncodingError)] {
            let group = group(filters)
            expectError(error, &output) { output throws(PacketEncodingError) in
                try output.subscribe(group, packet: 1, version: .v5)
            }
            expectError(error, &output) { output throws(PacketEncodingError) in
                try output.unsubscribe(filters, packet: 1, version: .v311)
            }
        }
        expectError(.packetTooLarge(bytes: 8, limit: 7), &output) { output throws(PacketEncodingError) in
            try output.unsubscribe(["a"], packet: 1, version: .v5, packetLimit: 7)
        }
        expectError(.invalid(.unknownPacketType), &output) { output throws(PacketEncodingError) in
            try output.authenticate(.success, method: "X", data: nil, version: .v311)
        }
    }
}

/// Expects that a closure throws an error and leaves the output empty.
func expectError(
    _ expected: PacketEncodingError,
    _ output: inout PacketOutput,
    _ location: SourceLocation = #_sourceLocation,
    _ body: (inout PacketOutput) throws(PacketEncodingError) -> Void
) {
    do throws(PacketEncodingError) {
        try body(&output)
        Issue.record("no error", sourceLocation: location)
    } catch {
        #expect(error == expected, sourceLocation: location)
    }
    let count = output.count
    #expect(count == 0, sourceLocation: location)
}
