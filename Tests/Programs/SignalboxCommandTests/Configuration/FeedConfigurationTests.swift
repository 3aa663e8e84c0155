import SignalboxCore
import Testing
import WebSocketChat

@testable import SignalboxCommand

@Suite struct FeedConfigurationTests {
    @Test func everyKeyIsRead() throws {
        let feed = try WebSocketFixture.feedConfiguration(
            """
            { url: 'wss://feed.example/v1', unix_socket: feed.sock, subprotocols: [a, b], origin: 'https://app.example',
              headers: { X-Client: kiosk, X-Token: { env: PASSWORD } }, bearer: { env: PASSWORD },
              trust: { authority: ca.pem }, identity: { certificate: c.pem, key: k.pem },
              opening_messages: ['{"action":"subscribe"}', { env: PASSWORD }],
              frames: { text: cloud_events, binary: picture, batch: 7 }, compression: true, answers: true,
              announce_connections: true,
              reconnect: { first: 1s, cap: 2m, slow: { from: 1m, to: 2m }, holds: 5s },
              connect_timeout: 3s, ping_after: 4s, pong_within: 5s, waiting_bytes: 2MiB }
            """,
            rest: "limits: { message_bytes: 9 }"
        )
        #expect(feed.url.description == "wss://feed.example:443")
        #expect(feed.unixSocket == "feed.sock")
        #expect(feed.subprotocols == ["a", "b"])
        #expect(feed.origin == "https://app.example")
        #expect(
            feed.headers == [
                WebSocketHeader("X-Client", .text("kiosk")), WebSocketHeader("X-Token", .environment("PASSWORD")),
            ]
        )
        #expect(feed.bearer == .environment("PASSWORD"))
        #expect(feed.trust == .authority(file: "ca.pem"))
        #expect(feed.identity == WebSocketIdentity(certificateFile: "c.pem", keyFile: "k.pem"))
        #expect(feed.openingMessages == [#"{"action":"subscribe"}"#, "canary-4711"])
        #expect(feed.frames.text == .envelope(.cloudEvents) && feed.frames.binary == "picture")
        #expect(feed.frames.batch == 7 && feed.limits.bytes == 9)
        #expect(feed.compression && feed.answers && feed.announcesConnections)
        #expect(
            feed.reconnect
                == WebSocketReconnect(
                    first: .seconds(1),
                    cap: .seconds(120),
                    slow: .seconds(60) ... .seconds(120),
                    holds: .seconds(5)
                )
        )
        #expect(feed.connectTimeout == .seconds(3) && feed.pingAfter == .seconds(4) && feed.pongWithin == .seconds(5))
        #expect(feed.waitingBytes == 2 << 20)
    }

    @Test func aLoginIsRead() throws {
        let feed = try WebSocketFixture.feedConfiguration(
            "{ url: 'wss://h', username: kiosk, password: { env: PASSWORD } }"
        )
        #expect(feed.login == WebSocketLogin(username: .text("kiosk"), password: .environment("PASSWORD")))
        let user = try WebSocketFixture.feedConfiguration("{ url: 'wss://h', username: { env: PASSWORD } }")
        #expect(user.login == WebSocketLogin(username: .text("canary-4711")))
    }

    @Test func omittedKeysHaveTheAdaptersDefaults() throws {
        let feed = try WebSocketFixture.feedConfiguration("{ url: 'ws://127.0.0.1:9' }")
        let standard = WebSocketFeedConfiguration(source: "feed", url: try WebSocketURL("ws://127.0.0.1:9"))
        #expect(feed == standard)
        #expect(feed.reconnect == WebSocketReconnect())
    }

    @Test(arguments: ["'socks5://127.0.0.1'", "{ url: 'socks5://127.0.0.1:1080' }"])
    func aProxyIsAURLOrAMapping(text: String) throws {
        let feed = try WebSocketFixture.feedConfiguration("{ url: 'ws://h', proxy: \(text) }")
        #expect(feed.proxy == (try WebSocketProxy("socks5://127.0.0.1:1080")))
    }

    @Test func aProxyHasALogin() throws {
        let text = "{ url: 'http://proxy.example:3128', username: kiosk, password: { env: PASSWORD } }"
        let feed = try WebSocketFixture.feedConfiguration("{ url: 'ws://h', proxy: \(text) }")
        var proxy = try WebSocketProxy("http://proxy.example:3128")
        proxy.username = "kiosk"
        proxy.password = .environment("PASSWORD")
        #expect(feed.proxy == proxy)
    }

    @Test func neverDisablesReconnectAndPing() throws {
        let feed = try WebSocketFixture.feedConfiguration("{ url: 'ws://h', reconnect: never, ping_after: never }")
        #expect(feed.reconnect == nil && feed.pingAfter == nil)
    }

    @Test func textFramesMayBeOneAction() throws {
        let section = try WebSocketFixture.feedConfiguration("{ url: 'ws://h', frames: { text: { action: tick } } }")
        #expect(section.frames.text == .action("tick", .json))
        let plain = try WebSocketFixture.feedConfiguration(
            "{ url: 'ws://h', frames: { text: { action: tick, payload: text } } }"
        )
        #expect(plain.frames.text == .action("tick", .text))
    }

    @Test(arguments: [
        ("7", "2:17: sources.feed.feed: expected a mapping of keys to values"),
        ("{}", "2:17: sources.feed.feed: 'url' is missing; write wss://host/path or { env: NAME }"),
        ("{ url: 'http://h' }", "sources.feed.feed.url: a WebSocket URL must begin with ws://"),
        (
            "{ url: 'ws://h', password: { env: PASSWORD } }",
            "sources.feed.feed.password: a password needs a 'username'; add it"
        ),
        ("{ url: 'ws://h', username: 'a:b' }", "the user name contains a colon"),
        ("{ url: 'ws://h', username: a, bearer: { env: PASSWORD } }", "either a bearer token or a login"),
        ("{ url: 'ws://h', username: a, password: b }", "sources.feed.feed.password"),
        ("{ url: 'ws://h', urll: 1 }", "sources.feed.feed.urll: unknown key 'urll'; did you mean 'url'?"),
        ("{ url: 'ws://h', bearer: { env: EMPTY } }", "the environment variable EMPTY is not set or empty"),
        ("{ url: 'ws://h', trust: nobody }", "'nobody' is not a trust setting or a mapping with authority"),
        (
            "{ url: 'ws://h', trust: { authority: ca.pem } }",
            "sources.feed.feed: trusted certificates need wss://"
        ),
        ("{ url: 'wss://h', identity: { certificate: c } }", "'key' is missing; name the file of its private key"),
        ("{ url: 'ws://h', reconnect: { first: 0s } }", "reconnect.first: expected 1ms to 1h"),
        ("{ url: 'ws://h', reconnect: { slow: { from: 2s, to: 1s } } }", "'from' is greater than 'to'; swap them"),
        ("{ url: 'ws://h', reconnect: { first: 9s, cap: 8s } }", "sources.feed.feed: the reconnect waits"),
        ("{ url: 'ws://h', reconnect: sometimes }", "reconnect: expected a mapping of keys to values"),
        ("{ url: 'ws://h', ping_after: 2h }", "ping_after: expected 1s to 1h"),
        ("{ url: 'ws://h', frames: { text: xml } }", "'xml' is not an envelope"),
        (
            "{ url: 'ws://h', frames: { text: { payload: text } } }",
            "'action' is missing; name the action of each text"
        ),
        ("{ url: 'ws://h', frames: { text: { action: a, payload: bytes } } }", "'bytes' is not a kind of text"),
        (
            "{ url: 'ws://h', frames: { binary: signalbox.connected } }",
            "names that begin with 'signalbox.' are reserved"
        ),
        ("{ url: 'ws://h', headers: { Upgrade: x } }", "sources.feed.feed: the header"),
        ("{ url: 'ws://h', headers: [a] }", "headers: expected a mapping of keys to values"),
    ])
    func anErrorIsReportedWithItsPosition(_ feed: String, _ words: String) {
        let found = ConfigurationFixture.problems(WebSocketFixture.feed(feed))
        #expect(found.count == 1 && found[0].contains(words), "found: \(found)")
    }

    @Test(arguments: [
        "url: 'ws://h/?token=canary-4711'", "url: 'ws://u:canary-4711@h/'", "url: 'ws://h', bearer: canary-4711",
        "url: 'ws://h', headers: { Authorization: 'Bearer canary-4711' }",
        "url: 'ws://h', headers: { X-Api-Key: canary-4711 }",
        "url: 'ws://h', opening_messages: ['{\"op\":\"auth\",\"token\":\"canary-4711\"}']",
        "url: 'ws://h', bearer: { canary-4711 }",
    ])
    func anInlineSecretIsRefusedAndNotRepeated(_ keys: String) {
        let text = WebSocketFixture.feed("{ \(keys) }")
        let found = ConfigurationFixture.problems(text)
        #expect(found.count == 1, "found: \(found)")
        #expect(
            found.first?.contains("must not be written into a configuration; write { env: NAME }") == true,
            "\(found)"
        )
        #expect(!found.joined().contains("canary-4711"))
        #expect(ConfigurationFixture.findings(text).contains { $0.hasPrefix("error secretInFile ") })
    }

    @Test func anInvalidURLFromAVariableIsNotRepeated() throws {
        let found = ConfigurationFixture.problems(WebSocketFixture.feed("{ url: { env: PASSWORD } }"))
        #expect(found.count == 1)
        #expect(!found.joined().contains("canary"), "the variable's value is not repeated")
    }

    @Test func trustingAnyCertificateCausesAWarning() {
        let findings = ConfigurationFixture.findings(WebSocketFixture.feed("{ url: 'wss://h', trust: anything }"))
        #expect(findings == ["warning uncheckedCertificate sources.feed.feed.trust"])
        #expect(ConfigurationFixture.problems(WebSocketFixture.feed("{ url: 'wss://h', trust: anything }")).isEmpty)
    }

    @Test func missingFilesAreReported() {
        let findings = ConfigurationFixture.findings(
            WebSocketFixture.feed(
                "{ url: 'wss://h', trust: { authority: ca.pem }, identity: { certificate: here.js, key: folder } }"
            )
        )
        #expect(
            findings == [
                "error missingFile sources.feed.feed.trust.authority",
                "error missingFile sources.feed.feed.identity.key",
            ]
        )
    }

    @Test(arguments: [
        ("{ source: feed }", AccessSection.origin("feed", [])),
        ("{ source: feed, tls: true }", .origin("feed", [.tls(true)])),
        ("{ source: feed, tls: false }", .origin("feed", [.tls(false)])),
    ])
    func aRuleMayRequireTLS(_ rule: String, _ expected: AccessSection) throws {
        #expect(try WebSocketFixture.rule(WebSocketFixture.feed("{ url: 'wss://h' }", rule: rule)) == expected)
    }

    @Test(arguments: [
        ("{ source: feed, principal: a }", "the source 'feed' has no principals; remove 'principal'"),
        (
            "{ source: feed, origin: 'https://a.example' }",
            "the source 'feed' has no origins; remove 'origin'"
        ),
        ("{ source: feed, topic: a }", "the source 'feed' has no topics; remove 'topic'"),
        ("{ source: feed, tls: yes }", "write true or false, not yes"),
    ])
    func aRuleThatDoesNotApplyToFeedsIsAnError(_ rule: String, _ words: String) {
        let found = ConfigurationFixture.problems(WebSocketFixture.feed("{ url: 'ws://h' }", rule: rule))
        #expect(found.count == 1 && found[0].contains(words), "found: \(found)")
    }

    @Test(arguments: [
        ("tls: true", ["warning sourceWithoutRule sources.feed", "warning unreachablePlugin plugins[0].action"]),
        ("tls: false", []),
    ])
    func aRuleThatNoMessageMatchesCausesAWarning(_ part: String, _ expected: [String]) {
        let text = WebSocketFixture.feed("{ url: 'ws://h' }", rule: "{ source: feed, \(part) }")
        #expect(ConfigurationFixture.findings(text) == expected)
    }

    @Test func anActionNamedByFramesNeedsAPlugin() {
        let text = WebSocketFixture.feed("{ url: 'ws://h', frames: { text: { action: tik }, binary: tick } }")
        #expect(
            ConfigurationFixture.findings(text) == ["warning actionWithoutPlugin sources.feed.feed.frames.text.action"]
        )
    }
}
