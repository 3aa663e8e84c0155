import Testing

@testable import MQTTPush

/// Encodes random packets and reads them as a server does.
struct EncoderRoundTripTests {
    /// A server's view of a publisher: the topics of the aliases, and the messages in their order.
    private struct Server {
        let aliasMaximum: UInt16
        var topics: [UInt32: [UInt8]] = [:]

        /// Returns the topic of a PUBLISH, or `nil` if the server must end the connection.
        mutating func topic(of packet: ServerPacket) -> [UInt8]? {
            let property = packet.properties.first { $0.id == 0x23 }
            guard case .number(let alias)? = property?.value else { return packet.topic.isEmpty ? nil : packet.topic }
            guard (1...UInt32(max(1, aliasMaximum))).contains(alias), aliasMaximum > 0 else { return nil }
            if !packet.topic.isEmpty { topics[alias] = packet.topic }
            return topics[alias]
        }
    }

    private func message(_ generator: inout PacketGenerator, _ topics: [String]) -> MQTTMessage {
        let topic = topics[generator.number(0...topics.count - 1)]
        let qos: MQTTQoS = generator.chance(50) ? .atLeastOnce : .atMostOnce
        let payload = [UInt8](repeating: UInt8(generator.number(0...255)), count: generator.number(0...200))
        var message = MQTTMessage(payload, to: topic, qos: qos, retain: generator.chance(20))
        if generator.chance(20) { message.responseTopic = generator.text(1...20) }
        if generator.chance(20) { message.contentType = generator.text(0...20) }
        if generator.chance(20) { message.correlation = generator.data(0...20) }
        message.isText = generator.chance(20)
        while generator.chance(20) {
            message.userProperties.append(.init(name: generator.text(0...9), value: generator.text(0...9)))
        }
        return message
    }

    private func properties(of message: MQTTMessage, _ options: PublishEncoder.Options) -> [ServerPacket.Property] {
        var list: [ServerPacket.Property] = []
        if let topic = message.responseTopic { list.append(.init(id: 8, value: .text(topic))) }
        if let type = message.contentType { list.append(.init(id: 3, value: .text(type))) }
        if let data = message.correlation { list.append(.init(id: 9, value: .data(data))) }
        if let lifetime = options.lifetime {
            list.append(.init(id: 2, value: .number(UInt32(lifetime.components.seconds))))
        }
        if message.isText { list.append(.init(id: 1, value: .number(1))) }
        list += message.userProperties.map { .init(id: 0x26, value: .pair($0.name, $0.value)) }
        return list
    }

    @Test(arguments: 1...100)
    func aServerReadsBackEveryMessage(seed: UInt64) throws {
        var generator = PacketGenerator(seed: seed)
        let version: MQTTVersion = generator.chance(80) ? .v5 : .v311
        let aliasMaximum = UInt16(generator.number(0...40))
        let topics = (0..<generator.number(1...50)).map { _ in generator.text(1...30) }
        var encoder = PublishEncoder(version: version, aliasMaximum: aliasMaximum)
        var server = Server(aliasMaximum: version == .v5 ? aliasMaximum : 0)
        var identifiers = PacketIdentifiers()
        var output = PacketOutput(capacity: 64)
        for _ in 0..<100 {
            var sent: [(MQTTMessage, PublishEncoder.Options)] = []
            for _ in 0..<10 {
                let message = message(&generator, topics)
                var options = PublishEncoder.Options()
                options.packet = message.qos == .atLeastOnce ? identifiers.take() ?? 0 : 0
                options.isDuplicate = generator.chance(20)
                if generator.chance(20) { options.lifetime = .seconds(generator.number(1...1_000_000)) }
                let length = try encoder.encodedLength(of: message, options)
                let before = output.count
                try encoder.encode(message, options, into: &output)
                let after = output.count
                try #require(after - before == length)
                sent.append((message, options))
            }
            let packets = try ServerPacketReader.packets(output.take(), version: version)
            try #require(packets.count == sent.count)
            for (packet, (message, options)) in zip(packets, sent) {
                try check(packet, message, options, version, &server)
            }
        }
    }

