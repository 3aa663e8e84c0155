import AdapterSupport
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import MQTTPush

@Suite struct ConfigurationTests {
    private static let canary = "canary-77aa"

    private func make(_ change: (inout MQTTPushConfiguration) throws -> Void) throws -> MQTTPushConfiguration {
        var configuration = try MQTTPushConfiguration.test(port: 1_883, [try MQTTTopic("push/{action}")])
        try change(&configuration)
        return configuration
    }

    @Test(arguments: [
        ("mqtt://broker", "broker:1883"), ("MQTT://10.0.0.1:18830", "10.0.0.1:18830"), ("mqtt://[::1]:1", "[::1]:1"),
        ("mqtt://[fe80::1]", "[fe80::1]:1883"), ("mqtt://host/", "host:1883"),
    ])
    func aBrokerIsReadFromItsURL(url: String, shown: String) throws {
        #expect(try MQTTBroker(url: url).description == shown)
    }

    @Test(arguments: [
        "", "broker", "mqtt:broker", "http://broker", "mqtt://", "mqtt://:1883", "mqtt://broker:", "mqtt://broker:0",
        "mqtt://broker:65536", "mqtt://broker:+1", "mqtt://broker:1a", "mqtt://broker/path", "mqtt://broker?x",
        "mqtt://b c", "mqtt://broker:/", "mqtts://[::1]:", "mqtt://broker#x", "mqtt://broker//", " mqtt://broker",
        "mqtt://[::1", "mqtt://[x]", "mqtt://a:b:1", "mqtt://b\u{E9}", "mqtt://b\u{0}", "mqtt://[::1]x",
    ])
    func aMalformedURLIsRefused(url: String) {
        #expect(throws: MQTTPushError.self) { try MQTTBroker(url: url) }
    }

    @Test(arguments: ["mqtt://alice:\(canary)@broker", "alice:\(canary)@broker", "ws://alice:\(canary)@broker//a"])
    func aPasswordInAURLIsRefusedAndNotRepeated(url: String) throws {
        let error = try #require(throws: MQTTPushError.self) { try MQTTBroker(url: url) }
        #expect(error.code == .invalidBroker && error.detail.contains("environment variable or a file"))
        #expect(!"\(error)".contains(Self.canary) && !"\(error)".contains("alice"))
    }

    @Test func theSchemeSelectsTLSAndTheDefaultPort() throws {
        let secure = try MQTTBroker(url: "MQTTS://broker")
        #expect(secure.usesTLS && secure.port == 8_883)
        #expect(try MQTTBroker(url: "mqtts://broker:1").port == 1)
        let open = try MQTTBroker(url: "mqtt://broker")
        #expect(!open.usesTLS && open.port == 1_883)
    }

    @Test func theSecurityMustMatchTheURLScheme() throws {
        func check(_ url: String, _ security: MQTTSecurity?) throws {
            var configuration = MQTTPushConfiguration.withoutSession(
                source: "push",
                broker: try MQTTBroker(url: url),
                topics: [try MQTTTopic("a/{action}")]
            )
            if let security { configuration.security = security }
            try configuration.validate()
        }
        let key = MQTTSecurity.preSharedKey(identity: "kiosk", key: .environment("KEY"))
        try check("mqtt://b", nil)
        for security in [nil, .tls(.authority(file: "ca.crt")), .tls(.insecure), key] {
            try check("mqtts://b", security)
        }
        for security in [MQTTSecurity.tls(), key] {
            #expect(throws: MQTTPushError.self) { try check("mqtt://b", security) }
        }
        let nobody = MQTTSecurity.preSharedKey(identity: "", key: .environment("KEY"))
        let noKey = MQTTSecurity.tls(identity: MQTTIdentity(certificateFile: "a", keyFile: ""))
        for security in [MQTTSecurity.none, nobody, noKey, .tls(.authority(file: ""))] {
            #expect(throws: MQTTPushError.self) { try check("mqtts://b", security) }
        }
    }

