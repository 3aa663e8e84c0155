import Testing

@testable import SignalboxCommand
@testable import SignalboxCore
@testable import SignalboxRoutes
@testable import WebSocketChat

@Suite struct ChatConfigurationTests {
    private static let open = "{ port: 0, absent_origin: allowed }"

    @Test func everyKeyIsRead() throws {
        let section = try WebSocketFixture.chatSource(
            """
            { address: '::1', port: 8080, path: /chat, identity: { certificate: c.pem, key: k.pem },
              origins: ['https://app.example'], absent_origin: refused,
              principals: { kitchen: { env: PASSWORD }, hall: { file: user.txt } }, query_tokens: true,
              subprotocols: [a], frames: { text: { action: said, payload: text }, binary: picture, batch: 3 },
              compression: true, answers: false, announce_connections: true, connections: 10, connection_window: 11,
              handshake_timeout: 12s, message_timeout: 13s, idle_timeout: 14s, ping_after: 15s, silence_limit: 16s,
              waiting_bytes: 2KiB, all_waiting_bytes: 3KiB, tags_per_connection: 4, tags: [lobby],
              pages: { /: { file: index.html, type: text/html } }, health_path: /up }
            """,
            rest: "limits: { message_bytes: 9 }"
        )
        let server = section.server
        #expect(server.address == "::1" && server.port == 8080 && server.path == "/chat")
        #expect(server.identity == WebSocketIdentity(certificateFile: "c.pem", keyFile: "k.pem"))
        #expect(server.origins == [try WebOrigin("https://app.example")] && server.absentOrigin == .refused)
        #expect(
            server.principals == [
                WebSocketPrincipal("kitchen", token: .environment("PASSWORD")),
                WebSocketPrincipal("hall", token: .file("user.txt")),
            ]
        )
        #expect(server.queryTokens && server.subprotocols == ["a"])
        #expect(server.frames.text == .action("said", .text) && server.frames.binary == "picture")
        #expect(server.frames.batch == 3 && server.limits.bytes == 9)
        #expect(server.compression && !server.answers && server.announcesConnections)
        #expect(server.connections == 10 && server.connectionWindow == 11)
        #expect(server.handshakeTimeout == .seconds(12) && server.messageTimeout == .seconds(13))
        #expect(server.idleTimeout == .seconds(14))
        #expect(server.pingAfter == .seconds(15) && server.silenceLimit == .seconds(16))
        #expect(server.waitingBytes == 2_048 && server.allWaitingBytes == 3_072 && server.tagsPerConnection == 4)
        #expect(server.pages == ["/": WebSocketPage(contentType: "text/html", body: [])])
        #expect(section.files == ["/": "index.html"])
        #expect(server.healthPath == "/up" && server.tags == ["lobby"])
    }

    @Test func omittedKeysHaveTheAdaptersDefaults() throws {
        let section = try WebSocketFixture.chatSource(Self.open)
        var standard = WebSocketServerConfiguration(source: "chat", port: 0)
        standard.absentOrigin = .allowed
        #expect(section.server == standard)
    }

    @Test func theHealthPathCanBeDisabled() throws {
        let section = try WebSocketFixture.chatSource("{ port: 0, absent_origin: allowed, health_path: none }")
        #expect(section.server.healthPath == nil)
    }

    @Test(arguments: [
        ("{ absent_origin: allowed }", "'port' is missing; 0 lets the system choose"),
        ("{ port: 65536, absent_origin: allowed }", "chat.port: expected 0 to 65535, found 65536"),
        ("{ port: 0 }", "no client can connect; add clients, such as principals: {"),
        ("{ port: 0, principals: {} }", "no client can connect"),
        ("{ port: 0, absent_origin: refused, principals: { a: { env: PASSWORD } } }", "no client can connect"),
        ("{ port: 0, principals: { a: canary-4711 } }", "a token must not be written into a configuration"),
        ("{ port: 0, principals: { a: { env: EMPTY } } }", "the environment variable EMPTY is not set or empty"),
        ("{ port: 0, origins: ['https://a.example/'] }", "origins[0]: notAnOrigin at byte 17: an origin ends"),
        ("{ port: 0, absent_origin: maybe }", "'maybe' is not a way to treat clients that send no Origin"),
        (
            "{ port: 0, absent_origin: allowed, address: localhost }",
            "sources.chat.chat: the address must be numeric"
        ),
        ("{ port: 0, absent_origin: allowed, path: chat }", "sources.chat.chat: the path must begin with /"),
        ("{ port: 0, absent_origin: allowed, ping_after: 50s }", "sources.chat.chat: the silence limit"),
        ("{ port: 0, absent_origin: allowed, pages: { /: { file: a } } }", "pages./: 'type' is missing"),
        (
            "{ port: 0, absent_origin: allowed, pages: { /health: { file: a, type: b } } }",
            "has the health path; move one"
        ),
        ("{ port: 0, absent_origin: allowed, tags_per_connection: 0 }", "expected 1 to 1000, found 0"),
    ])
    func anErrorIsReportedWithItsPosition(_ chat: String, _ words: String) {
        let found = ConfigurationFixture.problems(WebSocketFixture.chat(chat))
        #expect(found.count == 1 && found[0].contains(words), "found: \(found)")
        #expect(!found.joined().contains("canary-4711"))
    }

    @Test(arguments: [
        ("{ port: 0 }", ["error nobodyCanConnect sources.chat.chat"]),
        ("{ port: 0, absent_origin: allowed }", []),
        ("{ port: 0, origins: ['https://a.example'] }", []),
        ("{ port: 0, principals: { a: { env: PASSWORD } } }", []),
        (
            "{ port: 0, principals: { a: { env: PASSWORD } }, query_tokens: true }",
            ["warning tokenInURL sources.chat.chat.query_tokens"]
        ),
        (
            "{ port: 0, principals: { a: { env: PASSWORD } }, address: 0.0.0.0 }",
            ["warning openAddress sources.chat.chat.address"]
        ),
        (
            "{ port: 0, absent_origin: allowed, address: '::' }",
            Array(repeating: "warning openAddress sources.chat.chat.address", count: 2)
        ),
        ("{ port: 0, absent_origin: allowed, address: '::1' }", []),
        ("{ port: 0, absent_origin: allowed, address: 127.0.0.9 }", []),
    ])
    func closedAndExposedChatsAreReported(_ chat: String, _ expected: [String]) {
        #expect(ConfigurationFixture.findings(WebSocketFixture.chat(chat)) == expected)
    }

    @Test func aMissingPageIsReported() {
        let text = WebSocketFixture.chat("{ port: 0, absent_origin: allowed, pages: { /: { file: gone, type: a } } }")
        #expect(ConfigurationFixture.findings(text) == ["error missingFile sources.chat.chat.pages./.file"])
    }

    // MARK: - Rules

    private static let guarded = """
        { port: 0, origins: ['https://app.example'], principals: { kitchen: { env: PASSWORD }, hall: { file: user.txt } } }
        """

    private static func withRule(_ rule: String, _ chat: String = guarded) -> String {
        WebSocketFixture.chat(chat, plugin: "action: say, use: log, from: [ \(rule) ]")
    }

    @Test func aRuleMayNameAPrincipalAndAnOrigin() throws {
        let app = try WebOrigin("https://app.example")
        let expected: [(String, [AccessSection.Condition])] = [
            ("{ source: chat }", []),
            ("{ source: chat, principal: hall }", [.principal("hall")]),
            ("{ source: chat, authenticated: true }", [.authenticated(true)]),
            (
                "{ source: chat, principal: hall, origin: 'https://app.example' }",
                [.principal("hall"), .client(app)]
            ),
        ]
        for (rule, conditions) in expected {
            #expect(try WebSocketFixture.rule(Self.withRule(rule)) == .origin("chat", conditions))
        }
    }

    @Test func allConditionsOfARuleMustHold() throws {
        let rule = "{ source: chat, principal: hall, authenticated: true, origin: 'https://app.example' }"
        let plugin = try #require(try ConfigurationFixture.read(Self.withRule(rule)).plugins.first)
        let origin = try WebOrigin("https://app.example")
        let facts = { ChatFacts(role: .server, peer: "a", origin: $1, principal: $0) }
        #expect(plugin.rule.allows(Origin(source: "chat", facts: facts("hall", origin))))
        #expect(!plugin.rule.allows(Origin(source: "chat", facts: facts("kitchen", origin))))
        #expect(!plugin.rule.allows(Origin(source: "chat", facts: facts("hall", nil))))
        #expect(!plugin.rule.allows(Origin(source: "other", facts: facts("hall", origin))))
    }

    @Test(arguments: [
        (
            "{ source: chat, principal: hal }",
            "there is no principal 'hal'; did you mean 'hall'?; principals are: kitchen, hall"
        ),
        ("{ source: chat, origin: 'https://b.example' }", "no client can connect with the origin 'https://b.example'"),
        ("{ source: chat, main_frame: true }", "the source 'chat' is not a page; remove 'main_frame'"),
        ("{ source: chat, tls: true }", "the source 'chat' is not a feed; remove 'tls'"),
        ("{ source: chat, scheme: a }", "the source 'chat' has no links; remove 'scheme'"),
        ("{ source: chat, principal: 7 }", "expected text, found the number 7"),
        ("{ any: [ { source: chat } ], principal: a }", "only a rule with 'source' can have 'principal'; remove it"),
    ])
    func anImpossibleRuleIsAnError(_ rule: String, _ words: String) {
        let found = ConfigurationFixture.problems(Self.withRule(rule))
        #expect(found.count == 1 && found[0].contains(words), "found: \(found)")
    }

    @Test func aMissingTokenIsReportedOnce() {
        let chat = "{ port: 0, principals: { hall: { env: EMPTY } } }"
        let found = ConfigurationFixture.problems(Self.withRule("{ source: chat, principal: hall }", chat))
        #expect(found.count == 1 && found[0].contains("EMPTY is not set or empty"), "found: \(found)")
    }

    @Test(arguments: [
        (guarded, "authenticated: false", false), (guarded, "authenticated: true", true),
        (guarded, "principal: hall", true), (open, "authenticated: true", false), (open, "authenticated: false", true),
    ])
    func aRuleThatNoClientMatchesCausesAWarning(_ chat: String, _ part: String, _ isMet: Bool) {
        let found = ConfigurationFixture.findings(Self.withRule("{ source: chat, \(part) }", chat))
        #expect(
            found
                == (isMet
                    ? [] : ["warning sourceWithoutRule sources.chat", "warning unreachablePlugin plugins[0].action"])
        )
    }

    // MARK: - Plugins

    @Test(arguments: [
        ("use: echo", PluginUse.echo), ("use: broadcast", .broadcast(tag: nil)),
        ("use: broadcast, tag: lobby", .broadcast(tag: "lobby")), ("use: join", .join(tag: nil)),
        ("use: join, tag: a", .join(tag: "a")), ("use: leave, tag: a", .leave(tag: "a")),
    ])
    func aPluginMayUseTags(_ keys: String, _ expected: PluginUse) throws {
        let text = WebSocketFixture.chat(Self.open, plugin: "action: say, \(keys), from: [ { source: chat } ]")
        #expect(try ConfigurationFixture.read(text).plugins.first?.use == expected)
    }

    @Test(arguments: [
        ("use: echo, tag: a", "only 'use: broadcast, join, leave' can have 'tag'"),
        ("use: join, tag: ''", "expected text, found empty text"),
        ("use: join, tag: \(String(repeating: "a", count: 129))", "a tag has at most 128 bytes"),
        ("use: join, path: a", "only 'use: file' can have 'path'"),
    ])
    func anInvalidTagIsAnError(_ keys: String, _ words: String) {
        let text = WebSocketFixture.chat(Self.open, plugin: "action: say, \(keys), from: [ { source: chat } ]")
        let found = ConfigurationFixture.problems(text)
        #expect(found.count == 1 && found[0].contains(words), "found: \(found)")
    }

    @Test func onlyTheTwoInternalActionsCanHavePlugins() throws {
        for action in ["signalbox.connected", "signalbox.closed"] {
            let text = WebSocketFixture.chat(
                Self.open,
                plugin: "action: \(action), use: log, from: [ { source: chat } ]"
            )
            #expect(try ConfigurationFixture.read(text).plugins.first?.action.text == action)
            #expect(
                ConfigurationFixture.findings(text).contains("warning unreachablePlugin plugins[0].action"),
                "connections are not announced"
            )
            let announced = text.replacing("allowed }", with: "allowed, announce_connections: true }")
            #expect(ConfigurationFixture.findings(announced).isEmpty)
        }
        let other = WebSocketFixture.chat(
            Self.open,
            plugin: "action: signalbox.x, use: log, from: [ { source: chat } ]"
        )
        #expect(ConfigurationFixture.problems(other).first?.contains("'signalbox.' are reserved") == true)
    }
}
