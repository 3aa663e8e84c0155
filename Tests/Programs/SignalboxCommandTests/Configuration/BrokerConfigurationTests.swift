import SignalboxCore
import SignalboxRoutes
import Testing

@testable import MQTTPush
@testable import SignalboxCommand

/// The keys of a broker's source other than its address and topics, and the plugin that publishes.
@Suite struct BrokerConfigurationTests {
    private static func text(_ keys: String, plugin: String = "use: print") -> String {
        """
        sources:
          push:
            mqtt:
              client_id: tour
              topics: [ { pattern: 'push/{device}/{action}' } ]
              \(keys)
        plugins:
          - { action: loading, from: [ { source: push } ], \(plugin) }
        """
    }

    private static func section(_ keys: String, topic: String = "") throws -> MQTTSource {
        let configuration = try ConfigurationFixture.read(text(keys))
        guard case .mqtt(let section)? = configuration.sources.first?.kind else {
            throw ValueTextError(description: "none")
        }
        return section
    }

    @Test func omittedKeysHaveTheirDefaults() throws {
        let section = try Self.section("broker: mqtt://h").push
        #expect(section.version == .v5 && section.security == .none && section.will == nil)
        #expect(!section.announcesConnections && section.connections.isEmpty && section.publishing == nil)
        #expect(section.topics.map(\.qos) == [.atLeastOnce] && section.topics.map(\.retained) == [.deliver])
        #expect(try Self.section("broker: mqtts://h").push.security == .tls())
    }

    @Test(arguments: [("3.1.1", MQTTVersion.v311), ("'3.1.1'", .v311), ("5", .v5), ("'5'", .v5)])
    func aVersionIsANumberOrText(_ written: String, _ version: MQTTVersion) throws {
        #expect(try Self.section("broker: mqtt://h, version: \(written)".asLines).push.version == version)
    }

