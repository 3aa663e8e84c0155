import AdapterSupport
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import WebSocketChat

@Suite struct ServerConfigurationTests {
    private static func problem(_ change: (inout WebSocketServerConfiguration) throws -> Void) rethrows -> String? {
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        configuration.absentOrigin = .allowed
        try change(&configuration)
        do throws(WebSocketChatError) {
            try configuration.validate()
            return nil
        } catch {
            #expect(error.code == .invalidConfiguration && error.source == "chat")
            return error.detail
        }
    }

    @Test func aConfigurationThatAdmitsNoClientIsRefused() throws {
        let token = WebSocketPrincipal("a", token: .text("0123456789abcdef"))
        let origin = try WebOrigin("https://app.example")
        for (rule, principals, origins, isFine) in [
            (WebSocketAbsentOrigin.withToken, [], [], false), (.withToken, [token], [], true),
            (.withToken, [], [origin], true),
            (.refused, [token], [], false), (.refused, [], [origin], true), (.allowed, [], [], true),
        ] as [(WebSocketAbsentOrigin, [WebSocketPrincipal], [WebOrigin], Bool)] {
            let problem = Self.problem {
                $0.absentOrigin = rule
                $0.principals = principals
                $0.origins = origins
            }
            #expect((problem == nil) == isFine, "\(rule)")
            #expect(problem?.contains("no client can connect") ?? true)
        }
    }

    @Test func addressesMustBeNumeric() {
        for (address, isFine) in [
            ("127.0.0.1", true), ("::1", true), ("0.0.0.0", true), ("::", true), ("localhost", false), ("", false),
            ("[::1]", false), ("127.1", false),
            ("127.0.0.1 ", false),
        ] {
            #expect((Self.problem { $0.address = address } == nil) == isFine, "\(address)")
        }
        for (address, isLoopback) in [
            ("127.9.9.9", true), ("::1", true), ("0.0.0.0", false), ("::", false), ("192.0.2.1", false),
            ("::ffff:127.0.0.1", true), ("::ffff:192.0.2.1", false),
        ] {
            #expect(NumericAddress(address)?.isLoopback == isLoopback, "\(address)")
        }
    }

    @Test(arguments: ["", "chat", "/a?b", "/a#b", "/a\n", "/" + String(repeating: "a", count: 1_024)])
    func invalidPathsAreRefused(path: String) {
        #expect(Self.problem { $0.path = path } != nil)
        #expect(Self.problem { $0.healthPath = path } != nil)
        #expect(Self.problem { $0.pages = [path: WebSocketPage(contentType: "text/plain", body: [])] } != nil)
        #expect(Self.problem { $0.path = "/a b/\u{E4}" } == nil)
    }

    @Test func everyRangeIsChecked() {
        let changes: [(Bool, @Sendable (inout WebSocketServerConfiguration) -> Void)] = [
            (false, { $0.connections = 0 }), (true, { $0.connections = 1_000_000 }),
            (false, { $0.connections = 1_000_001 }),
            (false, { $0.connectionWindow = 0 }), (true, { $0.connectionWindow = 10_000 }),
            (false, { $0.connectionWindow = 10_001 }),
            (false, { $0.callsInFlight = 0 }), (true, { $0.callsInFlight = 10_000 }),
            (false, { $0.callsInFlight = 10_001 }),
            (false, { $0.handshakeTimeout = .milliseconds(1_500) }), (false, { $0.handshakeTimeout = .zero }),
            (false, { $0.handshakeTimeout = .seconds(3_601) }),
            (false, { $0.messageTimeout = .milliseconds(999) }), (true, { $0.messageTimeout = .seconds(3_600) }),
            (false, { $0.messageTimeout = .seconds(3_601) }),
            (false, { $0.idleTimeout = .milliseconds(999) }), (true, { $0.idleTimeout = .seconds(7 * 86_400) }),
            (false, { $0.idleTimeout = .seconds(7 * 86_400 + 1) }),
            (false, { $0.pingAfter = .zero }), (false, { $0.pingAfter = .seconds(45) }),
            (true, { $0.silenceLimit = .seconds(31) }),
            (false, { $0.silenceLimit = .seconds(30) }), (false, { $0.silenceLimit = .seconds(7_201) }),
            (false, { $0.waitingBytes = 1_023 }),
            (true, { $0.waitingBytes = 1_024 }), (false, { $0.waitingBytes = 1 << 30 }),
            (false, { $0.allWaitingBytes = 1_048_575 }),
            (true, { $0.allWaitingBytes = 1_048_576 }), (false, { $0.tagsPerConnection = 0 }),
            (true, { $0.tagsPerConnection = 1_000 }), (true, { $0.tags = ["lobby"] }), (false, { $0.tags = [""] }),
            (false, { ($0.tags, $0.tagsPerConnection) = (["a", "b"], 1) }),
            (false, { $0.tagsPerConnection = 1_001 }), (false, { $0.frames.batch = 0 }),
            (true, { $0.frames.batch = 10_000 }),
            (false, { $0.frames.batch = 10_001 }), (false, { $0.subprotocols = ["a b"] }),
            (false, { $0.subprotocols = ["signalbox.bearer.x"] }),
            (true, { $0.subprotocols = ["signalbox", "chat.v1"] }),
            (false, { $0.subprotocols = (0..<33).map { "p\($0)" } }),
            (false, { $0.identity = WebSocketIdentity(certificateFile: "", keyFile: "a") }),
        ]
        for (index, (isFine, change)) in changes.enumerated() {
            #expect((Self.problem(change) == nil) == isFine, "\(index)")
        }
    }

