import BrokerKit
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(5))) struct CheckPayloadTests {
    private static func configuration(topics: [String], _ plugin: String) -> String {
        let items = topics.map { "        - \($0)\n" }.joined()
        return """
            sources:
              up:
                mqtt:
                  broker: mqtt://127.0.0.1:1
                  client_id: a
                  publishing: {}
                  topics:
            \(items)
              room: { chat: { port: 0, absent_origin: allowed, tags: all, frames: { binary: picture } } }
            plugins:
              - { action: e, \(plugin) }
              - { action: picture, use: echo, from: [room] }
            """
    }

    private static let text = "{ pattern: raw/x, action: e, payload: text }"
    private static let bytes = "{ pattern: raw/x, action: e, payload: bytes }"
    private static let open = "{ pattern: 'raw/{action}', payload: text }"
    private static let echo = "use: echo, from: [up]"
    private static let reason =
        "it returns text on a connection, but the messages of 'up' have no connection; let the payload"

    static let declined = [
        (text, echo, "sources.up.mqtt.topics[0].action", reason),
        (open, echo, "plugins[0].from[0]", reason),
        (bytes, "use: broadcast, to: room, tag: all, from: [up]", "sources.up.mqtt.topics[0].action", "an envelope"),
        (text, "use: broadcast, to: room, from: [up]", "sources.up.mqtt.topics[0].action", "text cannot name a tag"),
    ]

    @Test(arguments: declined)
    func aPayloadThatThePluginAlwaysDeclinesIsAWarning(
        _ topic: String,
        _ plugin: String,
        _ key: String,
        _ reason: String
    ) async throws {
        let text = Self.configuration(topics: [topic], plugin)
        try await LinkTrial.with(["c.yaml": text]) { trial in
            let finished = try await trial.run(["check", "--strict", "c.yaml"])
            #expect(finished.status == CommandStatus.invalidConfiguration.rawValue)
            let line = try #require(finished.output.first)
            #expect(finished.output.count == 1, "\(finished.output)")
            #expect(line.contains(": warning: \(key): the plugin 'e', use: "), "\(line)")
            #expect(line.contains("declines all these messages, because \(reason)"), "\(line)")
            #expect(line.hasSuffix(" [declinedPayload]"), "\(line)")
        }
    }

    @Test(arguments: [
        ([text.replacing("text", with: "json")], echo), ([open, "'push/{action}'"], echo),
        ([text], "use: broadcast, to: room, tag: all, from: [up]"),
        ([bytes], "use: publish, source: up, topic: 'out/{id}', from: [up]"),
        (["'push/{action}'"], "use: join, tag: all, from: [room]"),
    ])
    func aPayloadThatThePluginTakesIsNoFinding(_ topics: [String], _ plugin: String) async throws {
        let extra = plugin.contains("[room]") ? "\n  - { action: other, use: log, from: [up] }" : ""
        let text = Self.configuration(topics: topics, plugin) + extra
        try await LinkTrial.with(["c.yaml": text]) { trial in
            let finished = try await trial.run(["check", "--strict", "c.yaml"])
            #expect(finished.status == 0, "\(finished.output)")
        }
    }
}
