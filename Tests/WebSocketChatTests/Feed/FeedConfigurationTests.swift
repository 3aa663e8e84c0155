import SignalboxCore
import Testing

@testable import WebSocketChat

@Suite struct FeedConfigurationTests {
    struct InvalidCase: Sendable, CustomTestStringConvertible {
        let expected: String
        let change: @Sendable (inout WebSocketFeedConfiguration) -> Void
        var testDescription: String { expected }
    }

    private static func configuration(_ scheme: String = "ws") throws -> WebSocketFeedConfiguration {
        WebSocketFeedConfiguration(source: "prices", url: try WebSocketURL("\(scheme)://h/"))
    }

    private static func header(_ name: String, _ value: String = "v") -> InvalidCase {
        InvalidCase(expected: name) { $0.headers = [WebSocketHeader(name, .text(value))] }
    }

    private static let invalidCases: [InvalidCase] = [
        InvalidCase(expected: "32 subprotocols") { $0.subprotocols = (0..<33).map { "p\($0)" } },
        InvalidCase(expected: "subprotocols") { $0.subprotocols = ["a b"] },
        InvalidCase(expected: "subprotocols") { $0.subprotocols = [String(repeating: "a", count: 1_025)] },
        InvalidCase(expected: "offered twice") { $0.subprotocols = ["a", "a"] },
        InvalidCase(expected: "1 to 107 bytes") { $0.unixSocket = String(repeating: "a", count: 108) },
        InvalidCase(expected: "path of a Unix socket") { $0.unixSocket = "" },
        InvalidCase(expected: "path of a Unix socket") { $0.unixSocket = "/a\nb" },
        InvalidCase(expected: "origin") { $0.origin = "" },
        InvalidCase(expected: "origin") { $0.origin = "https://a b" },
        InvalidCase(expected: "origin") { $0.origin = "a\r\nb: c" },
        InvalidCase(expected: "32 further headers") {
            $0.headers = (0..<33).map { WebSocketHeader("h\($0)", .text("v")) }
        },
        header("a b"), header(""), header("Host"), header("UPGRADE"), header("connection"), header("Origin"),
        header("Sec-WebSocket-Key"), header("sec-websocket-protocol"), header("Sec-WebSocket-Extensions"),
        header("Content-Length"), header("Transfer-Encoding"), header("X-Value", "a\r\nb: c"), header("X-Value", ""),
        InvalidCase(expected: "twice") { $0.headers = [.init("X-a", .text("1")), .init("x-A", .text("2"))] },
        InvalidCase(expected: "set by the bearer token") {
            $0.headers = [.init("authorization", .text("1"))]
            $0.bearer = .text("t")
        },
        InvalidCase(expected: "set by the login") {
            $0.headers = [.init("Authorization", .text("1"))]
            $0.login = .init(username: .text("u"))
        },
        InvalidCase(expected: "either a bearer token or a login") {
            $0.bearer = .text("t")
            $0.login = .init(username: .text("u"))
        },
        InvalidCase(expected: "a colon") { $0.login = .init(username: .text("a:b")) },
        InvalidCase(expected: "control characters") { $0.login = .init(username: .text("u"), password: .text("a\nb")) },
        InvalidCase(expected: "bearer token") { $0.bearer = .text("a\nb") },
        InvalidCase(expected: "wss://") { $0.trust = .anything },
        InvalidCase(expected: "wss://") { $0.trust = .authority(file: "/ca.pem") },
        InvalidCase(expected: "wss://") { $0.identity = WebSocketIdentity(certificateFile: "/c", keyFile: "/k") },
        InvalidCase(expected: "100 opening messages") { $0.openingMessages = Array(repeating: "", count: 101) },
        InvalidCase(expected: "opening messages take 1025 bytes") {
            $0.waitingBytes = 1_024
            $0.openingMessages = [String(repeating: "a", count: 961)]
        },
        InvalidCase(expected: "waiting bytes") { $0.waitingBytes = 1_023 },
        InvalidCase(expected: "calls in flight") { $0.callsInFlight = 0 },
        InvalidCase(expected: "calls in flight") { $0.callsInFlight = 10_001 },
        InvalidCase(expected: "waiting bytes") { $0.waitingBytes = (1 << 30) + 1 },
        InvalidCase(expected: "batch") { $0.frames.batch = 0 },
        InvalidCase(expected: "batch") { $0.frames.batch = 10_001 },
        InvalidCase(expected: "2^30") { $0.limits.bytes = 0 },
        InvalidCase(expected: "depth") { $0.limits.depth = 513 },
        InvalidCase(expected: "connect timeout") { $0.connectTimeout = .milliseconds(999) },
        InvalidCase(expected: "connect timeout") { $0.connectTimeout = .seconds(61) },
        InvalidCase(expected: "before a ping") { $0.pingAfter = .zero },
        InvalidCase(expected: "before a ping") { $0.pingAfter = .seconds(3_601) },
        InvalidCase(expected: "answer to a ping") { $0.pongWithin = .milliseconds(10) },
        InvalidCase(expected: "reconnect waits") { $0.reconnect?.first = .zero },
        InvalidCase(expected: "reconnect waits") { $0.reconnect?.cap = .milliseconds(1) },
        InvalidCase(expected: "reconnect waits") { $0.reconnect?.cap = .seconds(3_601) },
        InvalidCase(expected: "slow waits") { $0.reconnect?.slow = .zero ... .seconds(1) },
        InvalidCase(expected: "slow waits") { $0.reconnect?.slow = .seconds(1) ... .seconds(3_601) },
        InvalidCase(expected: "counts as stable") { $0.reconnect?.holds = .seconds(-1) },
    ]