    @Test func certificatesAndPreSharedKeysAreRead() throws {
        let trust = "broker: mqtts://h, trust: { authority: a.pem }, identity: { certificate: c.pem, key: k.pem }"
        let identity = MQTTIdentity(certificateFile: "c.pem", keyFile: "k.pem")
        #expect(try Self.section(trust.asLines).push.security == .tls(.authority(file: "a.pem"), identity: identity))
        let anything = try Self.section("broker: mqtts://h, trust: anything".asLines)
        #expect(anything.push.security == .tls(.insecure))
        let key = "broker: mqtts://h, pre_shared_key: { identity: me, key: { env: PASSWORD } }"
        #expect(
            try Self.section(key.asLines).push.security == .preSharedKey(identity: "me", key: .environment("PASSWORD"))
        )
        let short = try Self.section(key.replacing("PASSWORD }", with: "PASSWORD }, allow_short: true").asLines)
        let allowed = MQTTSecurity.preSharedKey(identity: "me", key: .environment("PASSWORD"), allowsShort: true)
        #expect(short.push.security == allowed)
    }

    @Test func theFormerNameOfThePreSharedKeyIsRead() throws {
        let keys = "broker: mqtts://h, pre_shared_key: { identity: me, key: { env: PASSWORD } }".asLines
        let former = keys.replacing("pre_shared_key", with: "shared_key")
        #expect(try Self.section(former).push.security == Self.section(keys).push.security)
        let warnings = try ConfigurationFixture.read(Self.text(former)).warnings
        #expect(warnings.map(\.path) == ["sources.push.mqtt.shared_key"])
        #expect(warnings.map(\.suggestion) == ["pre_shared_key"])
    }

    @Test(
        arguments: [
            ("off", nil), ("200us", Duration.microseconds(200)), ("10ms", .milliseconds(10)),
        ] as [(String, Duration?)]
    )
    func coalescingIsOffOrADuration(text: String, duration: Duration?) throws {
        #expect(try Self.section("broker: mqtt://h, coalesce: \(text)".asLines).push.coalesce == duration)
    }

    @Test func theSectionConfiguresTheAdapter() throws {
        let section = try Self.section(
            """
            broker: mqtt://h
            will: { topic: gone, payload: bye, qos: 0, retain: true }
            announce_connections: true
            connections: [ { name: urgent, topics: [ { pattern: 'urgent/{action}', qos: 0, retained: ignore } ] } ]
            publishing: { queued_messages: 7, queued_bytes: 1MiB, reply_topics: [ 'r/#' ], send_topic: 'out/{action}', stop_timeout: 0s }
            """.indented
        )
        let push = section.push
        #expect(push.will == MQTTWill(topic: "gone", payload: Array("bye".utf8), qos: .atMostOnce, retain: true))
        #expect(push.announcesConnections)
        let urgent = try #require(push.connections.first)
        #expect(urgent.name == "urgent" && urgent.topics.map(\.qos) == [.atMostOnce])
        #expect(urgent.topics.map(\.retained) == [.ignore])
        let publishing = try #require(push.publishing)
        #expect(publishing.queuedMessages == 7 && publishing.queuedBytes == 1 << 20 && publishing.stopTimeout == .zero)
        #expect(publishing.replyTopics.map(\.text) == ["r/#"] && publishing.sendTopic == "out/{action}")
        #expect(publishing.waitingReplies == MQTTPublishing().waitingReplies && publishing.clientID == nil)
        #expect(section.allTopics.count == 2)
    }

    @Test func aWillHasADelayAndProperties() throws {
        let push = try Self.section(
            """
            broker: mqtt://h
            will: { topic: gone, delay: 5s, expiry: 1h, content_type: a/b, response_topic: back, correlation: id, is_text: true, user_properties: { b: "1", a: x } }
            connect_properties: { site: north }
            """.indented
        ).push
        var will = MQTTWill(topic: "gone", payload: [])
        will.delay = .seconds(5)
        will.expiry = .seconds(3_600)
        (will.contentType, will.responseTopic, will.correlation) = ("a/b", "back", Array("id".utf8))
        will.isText = true
        will.userProperties = [.init(name: "b", value: "1"), .init(name: "a", value: "x")]
        #expect(push.will == will)
        #expect(push.connectProperties == [.init(name: "site", value: "north")])
    }

    @Test(arguments: [
        ("broker: mqtt://h, trust: system", "conflictingKeys sources.push.mqtt.trust"),
        (
            "broker: mqtt://h, pre_shared_key: { identity: a, key: { env: PASSWORD } }",
            "conflictingKeys sources.push.mqtt.pre_shared_key"
        ),
        (
            "broker: mqtts://h, trust: system, pre_shared_key: { identity: a, key: { env: PASSWORD } }",
            "conflictingKeys sources.push.mqtt.trust"
        ),
        (
            "broker: mqtts://h, pre_shared_key: { identity: a, key: '0123' }",
            "secretInFile sources.push.mqtt.pre_shared_key.key"
        ),
        (
            "broker: mqtts://h, pre_shared_key: { key: { env: PASSWORD } }",
            "missingKey sources.push.mqtt.pre_shared_key"
        ),
        ("broker: mqtt://h, version: 4", "invalidValue sources.push.mqtt.version"),
        ("broker: mqtt://h, coalesce: 199us", "invalidValue sources.push.mqtt.coalesce"),
        ("broker: mqtt://h, coalesce: false", "invalidValue sources.push.mqtt.coalesce"),
        ("broker: mqtt://h, will: { payload: a }", "missingKey sources.push.mqtt.will"),
        ("broker: mqtt://h, will: { topic: 'a/+' }", "invalidValue sources.push.mqtt"),
        ("broker: mqtt://h, will: { topic: a, delay: 1ms }", "invalidValue sources.push.mqtt"),
        ("broker: mqtt://h, will: { topic: a, expiry: 0s }", "invalidValue sources.push.mqtt.will.expiry"),
        (
            "broker: mqtt://h, will: { topic: a, user_properties: [a] }",
            "invalidValue sources.push.mqtt.will.user_properties"
        ),
        (
            "broker: mqtt://h, will: { topic: a, user_properties: { a: 1 } }",
            "invalidValue sources.push.mqtt.will.user_properties.a"
        ),
        ("broker: mqtt://h, version: 3.1.1, will: { topic: a, is_text: true }", "invalidValue sources.push.mqtt"),
        ("broker: mqtt://h, version: 3.1.1, connect_properties: { a: b }", "invalidValue sources.push.mqtt"),
        ("broker: mqtt://h, session_expiry: 0s, will: { topic: a, delay: 1s }", "invalidValue sources.push.mqtt"),
        ("broker: mqtt://h, will: { topic: a, qos: 2 }", "invalidValue sources.push.mqtt.will.qos"),
        ("broker: mqtt://h, connections: [ { name: a } ]", "missingKey sources.push.mqtt.connections[0]"),
        (
            "broker: mqtt://h, publishing: { reply_topics: [ 'a#' ] }",
            "badPattern sources.push.mqtt.publishing.reply_topics[0]"
        ),
        ("broker: mqtt://h, publishing: { send_topic: 'a/+' }", "badPattern sources.push.mqtt.publishing.send_topic"),
        (
            "broker: mqtt://h, publishing: { queued_messages: 0 }",
            "invalidValue sources.push.mqtt.publishing.queued_messages"
        ),
    ])
    func errorsAreReportedWithTheirPosition(_ keys: String, _ problem: String) throws {
        let findings = ConfigurationFixture.findings(Self.text(keys.asLines)).filter { $0.hasPrefix("error ") }
        #expect(findings == ["error \(problem)"], "\(findings)")
    }

    @Test func aPluginPublishesThroughASource() throws {
        let plugin = "use: publish, source: push, topic: 'out/{action}/{id}', qos: 0, retain: true"
        let text = Self.text("broker: mqtt://h\n      publishing: {}", plugin: plugin)
        let use = try ConfigurationFixture.read(text).plugins.first?.use
        let topic = try TopicTemplate("out/{action}/{id}")
        let section = PublishSection(source: "push", topic: topic, qos: .atMostOnce, retain: true)
        #expect(use == .publish(section))
    }

    @Test func aPublishPluginHasProperties() throws {
        let properties =
            "{ content_type: a/b, expiry: 5s, response_topic: r, correlation: c, is_text: true, user_properties: { a: b } }"
        let plugin = "use: publish, source: push, topic: out, properties: \(properties)"
        let text = Self.text("broker: mqtt://h\n      publishing: {}", plugin: plugin)
        guard case .publish(let section) = try ConfigurationFixture.read(text).plugins.first?.use else {
            Issue.record("no plugin")
            return
        }
        var message = MQTTMessage([], to: "")
        message.contentType = "a/b"
        message.expiry = .seconds(5)
        message.responseTopic = "r"
        message.correlation = Array("c".utf8)
        message.isText = true
        message.userProperties = [.init(name: "a", value: "b")]
        #expect(section.properties == message)
        let old = Self.text("broker: mqtt://h\n      version: 3.1.1\n      publishing: {}", plugin: plugin)
        #expect(ConfigurationFixture.findings(old) == ["error conflictingKeys plugins[0].properties"])
    }

    @Test(arguments: [
        ("use: publish, topic: a", "missingKey plugins[0]"), ("use: publish, source: push", "missingKey plugins[0]"),
        ("use: publish, source: posh, topic: a", "unknownSource plugins[0].source"),
        ("use: publish, source: push, topic: 'a/+'", "badPattern plugins[0].topic"),
        ("use: publish, source: push, topic: a, qos: 2", "invalidValue plugins[0].qos"),
        ("use: print, topic: a", "conflictingKeys plugins[0].topic"),
        ("use: print, properties: {}", "conflictingKeys plugins[0].properties"),
        (
            "use: publish, source: push, topic: a, properties: { response_topic: 'a/+' }",
            "badPattern plugins[0].properties.response_topic"
        ),
        (
            "use: publish, source: push, topic: a, properties: { expiry: 0s }",
            "invalidValue plugins[0].properties.expiry"
        ),
        ("use: log, retain: true", "conflictingKeys plugins[0].retain"),
    ])
    func anInvalidPublishPluginIsAnError(_ plugin: String, _ problem: String) {
        let text = Self.text("broker: mqtt://h\n      publishing: {}", plugin: plugin)
        #expect(ConfigurationFixture.findings(text) == ["error \(problem)"])
    }

    @Test func aPublishPluginNeedsAPublishingSource() {
        let text = Self.text("broker: mqtt://h", plugin: "use: publish, source: push, topic: a")
        #expect(ConfigurationFixture.findings(text) == ["error missingKey plugins[0].source"])
    }

    @Test(arguments: [
        ("push/kiosk/loading", true), ("push/kiosk/{action}", true), ("push/{id}/{action}", true),
        ("push/kiosk/done", false), ("out/{action}", false),
    ])
    func aPublishLoopCausesAWarning(_ topic: String, _ isLoop: Bool) {
        let text = Self.text(
            "broker: mqtt://h\n      publishing: {}",
            plugin: "use: publish, source: push, topic: '\(topic)'"
        )
        let findings = ConfigurationFixture.findings(text)
        #expect(findings == (isLoop ? ["warning publishLoop plugins[0].action"] : []))
    }

    @Test func aLostSessionIsAnActionIfTheSourceAnnouncesConnections() {
        let reported =
            Self.text("broker: mqtt://h\n      announce_connections: true")
            + "\n  - { action: signalbox.sessionLost, use: log, from: [ { source: push } ] }"
        #expect(ConfigurationFixture.findings(reported).isEmpty)
        let silent = reported.replacing("announce_connections: true", with: "announce_connections: false")
        #expect(ConfigurationFixture.findings(silent) == ["warning unreachablePlugin plugins[1].action"])
    }
}

