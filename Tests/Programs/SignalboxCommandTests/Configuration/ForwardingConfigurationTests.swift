import SignalboxCore
import Testing

@testable import SignalboxCommand

/// The plugins `broadcast` and `send` with the key `to`.
@Suite struct ForwardingConfigurationTests {
    private static func text(_ plugin: String, from: String = "push") -> String {
        """
        sources:
          push: { mqtt: { broker: mqtt://h, client_id: a, topics: [ { pattern: 'push/{action}' } ], publishing: {} } }
          mute: { mqtt: { broker: mqtt://h, client_id: b, topics: [ { pattern: 'mute/{action}' } ] } }
          chat: { chat: { port: 0, absent_origin: allowed, tags: [lobby, a] } }
          feed: { feed: { url: 'wss://feed.example' } }
          page: { script: { files: [here.js] } }
          ticks: { feed: { url: 'wss://feed.example', frames: { text: { action: rest, payload: json } } } }
          links: { links: { routes: [ { pattern: 'myapp://{action}' } ], urls: ['myapp://a'] } }
        plugins:
          - { action: rest, use: log, from: [ { source: push }, { source: mute }, { source: chat }, { source: feed }, { source: ticks },
              { source: page }, { source: links } ] }
          - { action: order, \(plugin), from: [ { source: \(from) } ] }
        """
    }

    @Test(arguments: [
        ("use: broadcast, to: chat, tag: lobby", PluginUse.broadcast(to: "chat", tag: "lobby")),
        ("use: broadcast, to: chat", .broadcast(to: "chat", tag: nil)),
        ("use: send, to: feed", .send(to: "feed")), ("use: send, to: page", .send(to: "page")),
        ("use: send, to: feed, reply: true", .send(to: "feed", reply: true)),
        ("use: send, to: feed, reply: false", .send(to: "feed")),
    ])
    func aPluginSendsToAnotherSource(_ plugin: String, _ expected: PluginUse) throws {
        for source in ["push", "links", "page", "feed", "chat", "internal"] {
            let text = Self.text(plugin, from: source)
            #expect(ConfigurationFixture.findings(text).isEmpty)
            #expect(try ConfigurationFixture.read(text).plugins.last?.use == expected)
        }
    }

    @Test func sendingToAnMQTTSourcePublishes() throws {
        let sent = try ConfigurationFixture.read(Self.text("use: send, to: push, topic: out/a, qos: 0", from: "chat"))
        let published = try ConfigurationFixture.read(
            Self.text("use: publish, source: push, topic: out/a, qos: 0", from: "chat")
        )
        guard case .publish(var section)? = sent.plugins.last?.use else {
            Issue.record("\(sent.plugins)")
            return
        }
        #expect(section.keyword == "send")
        section.keyword = "publish"
        #expect(published.plugins.last?.use == .publish(section))
        #expect(sent.targets == ["push"])
    }

