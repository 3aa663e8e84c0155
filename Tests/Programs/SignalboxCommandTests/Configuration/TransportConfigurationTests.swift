import MQTTPush
import SignalboxCore
import Testing

@testable import SignalboxCommand

/// The keys of a broker's source for how it reaches its brokers.
@Suite struct TransportConfigurationTests {
    private static func text(_ keys: String) -> String {
        let mqtt = "client_id: tour, topics: [ 'push/{action}' ], \(keys)"
        return """
            sources: { push: { mqtt: { \(mqtt) } } }
            plugins: [ { action: loading, use: print, from: [push] } ]
            """
    }

    private static func push(_ keys: String) throws -> MQTTPushConfiguration {
        let configuration = try ConfigurationFixture.read(text(keys))
        return try #require(configuration.sources.first?.kind.mqtt).push
    }

    @Test func omittedKeysHaveTheirDefaults() throws {
        let push = try Self.push("broker: mqtt://h")
        #expect(push.furtherBrokers.isEmpty && push.brokerOrder == .listed && push.proxy == nil && push.headers.isEmpty)
        #expect(push.alpn == nil && push.connectTimeout == .seconds(10))
    }

    @Test(arguments: [
        ("mqtt://h", ["mqtt://h"]), ("[mqtt://h]", ["mqtt://h"]), ("'ws://h/mqtt'", ["ws://h/mqtt"]),
        ("unix:/run/m.sock", ["unix:/run/m.sock"]), ("{ env: BROKER }", ["mqtt://127.0.0.1:1883"]),
        ("[mqtt://h, { env: BROKER }, unix:/s]", ["mqtt://h", "mqtt://127.0.0.1:1883", "unix:/s"]),
        ("[wss://a/mqtt, mqtts://a]", ["wss://a/mqtt", "mqtts://a"]),
    ])
    func brokersAreAListOrOne(written: String, urls: [String]) throws {
        #expect(try Self.push("broker: \(written)").brokers == urls.map { try MQTTBroker(url: $0) })
    }

    @Test func theSectionConfiguresTheAdapter() throws {
        let push = try Self.push(
            """
            broker: [wss://a/mqtt, mqtts://b], broker_order: shuffled, connect_timeout: 300ms, alpn: [x, mqtt], \
            headers: { X-Client: kiosk, X-Token: { env: PASSWORD } }, \
            proxy: { url: 'socks5://p:9', username: u, password: { env: PASSWORD } }
            """
        )
        #expect(push.brokerOrder == .shuffled && push.connectTimeout == .milliseconds(300))
        #expect(push.alpn == ["x", "mqtt"])
        let headers = [MQTTHeader("X-Client", .text("kiosk")), MQTTHeader("X-Token", .environment("PASSWORD"))]
        #expect(push.headers == headers && push.security == .tls())
        let proxy = try #require(push.proxy)
        #expect(proxy.description == "socks5://p:9" && proxy.username == "u")
        #expect(proxy.password == .environment("PASSWORD"))
        let simple = try Self.push("broker: mqtts://a, proxy: 'http://p', alpn: mqtt")
        #expect(simple.proxy?.description == "http://p:80" && simple.alpn == ["mqtt"])
        #expect(try Self.push("broker: mqtts://a, alpn: []").alpn == [])
        let trust = try Self.push("broker: wss://a, trust: { authority: a.pem }")
        #expect(trust.security == .tls(.authority(file: "a.pem")))
    }