extension String {
    /// The text with these keys on separate lines below `mqtt`.
    fileprivate var asLines: String {
        replacing(", trust:", with: "\ntrust:").replacing(", identity: {", with: "\nidentity: {")
            .replacing(", pre_shared_key:", with: "\npre_shared_key:").replacing(", version:", with: "\nversion:")
            .replacing(", will:", with: "\nwill:").replacing(", connections:", with: "\nconnections:")
            .replacing(", publishing:", with: "\npublishing:").replacing(", coalesce:", with: "\ncoalesce:")
            .replacing(", connect_properties:", with: "\nconnect_properties:")
            .replacing(", session_expiry:", with: "\nsession_expiry:").indented
    }

    /// The text with every line but the first indented like the keys of `mqtt`.
    fileprivate var indented: String { replacing("\n", with: "\n      ") }
}

/// The keys `max_deliveries` and `deliveries_file` of a broker's source, and their defaults.
@Suite struct DeliveriesConfigurationTests {
    private static let appendLog = "use: file, path: actions.jsonl"

    /// - Parameter uses: The `use` key of each plugin, with its options.
    private static func text(_ keys: [String], _ uses: [String]) -> String {
        let source = ["broker: 'mqtt://h'", "client_id: c", "topics: [ { pattern: 'push/{action}' } ]"] + keys
        let plugins = uses.enumerated().map { number, use in
            "{ action: a\(number), from: [ { source: push } ], \(use) }"
        }
        return """
            sources: { push: { mqtt: { \(source.joined(separator: ", ")) } } }
            plugins: [ \(plugins.joined(separator: ", ")) ]
            """
    }