    @Test(arguments: invalidCases) func anInvalidValueIsReportedWithTheSource(invalid: InvalidCase) throws {
        var configuration = try Self.configuration()
        try configuration.validate()
        invalid.change(&configuration)
        let error = #expect(throws: WebSocketChatError.self) { try configuration.validate() }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.source == "prices")
        #expect(error?.description.contains(invalid.expected) == true, "\(String(describing: error))")
    }

    @Test func theRangeLimitsAreAccepted() throws {
        var configuration = try Self.configuration("wss")
        configuration.subprotocols = (0..<32).map { "p\($0)" }
        configuration.headers = (0..<32).map { WebSocketHeader("h\($0)", .text("v")) }
        configuration.bearer = .environment("TOKEN")
        configuration.trust = .authority(file: "/ca.pem")
        configuration.identity = WebSocketIdentity(certificateFile: "/c", keyFile: "/k")
        configuration.openingMessages = [String(repeating: "a", count: 960)]
        configuration.waitingBytes = 1_024
        configuration.connectTimeout = .seconds(1)
        configuration.pingAfter = .seconds(3_600)
        configuration.pongWithin = .seconds(1)
        configuration.frames.batch = 10_000
        configuration.reconnect = WebSocketReconnect(
            first: .milliseconds(1),
            cap: .milliseconds(1),
            slow: .milliseconds(1) ... .seconds(3_600),
            holds: .zero
        )
        try configuration.validate()
        configuration.pingAfter = nil
        configuration.reconnect = nil
        configuration.connectTimeout = .seconds(60)
        configuration.waitingBytes = 1 << 30
        try configuration.validate()
    }

    @Test func aCustomAuthorizationHeaderIsAccepted() throws {
        var configuration = try Self.configuration()
        configuration.headers = [WebSocketHeader("Authorization", .text("Basic YTpi"))]
        try configuration.validate()
    }
}

@Suite struct WebSocketURLTests {
    struct Good: Sendable {
        let text: String
        let shown: String
        let hostHeader: String
        let hostName: String
        let target: String
    }

