import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct PagesTests {
    private static func request(_ method: String, _ path: String) -> String {
        "\(method) \(path) HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    }

    @Test func healthTellsThatTheServerRuns() async throws {
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

    @Test func pagesAreServedAtTheirPathsAlone() async throws {
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
