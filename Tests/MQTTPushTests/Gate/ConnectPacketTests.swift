import Testing

@testable import MQTTPush

/// The expected bytes are written by hand from the specifications.
struct ConnectPacketTests {
    private func request(_ version: MQTTVersion = .v5) -> ConnectRequest {
        ConnectRequest(version: version, clientID: "c1", cleanStart: false, keepalive: 60, packetBytes: 0x40000)
    }

    @Test
    func defaultPropertiesAreSent() throws {
        // MQTT 5.0, 3.1.2: name, level 5, flags, keepalive; 3.1.2.11: session expiry, packet size, receive maximum;
        // 3.1.3: client id.
        let expected: [UInt8] =
            [0x10, 28, 0, 4, 0x4D, 0x51, 0x54, 0x54, 5, 0, 0, 60]
            + [13, 0x11, 0, 0, 0, 0, 0x27, 0, 4, 0, 0, 0x21, 0, 20] + [0, 2, 0x63, 0x31]
        let request = request()
        #expect(try encoded { output throws(PacketEncodingError) in try output.add(request) } == expected)
    }

    @Test
    func theOldVersionHasNoProperties() throws {
        // MQTT 3.1.1, 3.1.2 and 3.1.3: level 4, clean session.
        var request = request(.v311)
        request.cleanStart = true
        request.sessionExpiry = 60
        request.topicAliasMaximum = 10
        request.authMethod = "X"
        request.userProperties = [.init(name: "a", value: "b")]
        let expected: [UInt8] = [0x10, 14, 0, 4, 0x4D, 0x51, 0x54, 0x54, 4, 2, 0, 60, 0, 2, 0x63, 0x31]
        #expect(try encoded { output throws(PacketEncodingError) in try output.add(request) } == expected)
    }

    @Test
    func everythingIsSentInTheOrderOfThePayload() throws {
        var request = request()
        request.cleanStart = true
        request.sessionExpiry = 0x01020304
        request.receiveMaximum = 250
        request.topicAliasMaximum = 32
        request.userName = "u"
        request.password = [0, 0xFF]
        request.authMethod = "X"
        request.authData = [9]
        request.userProperties = [.init(name: "k", value: "v"), .init(name: "k", value: "")]
        var will = ConnectRequest.Will(topic: "w", payload: [0x68, 0x69])
        will.retain = true
        will.delay = 5
        will.expiry = 6
        will.contentType = "t"
        will.responseTopic = "r"
        will.correlation = [7]
        will.payloadFormat = 1
        will.userProperties = [.init(name: "n", value: "m")]
        request.will = will
        // MQTT 5.0, 3.1.2.3: user name, password, retain, QoS 1, will, clean start.
        let header: [UInt8] = [0, 4, 0x4D, 0x51, 0x54, 0x54, 5, 0b1110_1110, 0, 60]
        // MQTT 5.0, 3.1.2.11.
        let properties: [UInt8] =
            [37, 0x11, 1, 2, 3, 4, 0x27, 0, 4, 0, 0, 0x22, 0, 32, 0x15, 0, 1, 0x58, 0x16, 0, 1, 9]
            + [0x26, 0, 1, 0x6B, 0, 1, 0x76, 0x26, 0, 1, 0x6B, 0, 0, 0x21, 0, 250]
        // MQTT 5.0, 3.1.3.1: client id; 3.1.3.2: will properties; 3.1.3.3 to 3.1.3.6.
        let payload: [UInt8] =
            [0, 2, 0x63, 0x31, 31, 1, 1, 2, 0, 0, 0, 6, 3, 0, 1, 0x74, 8, 0, 1, 0x72, 9, 0, 1, 7, 0x18, 0, 0, 0, 5]
            + [0x26, 0, 1, 0x6E, 0, 1, 0x6D] + [0, 1, 0x77, 0, 2, 0x68, 0x69, 0, 1, 0x75, 0, 2, 0, 0xFF]
        let rest = header + properties + payload
        let expected: [UInt8] = [0x10, UInt8(rest.count)] + rest
        #expect(try encoded { output throws(PacketEncodingError) in try output.add(request) } == expected)
    }

    @Test
    func aWillAndALoginInTheOldVersion() throws {
        var request = request(.v311)
        request.userName = "u"
        request.password = [0x70]
        var will = ConnectRequest.Will(topic: "w", payload: [])
        will.qos = .atMostOnce
        will.delay = 5
        request.will = will
        // MQTT 3.1.1, 3.1.2.3 and 3.1.3: client id, will topic, will message, user name, password.
        let expected: [UInt8] =
            [0x10, 25, 0, 4, 0x4D, 0x51, 0x54, 0x54, 4, 0b1100_0100, 0, 60, 0, 2, 0x63, 0x31]
            + [0, 1, 0x77, 0, 0, 0, 1, 0x75, 0, 1, 0x70]
        #expect(try encoded { output throws(PacketEncodingError) in try output.add(request) } == expected)
    }

    @Test(arguments: [PacketField.clientID, .userName, .password, .willTopic, .willPayload, .authenticationMethod])
    func aValueOver65535BytesIsRefused(field: PacketField) throws {
        for count in [65_535, 65_536] {
            var request = request()
            let text = String(repeating: "é", count: 32_767) + (count == 65_535 ? "a" : "aa")
            let data = [UInt8](repeating: 1, count: count)
            switch field {
            case .clientID: request.clientID = text
            case .userName: request.userName = text
            case .password: request.password = data
            case .willTopic: request.will = .init(topic: text, payload: [])
            case .willPayload: request.will = .init(topic: "w", payload: data)
            default: request.authMethod = text
            }
            let result = Result { () throws(PacketEncodingError) in
                try encoded { output throws(PacketEncodingError) in try output.add(request) }
            }
            switch result {
            case .success(let bytes):
                #expect(count == 65_535)
                #expect(try ServerPacketReader.packets(bytes, version: .v5).count == 1)
            case .failure(let error):
                #expect(count == 65_536)
                #expect(error == .tooLong(field, bytes: 65_536))
            }
        }
    }

    @Test
    func protocolErrorsAreRefused() {
        var requests: [(ConnectRequest, PacketEncodingError)] = []
        var request = request()
        request.receiveMaximum = 0
        requests.append((request, .invalid(.zeroLimit)))
        request = self.request()
        request.packetBytes = 0
        requests.append((request, .invalid(.zeroLimit)))
        request = self.request()
        request.authData = []
        requests.append((request, .invalid(.dataWithoutMethod)))
        request = self.request()
        request.will = .init(topic: "", payload: [])
        requests.append((request, .invalid(.emptyTopic)))
        request = self.request(.v311)
        request.password = []
        requests.append((request, .invalid(.passwordWithoutUserName)))
        request = self.request()
        request.clientID = "a\u{0}"
        requests.append((request, .nullCharacter(.clientID)))
        for (request, error) in requests {
            #expect(throws: error) {
                try encoded { output throws(PacketEncodingError) in try output.add(request) }
            }
        }
    }

    @Test
    func mqtt5AllowsAPasswordWithoutAUserName() throws {
        var request = request()
        request.password = [1]
        let bytes = try encoded { output throws(PacketEncodingError) in try output.add(request) }
        #expect(try ServerPacketReader.packets(bytes, version: .v5).first?.password == [1])
    }
}