    @Test(arguments: [
        Good(text: "ws://h", shown: "ws://h:80", hostHeader: "h", hostName: "h", target: "/"),
        Good(text: "wss://h", shown: "wss://h:443", hostHeader: "h", hostName: "h", target: "/"),
        Good(text: "ws://h:80/a", shown: "ws://h:80", hostHeader: "h", hostName: "h", target: "/a"),
        Good(text: "ws://h:443", shown: "ws://h:443", hostHeader: "h:443", hostName: "h", target: "/"),
        Good(text: "wss://h:80", shown: "wss://h:80", hostHeader: "h:80", hostName: "h", target: "/"),
        Good(
            text: "WSS://H.Example:8443/A?b=C",
            shown: "wss://h.example:8443",
            hostHeader: "h.example:8443",
            hostName: "h.example",
            target: "/A?b=C"
        ),
        Good(text: "ws://h?q", shown: "ws://h:80", hostHeader: "h", hostName: "h", target: "/?q"),
        Good(text: "ws://h/a/../b c?d e", shown: "ws://h:80", hostHeader: "h", hostName: "h", target: "/b%20c?d%20e"),
        Good(text: "ws://[::1]:9/x", shown: "ws://[::1]:9", hostHeader: "[::1]:9", hostName: "::1", target: "/x"),
        Good(
            text: "wss://[2001:db8::1]",
            shown: "wss://[2001:db8::1]:443",
            hostHeader: "[2001:db8::1]",
            hostName: "2001:db8::1",
            target: "/"
        ),
        Good(
            text: "ws://127.0.0.1:1",
            shown: "ws://127.0.0.1:1",
            hostHeader: "127.0.0.1:1",
            hostName: "127.0.0.1",
            target: "/"
        ),
        Good(
            text: "ws://h/\(String(repeating: "a", count: 2_031))",
            shown: "ws://h:80",
            hostHeader: "h",
            hostName: "h",
            target: "/\(String(repeating: "a", count: 2_031))"
        ),
    ])
    func aURLYieldsTheRequestParts(good: Good) throws {
        let url = try WebSocketURL(good.text)
        #expect(url.description == good.shown)
        #expect(url.hostHeader == good.hostHeader)
        #expect(url.hostName == good.hostName)
        #expect(url.target == good.target)
        #expect(url.isSecure == good.shown.hasPrefix("wss"))
    }

    @Test(arguments: [
        ("", "ws://"), ("h/secret", "ws://"), ("http://h/secret", "ws://"), ("https://h/secret", "wss://"),
        ("ws:///secret", "ambiguousURL"), ("ws://", "invalidHost"), ("ws:h", "URL"), ("file:///secret", "ws://"),
        ("ws://user:secret@h/", "bearer token"), ("ws://secret@h/", "bearer token"),
        ("wss://h/secret#part", "fragment"),
        ("ws://h/#", "fragment"), ("ws://h:0/secret", "port 0"), ("ws://h:65536/secret", "invalidPort"),
        ("ws://h/sec\nret", "controlCharacter"), (" ws://h/secret", "surroundingSpace"),
        ("ws://h/\(String(repeating: "a", count: 2_032))", "2032 bytes"), ("ws://[::1/secret", "invalidHost"),
        ("ws://\(String(repeating: "a.", count: 60))b/secret", "119 bytes"),
        ("ws://münchen.example/secret", "internationalHost"),
    ])
    func anInvalidURLIsRefusedAndNotRepeated(text: String, expected: String) throws {
        do {
            let url = try WebSocketURL(text)
            // Without slashes, the text is still a valid URL to the WHATWG.
            #expect(text == "ws:h" && url.description == "ws://h:80")
        } catch {
            #expect(error.code == .invalidURL)
            #expect(error.description.contains(expected))
            #expect(!error.description.contains("secret"))
        }
    }

    @Test func descriptionsOmitPathAndQuery() throws {
        let url = try WebSocketURL("wss://h/secret?token=secret")
        #expect(!"\(url)".contains("secret"))
        #expect(!String(reflecting: url).contains("secret"))
        #expect(!"\(WebSocketFeedConfiguration(source: "feed", url: url))".contains("secret"))
    }
}