    private func check(
        _ packet: ServerPacket,
        _ message: MQTTMessage,
        _ options: PublishEncoder.Options,
        _ version: MQTTVersion,
        _ server: inout Server
    ) throws {
        try #require(packet.type == 3)
        let isDuplicate = options.isDuplicate && message.qos == .atLeastOnce
        try #require(packet.flags & 1 == (message.retain ? 1 : 0))
        try #require(Int(packet.flags >> 1 & 3) == message.qos.rawValue)
        try #require(packet.flags & 8 == (isDuplicate ? 8 : 0))
        try #require(packet.packet == options.packet)
        try #require(packet.payload == message.payload)
        let topic = server.topic(of: packet)
        try #require(topic == Array(message.topic.utf8))
        let expected = version == .v5 ? properties(of: message, options) : []
        try #require(packet.properties.filter { $0.id != 0x23 } == expected)
    }

    @Test(arguments: 1...20)
    func aServerReadsBackEveryConnect(seed: UInt64) throws {
        var generator = PacketGenerator(seed: seed)
        for _ in 0..<100 {
            let version: MQTTVersion = generator.chance(70) ? .v5 : .v311
            var request = ConnectRequest(
                version: version,
                clientID: generator.text(1...30),
                cleanStart: generator.chance(50),
                keepalive: UInt16(generator.number(0...65_535)),
                packetBytes: UInt32(generator.number(1...4_294_967_295))
            )
            request.sessionExpiry = UInt32(generator.number(0...4_294_967_295))
            request.receiveMaximum = UInt16(generator.number(1...65_535))
            if generator.chance(50) { request.userName = generator.text(0...30) }
            if request.userName != nil, generator.chance(50) { request.password = generator.data(0...30) }
            if generator.chance(50) {
                var will = ConnectRequest.Will(topic: generator.text(1...30), payload: generator.data(0...30))
                will.qos = generator.chance(50) ? .atLeastOnce : .atMostOnce
                will.retain = generator.chance(50)
                will.delay = generator.chance(50) ? UInt32(generator.number(0...4_294_967_295)) : nil
                request.will = will
            }
            let value = request
            let bytes = try encoded { output throws(PacketEncodingError) in try output.add(value) }
            let packet = try #require(try ServerPacketReader.packets(bytes, version: version).first)
            try check(packet, request)
        }
    }

    private func check(_ packet: ServerPacket, _ request: ConnectRequest) throws {
        try #require(packet.level == (request.version == .v5 ? 5 : 4))
        try #require(packet.keepalive == request.keepalive)
        try #require(packet.clientID == Array(request.clientID.utf8))
        try #require(packet.connectFlags & 2 == (request.cleanStart ? 2 : 0))
        try #require(packet.userName == request.userName.map { Array($0.utf8) })
        try #require(packet.password == request.password)
        try #require((packet.connectFlags & 4 != 0) == (request.will != nil))
        if let will = request.will {
            try #require(packet.topic == Array(will.topic.utf8))
            try #require(packet.payload == will.payload)
            try #require(Int(packet.connectFlags >> 3 & 3) == will.qos.rawValue)
            try #require(packet.connectFlags & 0x20 == (will.retain ? 0x20 : 0))
            let delay = request.version == .v5 ? will.delay : nil
            try #require(packet.willProperties == delay.map { [.init(id: 0x18, value: .number($0))] } ?? [])
        }
        let properties: [ServerPacket.Property] = [
            .init(id: 0x11, value: .number(request.sessionExpiry)),
            .init(id: 0x27, value: .number(request.packetBytes)),
            .init(id: 0x21, value: .number(UInt32(request.receiveMaximum))),
        ]
        try #require(packet.properties == (request.version == .v5 ? properties : []))
    }
}