    @Test(arguments: [
        ("broker: []", "missingKey sources.push.mqtt.broker", "list at least one broker"),
        (
            "broker: [\((1...17).map { "mqtt://h\($0)" }.joined(separator: ", "))]",
            "invalidValue sources.push.mqtt.broker", "at most 16 brokers"
        ),
        (
            "broker: [mqtt://a, mqtts://b]", "conflictingKeys sources.push.mqtt.broker[1]",
            "it is mqtts:// and broker[0] is mqtt://, but all brokers get the same login; use TLS"
        ),
        (
            "broker: [unix:/a, wss://b]", "conflictingKeys sources.push.mqtt.broker[1]",
            "it is wss:// and broker[0] is unix:"
        ),
        (
            "broker: [mqtt://a, mqtt://b, mqtt://a:1883]", "conflictingKeys sources.push.mqtt.broker[2]",
            "it is the same as broker[0]; remove one of them"
        ),
        (
            "broker: [mqtt://a, mqtt://canary:canary@b]", "invalidValue sources.push.mqtt.broker[1]",
            "a broker's URL must not contain a user name or password"
        ),
        ("broker: http://canary", "invalidValue sources.push.mqtt.broker", "a broker's URL must be mqtt://host"),
        ("broker: unix:canary", "invalidValue sources.push.mqtt.broker", "write unix:/path"),
        (
            "broker: 'wss://b/mqtt?access_token=canary4711canary'", "secretInFile sources.push.mqtt.broker",
            "a URL with a secret must not be written into a configuration"
        ),
        (
            "broker: ws://a, trust: system", "conflictingKeys sources.push.mqtt.trust",
            "the broker's URL is ws://; 'trust' requires wss://"
        ),
        (
            "broker: mqtt://a, trust: anything",
            "conflictingKeys sources.push.mqtt.trust", "the broker's URL is mqtt://; 'trust' requires mqtts://"
        ),
        (
            "broker: unix:/a, pre_shared_key: { identity: a, key: { env: PASSWORD } }",
            "conflictingKeys sources.push.mqtt.pre_shared_key",
            "the broker is a Unix socket, which has no TLS; remove 'pre_shared_key'"
        ),
        (
            "broker: [mqtt://a, unix:/a], headers: { X: y }", "conflictingKeys sources.push.mqtt.headers",
            "headers belong to the request for a WebSocket, and the broker's URL is mqtt://; write ws://host/path"
        ),
        ("broker: ws://a, headers: { Host: b }", "invalidValue sources.push.mqtt", "Host"),
        ("broker: ws://a, headers: { X: y, x: z }", "invalidValue sources.push.mqtt", "occurs twice"),
        (
            "broker: ws://a, headers: { Authorization: Bearer canary-4711 }",
            "secretInFile sources.push.mqtt.headers.Authorization", "a token must not be written"
        ),
        (
            "broker: ws://a, alpn: mqtt", "conflictingKeys sources.push.mqtt.alpn",
            "the broker's URL is ws://; 'alpn' requires wss://"
        ),
        ("broker: mqtts://a, alpn: ''", "invalidValue sources.push.mqtt.alpn", "expected text, found empty text"),
        ("broker: mqtts://a, broker_order: random", "invalidValue sources.push.mqtt.broker_order", "listed, shuffled"),
        ("broker: mqtt://a, connect_timeout: 99ms", "invalidValue sources.push.mqtt.connect_timeout", "100ms to"),
        ("broker: mqtt://a, proxy: 'https://p'", "invalidValue sources.push.mqtt.proxy", "socks5://host:port"),
        (
            "broker: mqtt://a, proxy: { url: 'http://p', username: u }", "invalidValue sources.push.mqtt",
            "a login of a proxy needs both a user name and a password"
        ),
        (
            "broker: mqtt://a, proxy: { url: 'http://p', username: u, password: canary }",
            "secretInFile sources.push.mqtt.proxy.password", "a password must not be written"
        ),
        (
            "broker: unix:/a, proxy: 'http://p'", "conflictingKeys sources.push.mqtt.proxy",
            "a Unix socket is on this machine, so no proxy leads to it; remove 'proxy'"
        ),
    ])
    func aMistakeNamesItsPlace(keys: String, problem: String, words: String) throws {
        let found = ConfigurationFixture.lint(Self.text(keys)).findings.filter { $0.severity == .error }
        #expect(found.map { "\($0.code) \($0.path)" } == [problem], "\(found.map(\.description))")
        let message = found.first?.description ?? ""
        #expect(message.contains(words), "\(message)")
        #expect(!message.contains("canary"))
    }

    /// A broker whose URL is not read could have any transport.
    @Test(arguments: [
        "broker: { env: UNREAD }, headers: { X: y }, alpn: mqtt, trust: system, broker_order: shuffled",
        "broker: [{ env: UNREAD }, { env: OTHER }, mqtt://h], headers: { X: y }, proxy: 'http://p'",
        "broker: [mqtts://h, { env: UNREAD }], trust: system",
    ])
    func nothingIsReportedAboutABrokerThatIsNotRead(keys: String) {
        #expect(ConfigurationFixture.findings(Self.text(keys), readsSecrets: false).isEmpty)
    }

    @Test func aChangedListChangesTheSource() throws {
        let first = try ConfigurationFixture.read(Self.text("broker: [mqtt://a, mqtt://b]"))
        for keys in [
            "broker: [mqtt://a, mqtt://c]", "broker: [mqtt://b, mqtt://a]", "broker: mqtt://a",
            "broker: [mqtt://a, mqtt://b], broker_order: shuffled", "broker: [mqtt://a, mqtt://b], proxy: 'http://p'",
        ] {
            let second = try ConfigurationFixture.read(Self.text(keys))
            let change = ConfigurationChange(from: first, to: second, hasReadInput: false)
            #expect(change.sources.changed.map(\.name) == ["push"], "\(keys)")
        }
    }
}