    private static func section(_ configuration: RunConfiguration) throws -> MQTTSource {
        guard case .mqtt(let section)? = configuration.sources.first?.kind else {
            throw ValueTextError(description: "the source is not an MQTT source")
        }
        return section
    }

    /// Returns the limit that the adapter receives.
    private static func limit(_ keys: String..., uses: [String]) throws -> MQTTDeliveryLimit? {
        let configuration = try ConfigurationFixture.read(text(keys, uses))
        let section = try Self.section(configuration)
        return section.push(in: configuration).deliveries
    }

    @Test func theDefaultFileIsNextToTheFirstAppendLog() throws {
        let other = "use: file, path: folder/other.jsonl"
        let first = try Self.limit(uses: ["use: print", Self.appendLog, other])
        #expect(first == MQTTDeliveryLimit(file: "actions.jsonl.deliveries.push", deliveries: 5))
        let second = try Self.limit(uses: [other, Self.appendLog])
        #expect(second == MQTTDeliveryLimit(file: "folder/other.jsonl.deliveries.push", deliveries: 5))
    }

    @Test func withoutAnAppendLogDeliveriesAreNotCounted() throws {
        #expect(try Self.limit(uses: ["use: print"]) == nil)
        #expect(try Self.limit("max_deliveries: 2", uses: ["use: print"]) == nil)
    }

    @Test func aMessageIsDeliveredFiveTimesByDefault() throws {
        let configuration = try ConfigurationFixture.read(Self.text([], ["use: print"]))
        let section = try Self.section(configuration)
        #expect(section.maxDeliveries == 5 && section.deliveriesFile == nil)
        for number in [1, 1_000] {
            let limit = try Self.limit("max_deliveries: \(number)", uses: [Self.appendLog])
            #expect(limit?.deliveries == number)
        }
    }

    @Test func aNamedFileReplacesTheDefault() throws {
        for uses in [["use: print"], [Self.appendLog]] {
            let limit = try Self.limit("deliveries_file: own", "max_deliveries: 3", uses: uses)
            #expect(limit == MQTTDeliveryLimit(file: "own", deliveries: 3))
        }
        let kept = try Self.limit("deliveries_file: { file: user.txt }", uses: [Self.appendLog])
        #expect(kept?.file == "kiosk")
    }

    @Test(arguments: [
        ("max_deliveries: 0", "invalidValue sources.push.mqtt.max_deliveries"),
        ("max_deliveries: 1001", "invalidValue sources.push.mqtt.max_deliveries"),
        ("deliveries_file: gone/own", "missingFile sources.push.mqtt.deliveries_file"),
        ("deliveries_file: folder", "missingFile sources.push.mqtt.deliveries_file"),
    ])
    func errorsAreReportedWithTheirPosition(_ key: String, _ problem: String) {
        let findings = ConfigurationFixture.findings(Self.text([key], ["use: print"]))
        #expect(findings == ["error \(problem)"])
    }
}