    @Test func everyRangeOfHTTPConnectionsIsChecked() {
        let changes: [(Bool, @Sendable (inout WebSocketServerConfiguration) -> Void)] = [
            (false, { $0.httpConnections = 0 }), (true, { $0.httpConnections = 1_000_000 }),
            (false, { $0.httpConnections = 1_000_001 }),
            (false, { $0.httpConnectionsPerAddress = 0 }), (true, { $0.httpConnectionsPerAddress = 1 }),
            (true, { $0.httpConnectionsPerAddress = 250 }), (false, { $0.httpConnectionsPerAddress = 251 }),
            (true, { ($0.httpConnections, $0.httpConnectionsPerAddress) = (1_000_000, 1_000_000) }),
            (false, { ($0.httpConnections, $0.httpConnectionsPerAddress) = (1_000_000, 1_000_001) }),
            (false, { ($0.httpConnections, $0.httpConnectionsPerAddress) = (10, 11) }),
            (true, { ($0.connections, $0.httpConnectionsPerAddress) = (1, 32) }),
            (false, { ($0.connections, $0.httpConnectionsPerAddress) = (1, 33) }),
            (false, { $0.httpRequests = 0 }), (true, { $0.httpRequests = 1_000_000 }),
            (false, { $0.httpRequests = 1_000_001 }),
            (false, { $0.httpTimeout = .milliseconds(999) }), (true, { $0.httpTimeout = .seconds(1) }),
            (true, { $0.httpTimeout = .seconds(3_600) }), (false, { $0.httpTimeout = .milliseconds(3_600_001) }),
        ]
        for (index, (isFine, change)) in changes.enumerated() {
            #expect((Self.problem(change) == nil) == isFine, "\(index)")
        }
    }

    @Test func httpConnectionErrorsNameTheProperty() {
        #expect(Self.problem { $0.httpConnections = 0 } == "httpConnections must be 1 to 1000000")
        #expect(Self.problem { $0.httpRequests = 0 } == "httpRequests must be 1 to 1000000")
        #expect(Self.problem { $0.httpTimeout = .zero } == "httpTimeout must be 1 s to 1 h")
        #expect(
            Self.problem { ($0.httpConnections, $0.httpConnectionsPerAddress) = (10, 11) }
                == "httpConnectionsPerAddress must be at most httpConnections, which is 10"
        )
    }

    @Test func principalNamesMustBeValidAndUnique() {
        func principals(_ names: String...) -> [WebSocketPrincipal] {
            names.map { WebSocketPrincipal($0, token: .text("0123456789abcdef")) }
        }
        #expect(Self.problem { $0.principals = principals("a", "b") } == nil)
        #expect(Self.problem { $0.principals = principals("a", "a") } != nil)
        #expect(Self.problem { $0.principals = principals("") } != nil)
        #expect(Self.problem { $0.principals = principals("a\nb") } != nil)
        #expect(Self.problem { $0.principals = principals(String(repeating: "a", count: 129)) } != nil)
    }

    @Test func pagesAreLimited() {
        func page(_ count: Int) -> WebSocketPage {
            WebSocketPage(contentType: "text/plain", body: Array(repeating: 0x20, count: count))
        }
        #expect(Self.problem { $0.pages = ["/a": page(1 << 20)] } == nil)
        #expect(Self.problem { $0.pages = ["/a": page(1 << 20 + 1)] } != nil)
        #expect(Self.problem { $0.pages = ["/health": page(1)] } != nil)
        #expect(Self.problem { $0.pages = ["/a": WebSocketPage(contentType: "text/plain\r\nX: y", body: [])] } != nil)
        #expect(
            Self.problem { $0.pages = Dictionary(uniqueKeysWithValues: (0..<101).map { ("/\($0)", page(1)) }) } != nil
        )
        #expect(
            Self.problem { $0.pages = Dictionary(uniqueKeysWithValues: (0..<17).map { ("/\($0)", page(1 << 20)) }) }
                != nil
        )
    }

    @Test func likelyMistakesCauseWarnings() throws {
        func warnings(_ change: (inout WebSocketServerConfiguration) throws -> Void) throws -> [String] {
            var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
            configuration.principals = [WebSocketPrincipal("a", token: .text("0123456789abcdef"))]
            try change(&configuration)
            return ServerLog.warnings(configuration)
        }
        #expect(try warnings { _ in }.isEmpty)
        #expect(try warnings { $0.address = "0.0.0.0" }.map { $0.contains("without TLS") } == [true])
        #expect(
            try warnings {
                $0.address = "0.0.0.0"
                $0.principals = []
                $0.identity = WebSocketIdentity(certificateFile: "c", keyFile: "k")
            }.map { $0.contains("without a token") } == [true]
        )
        #expect(try warnings { $0.queryTokens = true }.map { $0.contains("query") } == [true])
        #expect(
            try warnings {
                $0.principals = []
                $0.absentOrigin = .allowed
            }.map { $0.contains("every program on this machine") } == [true]
        )
    }
}
