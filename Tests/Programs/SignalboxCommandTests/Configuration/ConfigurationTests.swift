import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

@Suite struct ConfigurationTests {
    private static let full = """
        sources:
          push:
            mqtt:
              broker: { env: BROKER }
              client_id: tour
              clean_start: true
              session_expiry: 2h
              keepalive: 15s
              username: { file: user.txt }
              password: { env: PASSWORD }
              topics:
                - pattern: push/{device}/{action}
                - pattern: sensors/{room}/temperature
                  payload: text
                  action: temperature
              receive_maximum: 100
            window: { arrivals: 10, bytes: 1MiB }
        plugins:
          - action: loading
            use: print
            from:
              - source: push
                topic: push/+/loading
            timeout: 500ms
          - { action: record, use: file, path: actions.jsonl, from: [ { source: push } ] }
        limits: { message_bytes: 128KiB, depth: 10 }
        dead_letters: { count: 5, bytes: 1KiB }
        timeout: 4s
        drain_limit: 1m
        """

    @Test func everyKeyOfASourceIsRead() throws {
        let source = try #require(try ConfigurationFixture.read(ConfigurationTests.full).sources.first)
        guard case .mqtt(let section) = source.kind else {
            Issue.record("the source is not an MQTT source")
            return
        }
        let push = section.push
        #expect(push.limits == MessageLimits(bytes: 128 << 10, depth: 10))
        #expect(push.source == "push")
        #expect(push.broker.description == "127.0.0.1:1883")
        #expect(push.cleanStart)
        #expect(push.sessionExpiry == .seconds(7_200))
        #expect(push.keepalive == .seconds(15))
        #expect(push.username == .text("kiosk"))
        #expect(push.password == .environment("PASSWORD"))
        #expect(push.topics.map(\.pattern.text) == ["push/{device}/{action}", "sensors/{room}/temperature"])
        #expect(push.topics.map(\.payload) == [.json, .text])
        #expect(push.topics.map(\.action) == [nil, "temperature"])
        #expect(push.receiveMaximum == 100)
        #expect(source.window == WindowLimits(arrivals: 10, bytes: 1 << 20))
        try push.validate()
    }

    @Test func keysOutsideSourcesAreRead() throws {
        let configuration = try ConfigurationFixture.read(ConfigurationTests.full)
        #expect(configuration.limits == MessageLimits(bytes: 128 << 10, depth: 10))
        #expect(configuration.supervisor.deadLetters == DeadLetterLimits(count: 5, bytes: 1_024))
        #expect(configuration.supervisor.timeout == .seconds(4))
        #expect(configuration.supervisor.drainLimit == .seconds(60))
        #expect(configuration.plugins.map(\.action) == ["loading", "record"])
        #expect(configuration.plugins.map(\.use) == [.print, .file(path: "actions.jsonl")])
        #expect(configuration.plugins.map(\.timeout) == [.milliseconds(500), .seconds(4)])
        #expect(
            configuration.plugins.map(\.from) == [
                [.origin("push", [.topic(try TopicFilter("push/+/loading"))])],
                [.origin("push", [])],
            ]
        )
    }

    @Test func omittedKeysHaveTheDocumentedDefaults() throws {
        let configuration = try ConfigurationFixture.read(ConfigurationFixture.lines.joined(separator: "\n"))
        let source = try #require(configuration.sources.first)
        #expect(configuration.limits == MessageLimits(bytes: 65_536, depth: 64))
        #expect(configuration.supervisor.deadLetters == DeadLetterLimits(count: 1_000, bytes: 16 << 20))
        #expect(configuration.supervisor.drainLimit == .seconds(10))
        #expect(source.window == WindowLimits(arrivals: 1_000, bytes: 16 << 20))
        guard case .mqtt(let mqtt) = source.kind else {
            Issue.record("the source is not an MQTT source")
            return
        }
        #expect(mqtt.push.sessionExpiry == .seconds(3_600))
        #expect(mqtt.push.keepalive == .seconds(30))
        #expect(mqtt.push.receiveMaximum == 250)
        #expect(!mqtt.push.cleanStart)
    }

    @Test func theTourConfigurationIsValid() throws {
        let path = #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let bytes = try FileContent.read("/\(path)/examples/tour/signalbox.yaml", limit: 1 << 20).get()
        let environment = Environment(
            variable: { _ in "mqtt://127.0.0.1:1" },
            content: { _ in .failure(FileReadError(description: "none")) }
        )
        let text = String(decoding: bytes, as: UTF8.self)
        let configuration = try ConfigurationReader.read(text, file: "tour", environment: environment)
        #expect(configuration.plugins.count == 5)
    }
}

@Suite struct ValueTextTests {
    @Test(arguments: [
        ("0s", Duration.zero), ("1ms", .milliseconds(1)), ("500ms", .milliseconds(500)), ("3s", .seconds(3)),
        ("5m", .seconds(300)), ("1h", .seconds(3_600)), ("7d", .seconds(604_800)),
    ])
    func aDurationHasAUnit(_ text: String, _ expected: Duration) throws {
        #expect(try DurationText.duration(in: text) == expected)
        #expect(DurationText.text(expected) == text)
    }

    @Test(arguments: [
        "", "3", "s", "-1s", "1.5s", "3 s", "3S", "03s", "1h30m", "99999999999s", "9223372036854775808ms",
    ])
    func invalidDurationsAreRefused(_ text: String) {
        #expect(throws: ValueTextError.self) { try DurationText.duration(in: text) }
    }

    @Test(arguments: [("0", 0), ("65536", 65_536), ("64KiB", 65_536), ("16MiB", 16 << 20), ("1GiB", 1 << 30)])
    func aSizeIsInBytesOrPowersOf1024(_ text: String, _ expected: Int) throws {
        #expect(try SizeText.bytes(in: text) == expected)
    }

    @Test(arguments: [
        "", "KiB", "64KB", "64k", "64 KiB", "-1", "1e3", "010", "0x10", "9223372036854775807GiB", "1_000",
    ])
    func invalidSizesAreRefused(_ text: String) {
        #expect(throws: ValueTextError.self) { try SizeText.bytes(in: text) }
    }

    @Test(arguments: [
        ("brokre", "broker"), ("Broker", "broker"), ("client-id", "client_id"), ("topic", "topics"), ("zzz", nil),
    ])
    func theNearestNameIsSuggested(_ name: String, _ expected: String?) {
        #expect(NameSuggestion.nearest(to: name, among: ["broker", "client_id", "topics"]) == expected)
    }
}
