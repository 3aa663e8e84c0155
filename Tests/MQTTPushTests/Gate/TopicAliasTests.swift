import Testing

@testable import MQTTPush

/// Tests of the topic aliases that a publisher assigns (MQTT 5.0, 3.3.2.3.4).
struct TopicAliasTests {
    /// Publishes to the topics and returns what the packets say: a topic, an alias, or both.
    private func publish(_ topics: [String], _ encoder: inout PublishEncoder) throws -> [String] {
        var output = PacketOutput()
        for topic in topics {
            try encoder.encode(MQTTMessage([], to: topic, qos: .atMostOnce), .init(), into: &output)
        }
        return try ServerPacketReader.packets(output.take(), version: .v5).map { packet in
            let topic = String(decoding: packet.topic, as: UTF8.self)
            guard let property = packet.properties.first else { return topic }
            guard property.id == 0x23, case .number(let alias) = property.value else { return "?" }
            return "\(topic)=\(alias)"
        }
    }

    @Test
    func theBytesOfADefinitionAndAUse() throws {
        var encoder = PublishEncoder(version: .v5, aliasMaximum: 1)
        let message = MQTTMessage([0x31], to: "12345678", qos: .atLeastOnce)
        var output = PacketOutput()
        try encoder.encode(message, .init(packet: 1), into: &output)
        try encoder.encode(message, .init(packet: 2), into: &output)
        let topic: [UInt8] = [0, 8, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38]
        let bytes = output.take()
        let definition: [UInt8] = [0x32, 17] + topic + [0, 1, 3, 0x23, 0, 1, 0x31]
        #expect(bytes == definition + [0x32, 9, 0, 0, 0, 2, 3, 0x23, 0, 1, 0x31])
    }

    @Test
    func anAliasIsDefinedOnceAndThenUsed() throws {
        var encoder = PublishEncoder(version: .v5, aliasMaximum: 10)
        let texts = try publish(["topic/one", "topic/two", "topic/one", "topic/two"], &encoder)
        #expect(texts == ["topic/one=1", "topic/two=2", "=1", "=2"])
    }

    @Test
    func shortTopicsHaveNoAlias() throws {
        var encoder = PublishEncoder(version: .v5, aliasMaximum: 10)
        let texts = try publish(["1234567", "1234567", "12345678"], &encoder)
        #expect(texts == ["1234567", "1234567", "12345678=1"])
    }

    @Test
    func theLeastRecentlyUsedTopicIsReplaced() throws {
        var encoder = PublishEncoder(version: .v5, aliasMaximum: 2)
        let texts = try publish(["topic/aa", "topic/bb", "topic/aa", "topic/cc", "topic/aa", "topic/bb"], &encoder)
        #expect(texts == ["topic/aa=1", "topic/bb=2", "=1", "topic/cc=2", "=1", "topic/bb=2"])
    }

    @Test(arguments: [0, 1, 31, 32, 33, 65_535] as [UInt16])
    func thereAreAtMost32Aliases(maximum: UInt16) throws {
        var encoder = PublishEncoder(version: .v5, aliasMaximum: maximum)
        let bound = min(Int(maximum), 32)
        let topics = (100..<140).map { "topic/\($0)" }
        let texts = try publish(topics, &encoder)
        let expected = topics.enumerated().map { index, topic in
            bound == 0 ? topic : "\(topic)=\(index % bound + 1)"
        }
        #expect(texts == expected)
    }

    @Test
    func theOldVersionHasNoAliases() throws {
        var encoder = PublishEncoder(version: .v311, aliasMaximum: 10)
        let message = MQTTMessage([], to: "12345678", qos: .atMostOnce)
        for _ in 0..<2 {
            let bytes = try encoded { output throws(PacketEncodingError) in
                try encoder.encode(message, .init(), into: &output)
            }
            #expect(bytes.count == 12)
        }
    }

    @Test
    func canonicallyEqualTopicsAreDifferent() throws {
        var encoder = PublishEncoder(version: .v5, aliasMaximum: 10)
        // U+00E9, and U+0065 with U+0301.
        let (composed, decomposed) = ("topic/\u{E9}", "topic/e\u{301}")
        #expect(composed == decomposed)
        let texts = try publish([composed, decomposed, composed], &encoder)
        #expect(texts.map { Array($0.utf8) } == ["\(composed)=1", "\(decomposed)=2", "=1"].map { Array($0.utf8) })
    }

    @Test
    func aPacketThatIsNotAddedDefinesNothing() throws {
        var encoder = PublishEncoder(version: .v5, aliasMaximum: 10)
        let message = MQTTMessage([UInt8](repeating: 0, count: 100), to: "12345678", qos: .atMostOnce)
        var output = PacketOutput(capacity: 16, limit: 16)
        output.ping()
        var refusal: PacketEncodingError?
        do throws(PacketEncodingError) {
            try encoder.encode(message, .init(), into: &output)
        } catch {
            refusal = error
        }
        #expect(refusal == .outputFull)
        output.removeFirst(2)
        try encoder.encode(message, .init(), into: &output)
        let packets = try ServerPacketReader.packets(output.take(), version: .v5)
        #expect(packets.first?.topic.count == 8)
    }

    @Test
    func aDefinitionDoesNotMakeAPacketTooLarge() throws {
        // Without an alias: fixed header 2, topic 10, property length 1.
        let message = MQTTMessage([], to: "12345678", qos: .atMostOnce)
        for limit in 12...16 as ClosedRange<UInt32> {
            var encoder = PublishEncoder(version: .v5, aliasMaximum: 10, packetLimit: limit)
            if limit == 12 {
                #expect(throws: PacketEncodingError.packetTooLarge(bytes: 13, limit: 12)) {
                    try encoder.encodedLength(of: message, .init())
                }
            } else {
                let expected = limit < 16 ? ["12345678", "12345678"] : ["12345678=1", "=1"]
                let texts = try publish(["12345678", "12345678"], &encoder)
                #expect(texts == expected)
            }
        }
    }
}