    @Test(arguments: [
        ("use: broadcast, to: chap, tag: a", "unknownSource", ".to", "did you mean 'chat'?"),
        ("use: broadcast, to: feed, tag: a", "conflictingKeys", ".to", "'feed' is not a chat"),
        ("use: broadcast, to: internal", "unknownSource", ".to", "there is no source 'internal'"),
        ("use: send", "missingKey", "", "name the source to send to"),
        ("use: send, to: pag", "unknownSource", ".to", "did you mean 'page'?"),
        ("use: send, to: chat", "conflictingKeys", ".to", "with 'use: broadcast' and a tag"),
        ("use: send, to: links", "conflictingKeys", ".to", "nothing can be sent to the source 'links'"),
        ("use: send, to: push", "missingKey", "", "name the topic"),
        ("use: send, to: mute, topic: a", "missingKey", ".to", "add 'publishing: {}' below its 'mqtt'"),
        ("use: send, to: feed, topic: a", "conflictingKeys", ".topic", "'feed' is not an MQTT source"),
        ("use: send, to: page, reply: true", "conflictingKeys", ".reply", "a page always replies"),
        ("use: send, to: push, topic: a, reply: true", "conflictingKeys", ".reply", "an MQTT source has no reply"),
        ("use: send, to: ticks, reply: true", "conflictingKeys", ".reply", "'ticks' are not standard envelopes"),
        ("use: send, to: feed, reply: 1", "invalidValue", ".reply", "true or false"),
        ("use: log, reply: true", "conflictingKeys", ".reply", "only 'use: send' can have 'reply'"),
        ("use: send, to: page, tag: a", "conflictingKeys", ".tag", "only 'use: broadcast, join, leave'"),
        ("use: log, to: chat", "conflictingKeys", ".to", "only 'use: broadcast, send' can have 'to'"),
    ])
    func whatCannotWorkIsAnError(_ plugin: String, _ code: String, _ key: String, _ words: String) {
        let text = Self.text(plugin)
        #expect(ConfigurationFixture.findings(text) == ["error \(code) plugins[1]\(key)"])
        let problems = ConfigurationFixture.problems(text)
        #expect(problems.count == 1 && problems[0].contains(words), "\(problems)")
    }

    @Test(arguments: ["push", "links", "page", "internal"], ["broadcast, tag: a", "join, tag: a", "leave"])
    func aPluginForConnectionsNeedsASourceThatHasThem(_ source: String, _ plugin: String) {
        let text = Self.text("use: \(plugin)", from: source)
        #expect(ConfigurationFixture.findings(text).first == "error conflictingKeys plugins[1].from[0]")
        let advice = plugin.hasPrefix("broadcast") ? "such as to: chat" : "remove this rule"
        #expect(ConfigurationFixture.problems(text).contains { $0.contains(advice) })
    }