    @Test func theDefaultsAreValid() throws {
        try make { _ in }.validate()
        try MQTTPushConfiguration.withoutSession(
            source: "push",
            broker: MQTTBroker(host: "b"),
            topics: [MQTTTopic("a/{action}")]
        ).validate()
    }

    @Test func thePacketLimitIsFourTimesTheMessageLimitUpToTheMaximum() throws {
        #expect(try make { _ in }.packetLimit == 262_144)
        #expect(try make { $0.limits = MessageLimits(bytes: 1 << 30) }.packetLimit == 268_435_455)
    }

    @Test func anInvalidValueIsReportedWithTheSource() throws {
        let changes: [(inout MQTTPushConfiguration) throws -> Void] = [
            { $0.topics = [] },
            { $0.topics = [try MQTTTopic("a/{action}"), try MQTTTopic("a/{id}")] },
            { $0.topics = [try MQTTTopic("a/{action}", action: "b")] },
            { $0.topics = [try MQTTTopic("a/b", payload: .text)] },
            { $0.topics = [try MQTTTopic("a/b", payload: .text, envelope: .apns)] },
            { $0.topics = [try MQTTTopic("a/b", action: "b", envelope: .apns)] },
            { $0.topics = [try MQTTTopic("a/{action}", envelope: .cloudEvents)] },
            { $0.clientID = .random() },
            { $0.sessionExpiry = .milliseconds(1_500) },
            { $0.sessionExpiry = .seconds(-1) },
            { $0.sessionExpiry = .seconds(4_294_967_295) },
            { $0.keepalive = .seconds(4) },
            { $0.keepalive = .seconds(65_536) },
            { $0.password = .environment("P") },
            { $0.receiveMaximum = 0 },
            { $0.receiveMaximum = 65_536 },
            { $0.heldBytes = 0 },
            { $0.heldBytes = 8 * 1024 * 1024 + 1 },
            { $0.coalesce = .microseconds(199) },
            { $0.coalesce = .milliseconds(11) },
            { $0.ackDeadline = .zero },
            { $0.answerTimeout = .seconds(3_601) },
            { $0.cachedTopics = 0 },
            { $0.reconnect = MQTTReconnect(first: .seconds(31)) },
            { $0.reconnect = MQTTReconnect(slow: .zero ... .seconds(1)) },
        ]
        for (number, change) in changes.enumerated() {
            let configuration = try make(change)
            let error = #expect(throws: MQTTPushError.self, "change \(number)") { try configuration.validate() }
            #expect(error?.code == .invalidConfiguration && error?.source == "push", "change \(number)")
            #expect(error?.description.hasPrefix("source push: ") == true)
        }
    }

    @Test(arguments: ["", String(repeating: "a", count: 257), "a\nb", "a\u{0}", "a\u{85}"])
    func anInvalidClientIDIsRefused(text: String) {
        #expect(throws: MQTTPushError.self) { try MQTTClientID.fixed(text) }
    }

    @Test func randomClientIDsAreUniqueAndPortable() {
        let ids = Set((0..<100).map { _ in MQTTClientID.random().text })
        #expect(ids.count == 100)
        #expect(ids.allSatisfy { $0.utf8.count == 23 && $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } })
    }

    @Test func aSecretsDescriptionContainsOnlyItsSource() throws {
        let secret = Secret.environment("SIGNALBOX_NO_SUCH_VARIABLE")
        #expect("\(secret)" == "environment variable SIGNALBOX_NO_SUCH_VARIABLE")
        let error = try #require(throws: SecretUnavailable.self) { try secret.read() }
        #expect(error.description == "the environment variable SIGNALBOX_NO_SUCH_VARIABLE is not set")
        #expect(throws: SecretUnavailable.self) { try Secret.file("/nonexistent/secret").read() }
        #expect(try !Secret.environment("PATH").read().isEmpty)
    }
}
