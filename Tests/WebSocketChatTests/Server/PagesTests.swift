import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct PagesTests {
    private static func request(_ method: String, _ path: String) -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    }

    @Test func theHealthPageReportsARunningServer() async throws {
        try await ServerTrial.with { trial in
            let peer = try #require(RawPeer(port: trial.port))
            peer.write(Self.request("GET", "/health"))
            let text = String(decoding: await peer.read { _ in false }, as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 200"))
            #expect(text.hasSuffix("\r\n\r\n{\"status\":\"ok\"}\n"))
            let head = text.lowercased()
            for header in [
                "content-type: application/json",
                "content-security-policy: default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
                "x-content-type-options: nosniff", "referrer-policy: no-referrer", "cache-control: no-store",
                "cross-origin-resource-policy: same-origin",
            ] {
                #expect(head.contains("\r\n" + header), "\(header)")
            }
            #expect(trial.server.counts.opened == 0)
        }
    }

    @Test func pagesAreServedOnlyAtTheirPaths() async throws {
        let change: (inout WebSocketServerConfiguration) -> Void = { configuration in
            configuration.pages = [
                "/": WebSocketPage(contentType: "text/html; charset=utf-8", body: Array("<p>hi".utf8))
            ]
            configuration.healthPath = nil
        }
        try await ServerTrial.with(change) { trial in
            #expect(await trial.answer(to: Self.request("GET", "/")).status == 200)
            #expect(await trial.upgrade("/") == 101)
            for path in ["/health", "/index.html", "/../etc/passwd", "/etc/passwd"] {
                #expect(await trial.answer(to: Self.request("GET", path)).status == 404, "\(path)")
            }
            for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
                #expect(await trial.answer(to: Self.request(method, "/")).status == 405, "\(method)")
            }
            let (status, head) = await trial.answer(to: Self.request("HEAD", "/"))
            #expect(status == 200 && !head.contains("<p>"))
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct OwnPagesTests {
    @Test func theServersOwnPagesMayConnect() async throws {
        let intake = FakeIntake.handling()
        let change: (inout WebSocketServerConfiguration) -> Void = { configuration in
            configuration.pagesHost = "127.0.0.1"
            configuration.absentOrigin = .refused
            configuration.origins = ["https://app.example"].compactMap { try? WebOrigin($0) }
        }
        try await ServerTrial.with(intake: intake, change) { trial in
            for (origin, status) in [
                ("http://127.0.0.1:\(trial.port)", 101), ("https://app.example", 101),
                ("https://127.0.0.1:\(trial.port)", 403), ("http://127.0.0.1", 403), ("http://127.0.0.1:0", 403),
                ("http://localhost:\(trial.port)", 403), ("http://[::1]:\(trial.port)", 403),
            ] {
                #expect(await trial.upgrade("/", ["Origin: \(origin)"]) == status, "\(origin)")
            }
            #expect(await trial.upgrade() == 403)
            try await ChatClients.with { clients in
                for origin in ["http://127.0.0.1:\(trial.port)", "https://app.example"] {
                    let client = try await clients.open(trial.port) { $0.origin = origin }
                    client.send("{\"action\":\"a\"}")
                    await intake.untilTaken(origin.hasPrefix("https") ? 2 : 1)
                }
            }
            let facts = intake.taken.compactMap { $0.arrival.origin.facts as? ChatFacts }
            #expect(facts.map(\.isOwnPage) == [true, false])
        }
    }

    @Test func ownPagesMayNotConnectByDefault() async throws {
        try await ServerTrial.with { trial in
            #expect(await trial.upgrade("/", ["Origin: http://127.0.0.1:\(trial.port)"]) == 403)
        }
    }

    @Test func thePagesOriginHasSchemeHostAndPort() throws {
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        #expect(configuration.pagesOrigin(port: 80) == nil)
        for (host, origin) in [
            ("127.0.0.1", "http://127.0.0.1:8080"), ("[::1]", "http://[::1]:8080"),
            ("Shop.Example", "http://shop.example:8080"),
        ] {
            configuration.pagesHost = host
            try configuration.validate()
            #expect(configuration.pagesOrigin(port: 8080) == (try WebOrigin(origin)))
        }
        configuration.identity = WebSocketIdentity(certificateFile: "c", keyFile: "k")
        #expect(configuration.pagesOrigin(port: 443) == (try WebOrigin("https://shop.example")))
        for host in ["", "a b", "shop.example:80", "shop.example/", "user@shop.example", "::1", "a\n", "a?", "a#"] {
            configuration.pagesHost = host
            #expect(throws: WebSocketChatError.self, "\(host)") { try configuration.validate() }
        }
    }
}

@Suite struct PagePolicyTests {
    private static let all: [WebSocketPagePolicy] = [.strict, .site, .siteWithInlineCode, .shared]

    private func headers(_ policy: WebSocketPagePolicy) -> [String: String] {
        Dictionary(policy.headers.map { ($0.name, $0.value) }) { $1 }
    }

    private func content(_ policy: WebSocketPagePolicy) -> String {
        headers(policy)["Content-Security-Policy"] ?? ""
    }

    @Test(arguments: all) func everyPolicyForbidsFramingAndBaseChanges(policy: WebSocketPagePolicy) {
        let content = content(policy)
        #expect(content.contains("frame-ancestors 'none'") && content.contains("base-uri 'none'"))
        #expect(!content.contains("*") && !content.contains("unsafe-eval") && !content.contains("http"))
        #expect(policy.headers.allSatisfy { HeaderField($0.name, $0.value) != nil })
    }

    @Test func theStrictPolicyIsTheDefaultAndAllowsNothing() {
        #expect(WebSocketPage(contentType: "text/html", body: []).policy == .strict)
        #expect(
            content(.strict) == "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
        #expect(content(.shared) == content(.strict))
    }

    @Test func inlineScriptsRequireTheInlineCodePolicy() {
        #expect(content(.site).hasPrefix("default-src 'self'; ") && !content(.site).contains("unsafe"))
        #expect(content(.siteWithInlineCode).contains("script-src 'self' 'unsafe-inline'"))
    }

    @Test func onlySharedPagesMayBeLoadedByOtherSites() {
        for policy in Self.all {
            let expected = policy == .shared ? "cross-origin" : "same-origin"
            #expect(headers(policy)["Cross-Origin-Resource-Policy"] == expected)
        }
    }

    @Test func eachPageHasItsOwnPolicy() {
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        configuration.pages = [
            "/a": WebSocketPage(contentType: "text/html", body: [], policy: .site),
            "/b": WebSocketPage(contentType: "text/html", body: []),
        ]
        let served = configuration.allPages.mapValues { page in
            page.headers.first { $0.name == "Content-Security-Policy" }?.value
        }
        #expect(served == ["/a": content(.site), "/b": content(.strict), "/health": content(.strict)])
    }
}