    @Test(arguments: [
        ("{ not: chat }", "push"), ("{ not: { source: push, qos: 0 } }", "mute"),
        ("{ not: { any: [mute, page, { source: push, qos: 0 }] } }", "push"),
        ("{ not: { any: [chat, feed, ticks, push, mute, page] } }", "internal"),
        ("{ all: [{ any: [chat, push] }, { not: { source: push, qos: 0 } }] }", "push"),
        ("{ all: [links, { not: chat }] }", "links"), ("{ not: { not: page } }", "page"),
        ("{ not: { any: [push, mute, page] } }", nil), ("{ all: [chat, { not: push }] }", nil),
        ("{ all: [{ any: [chat, push] }, { not: push }] }", nil), ("{ not: { not: chat } }", nil),
    ])
    func aRuleThatExcludesIsJudgedByWhatItLeaves(_ rule: String, _ source: String?) {
        for plugin in ["broadcast", "join", "leave"] {
            let text = Self.text("use: \(plugin), tag: a", from: "HERE").replacing("{ source: HERE }", with: rule)
            let problems = ConfigurationFixture.problems(text)
            guard let source else {
                #expect(problems.isEmpty, "\(plugin): \(problems)")
                continue
            }
            #expect(ConfigurationFixture.findings(text) == ["error conflictingKeys plugins[1].from[0]"])
            #expect(
                problems.first?.contains("messages of '\(source)' come from no connection; ") == true,
                "\(problems)"
            )
        }
    }

    @Test(arguments: [
        ("{ not: { any: [push, chap] } }", "unknownSource"), ("{ all: [chat, { not: chat }] }", "unreachablePlugin"),
        ("{ not: { any: [push, mute, chat, feed, page, links, internal] } }", "unreachablePlugin"),
    ])
    func aRuleThatAllowsNothingIsJudgedAlikeForAllPlugins(_ rule: String, _ code: String) {
        for plugin in ["log", "broadcast, tag: a", "join, tag: a", "leave"] {
            let text = Self.text("use: \(plugin)", from: "HERE").replacing("{ source: HERE }", with: rule)
            let findings = ConfigurationFixture.findings(text)
            #expect(findings.count == 1 && findings[0].contains(code), "\(plugin): \(findings)")
        }
    }

    @Test func aLoopThroughSendCausesAWarning() {
        let text = Self.text("use: send, to: push, topic: 'push/{action}'")
        #expect(ConfigurationFixture.findings(text) == ["warning publishLoop plugins[1].action"])
    }

    @Test(arguments: [
        ("{ port: 0, absent_origin: allowed }", "", true),
        ("{ port: 0, absent_origin: allowed, tags: staff }", "", false),
        ("{ port: 0, absent_origin: allowed, tags: [other] }", "", true),
        ("{ port: 0, absent_origin: allowed }", "use: join, tag: staff, from: chat", false),
        ("{ port: 0, absent_origin: allowed }", "use: join, from: [chat]", false),
        ("{ port: 0, absent_origin: allowed }", "use: join, tag: other, from: chat", true),
        ("{ port: 0, absent_origin: allowed }", "use: leave, tag: staff, from: chat", true),
        ("{ port: 0, absent_origin: allowed }", "use: join, tag: staff, from: other", true),
        ("{ port: 0, absent_origin: allowed }", "use: join, from: { all: [chat, not: { source: other }] }", false),
    ])
    func aTagThatNoConnectionCanHaveCausesAWarning(_ chat: String, _ joining: String, _ warns: Bool) {
        for plugin in ["to: chat, from: push", "from: chat"] {
            let text = """
                sources:
                  push: { mqtt: { broker: mqtt://h, client_id: a, topics: ['push/{action}'] } }
                  chat: { chat: \(chat) }
                  other: { chat: { port: 1, absent_origin: allowed } }
                plugins:
                  - { action: rest, use: log, from: [push, chat, other] }
                  - { action: tell, use: broadcast, tag: staff, \(plugin) }
                \(joining.isEmpty ? "" : "  - { action: enter, \(joining) }")
                """
            let findings = ConfigurationFixture.findings(text)
            #expect(findings == (warns ? ["warning tagWithoutConnection plugins[1].tag"] : []), "\(plugin)")
        }
    }

    @Test func aTagThatAConnectionJoinsWhenItOpensCausesNoWarning() {
        let text = { (announces: Bool) in
            """
            sources: { chat: { chat: { port: 0, absent_origin: allowed, announce_connections: \(announces) } } }
            plugins:
              - { action: signalbox.connected, use: join, tag: staff, from: chat }
              - { action: tell, use: broadcast, tag: staff, from: chat }
            """
        }
        #expect(ConfigurationFixture.findings(text(true)).isEmpty)
        #expect(ConfigurationFixture.findings(text(false)).contains("warning tagWithoutConnection plugins[1].tag"))
    }

    @Test(arguments: [
        ("use: broadcast, to: chat, tag: lobby", "chat"), ("use: send, to: page", "page"),
        ("use: send, to: feed", "feed"),
        // A broker's source also subscribes to its topics.
        ("use: publish, source: mute, topic: out", "none"),
    ])
    func aSourceThatAPluginSendsToNeedsNoRuleUnlessItSubscribes(_ plugin: String, _ target: String) {
        let text = """
            sources:
              push: { mqtt: { broker: mqtt://h, client_id: a, topics: ['push/{action}'] } }
              mute: { mqtt: { broker: mqtt://h, client_id: b, topics: ['mute/{action}'], publishing: {} } }
              chat: { chat: { port: 0, absent_origin: allowed, tags: lobby } }
              feed: { feed: { url: 'wss://feed.example' } }
              page: { script: { files: [here.js] } }
            plugins: [ { action: order, \(plugin), from: push } ]
            """
        let others = ["mute", "chat", "feed", "page"].filter { $0 != target }
        #expect(ConfigurationFixture.findings(text) == others.map { "warning sourceWithoutRule sources.\($0)" })
    }
}
