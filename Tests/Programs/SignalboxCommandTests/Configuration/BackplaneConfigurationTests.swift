import MQTTPush
import SignalboxCore
import SignalboxRoutes
import Testing
import WebSocketChat

@testable import SignalboxCommand

/// The key `backplane` of a chat.
@Suite struct BackplaneConfigurationTests {
    private static func text(
        _ backplane: String,
        plugin: String = "action: say, use: broadcast, tag: lobby, from: chat",
        other: String = ""
    ) -> String {
        """
        sources:
          push:
            mqtt: { broker: mqtt://h, client_id: a, topics: ['push/{action}'], publishing: {}, will: { topic: gone } }
          mute: { mqtt: { broker: mqtt://h, client_id: b, topics: ['mute/{action}'] } }
          chat: { chat: { port: 0, absent_origin: allowed, tags: [lobby] \(backplane) } }
          page: { script: { files: [here.js] } }
          \(other)
        plugins:
          - { action: rest, use: log, from: { not: internal } }
          - { \(plugin) }
        """
    }

    @Test(arguments: [
        ("backplane: push", "signalbox/backplane/chat"), ("backplane: { source: push }", "signalbox/backplane/chat"),
        ("backplane: { source: push, topic: shop/talk }", "shop/talk"),
    ])
    func aChatHasABackplane(_ key: String, _ topic: String) throws {
        let text = Self.text(", \(key)")
        #expect(ConfigurationFixture.findings(text).isEmpty)
        let configuration = try ConfigurationFixture.read(text)
        #expect(configuration.plugins[1].backplanes == ["chat": BackplaneSection(source: "push", topic: topic)])
        #expect(configuration.targets == ["push"])
        let receiver = try #require(configuration.runningSources.last)
        #expect(receiver.name == "chat-backplane" && configuration.runningSources.count == 5)
        let push = try #require(receiver.kind.mqtt).push(in: configuration)
        #expect(push.topics.map(\.pattern.text) == ["\(topic)/+"] && push.cleanStart && push.sessionExpiry == .zero)
        #expect(push.publishing == nil && push.will == nil && push.deliveries == nil)
        let plugin = try #require(configuration.runningPlugins.last)
        #expect(
            plugin.use == .deliver(chats: ["chat-backplane": "chat"]) && plugin.action.text == "signalbox.backplane"
        )
    }

    @Test func aChatWithoutOneAddsNothing() throws {
        let configuration = try ConfigurationFixture.read(Self.text(""))
        #expect(configuration.runningSources == configuration.sources)
        #expect(configuration.runningPlugins == configuration.plugins && configuration.targets.isEmpty)
    }

    @Test(arguments: [
        ("pusch", "unknownSource", "", "did you mean 'push'?"),
        ("page", "conflictingKeys", "", "is not an MQTT source"),
        ("mute", "missingKey", "", "add 'publishing: {}'"), ("'a b'", "unknownSource", "", "there is no source 'a b'"),
        ("{ topic: a }", "missingKey", "", "'source' is missing"),
        ("{ source: mute }", "missingKey", ".source", "add 'publishing: {}'"),
        ("{ source: push, topic: 'a/#' }", "badPattern", ".topic", ""),
        ("{ source: push, topic: '$a' }", "badPattern", ".topic", ""),
        ("{ source: push, topic: '{action}' }", "badPattern", ".topic", "remove the braces"),
    ])
    func whatCannotWorkIsAnError(_ value: String, _ code: String, _ key: String, _ words: String) {
        let text = Self.text(", backplane: \(value)")
        #expect(ConfigurationFixture.findings(text) == ["error \(code) sources.chat.chat.backplane\(key)"])
        let problems = ConfigurationFixture.problems(text)
        #expect(problems.count == 1 && problems[0].contains(words), "\(problems)")
    }

    @Test func whatTwoSourcesCannotShareIsAnError() {
        let second = "more: { chat: { port: 1, absent_origin: allowed, backplane: { source: push, topic: T } } }"
        let shared = Self.text(", backplane: { source: push, topic: T }", other: second)
        #expect(ConfigurationFixture.findings(shared) == ["error conflictingKeys sources.more.chat.backplane"])
        let named = Self.text(", backplane: push", other: "chat-backplane: { links: { urls: ['a://rest'] } }")
        #expect(ConfigurationFixture.findings(named).contains("error conflictingKeys sources.chat.chat.backplane"))
        let long = String(repeating: "a", count: 55)
        let text = Self.text(
            "",
            other: "\(long): { chat: { port: 1, absent_origin: allowed, backplane: push } }"
        )
        #expect(ConfigurationFixture.findings(text) == ["error badName sources.\(long).chat.backplane"])
    }

    @Test func aBroadcastThatWaitsForABrokerCannotBeInline() {
        let plugin = "action: say, use: broadcast, tag: lobby, inline: true, from: chat"
        #expect(ConfigurationFixture.findings(Self.text("", plugin: plugin)).isEmpty)
        let findings = ConfigurationFixture.findings(Self.text(", backplane: push", plugin: plugin))
        #expect(findings == ["error conflictingKeys plugins[1].inline"])
    }

    @Test(arguments: [("push/{action}", true), ("$share/chats/push/{action}", false)])
    func aBroadcastOfWhatEachProgramReceivesCausesAWarning(_ topic: String, _ warns: Bool) {
        let plugin = "action: say, use: broadcast, to: chat, tag: lobby, from: push"
        for (backplane, isShared) in [("", false), (", backplane: push", true)] {
            let text = Self.text(backplane, plugin: plugin).replacing("push/{action}", with: topic)
            let expected = warns && isShared ? ["warning repeatedBroadcast plugins[1].action"] : []
            #expect(ConfigurationFixture.findings(text) == expected)
        }
    }

    @Test func theGraphShowsTheBroker() throws {
        let graph = ConfigurationGraph(try ConfigurationFixture.read(Self.text(", backplane: push")))
        let targets = graph.forwards.filter { graph.plugins[$0.plugin].action == "say" }.map {
            graph.sources[$0.source].name
        }
        #expect(targets == ["push", "chat"])
    }
}
