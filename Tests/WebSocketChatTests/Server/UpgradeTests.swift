import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct UpgradeTests {
    private static let kitchen = "kitchen-token-0123456789"
    private static let kitchenInBase64 = "a2l0Y2hlbi10b2tlbi0wMTIzNDU2Nzg5"

    private static func withOrigin(_ configuration: inout WebSocketServerConfiguration) {
        configuration.origins = ["https://app.com", "http://localhost:8080"].compactMap { try? WebOrigin($0) }
        configuration.absentOrigin = .withToken
    }

    private static func withToken(_ configuration: inout WebSocketServerConfiguration) {
        configuration.principals = [WebSocketPrincipal("kitchen", token: .text(kitchen))]
        configuration.absentOrigin = .withToken
        configuration.queryTokens = true
    }

    @Test func theOriginIsCheckedBeforeTheUpgrade() async throws {
        try await ServerTrial.with(Self.withOrigin) { trial in
            for (origin, status) in [
                ("https://app.com", 101), ("HTTPS://APP.com:443", 101), ("http://localhost:8080", 101), ("null", 403),
                ("https://app.com.evil.tld", 403), ("https://app.com:8443", 403), ("http://localhost", 403),
                ("https://app.com/x", 403),
                ("https://user@app.com", 403), ("not an origin", 403), ("https://app.com\u{FF}", 403),
            ] {
                #expect(await trial.upgrade("/", ["Origin: \(origin)"]) == status, "\(origin)")
            }
            #expect(await trial.upgrade("/", ["origin: https://app.com"]) == 101)
            #expect(await trial.upgrade("/", ["Origin: https://app.com\u{7F}"]) == 400)
            #expect(await trial.upgrade("/", ["Origin:"]) == 403)
            #expect(await trial.upgrade() == 403)
            #expect(trial.server.counts.forbidden == 10)
            #expect(trial.server.counts.opened == 4)
        }
    }

    @Test func severalOriginsAreRefused() async throws {
        try await ServerTrial.with(Self.withOrigin) { trial in
            let good = "Origin: https://app.com"
            #expect(await trial.upgrade("/", [good, good]) == 403)
            #expect(await trial.upgrade("/", [good, "Origin: https://evil.tld"]) == 403)
            #expect(await trial.upgrade("/", ["Origin: https://evil.tld", good]) == 403)
            #expect(await trial.upgrade("/", ["Origin: https://app.com, https://app.com"]) == 403)
            #expect(trial.server.counts.opened == 0)
        }
    }

    @Test func principalsRequireAToken() async throws {
        try await ServerTrial.with(Self.withToken) { trial in
            for (headers, status) in [
                ([], 401), (["Authorization: Bearer \(Self.kitchen)"], 101),
                (["authorization: bearer  \(Self.kitchen)"], 101),
                (["Authorization: Bearer \(Self.kitchen)x"], 401),
                (["Authorization: Bearer \(Self.kitchen.dropLast())"], 401),
                (["Authorization: Bearer"], 401), (["Authorization: Basic \(Self.kitchen)"], 401),
            ] {
                #expect(await trial.upgrade("/", headers) == status, "\(headers)")
            }
            for other in ["wrong", Self.kitchen] {
                let both = ["Authorization: Bearer \(other)", "Authorization: Bearer \(Self.kitchen)"]
                #expect(await trial.upgrade("/", both) == 400)
            }
            #expect(await trial.upgrade("/?token=\(Self.kitchen)") == 101)
            #expect(await trial.upgrade("/?a=b&token=wrong") == 401)
            // If there is a header, it alone counts.
            #expect(await trial.upgrade("/?token=\(Self.kitchen)", ["Authorization: Bearer wrong"]) == 401)
            #expect(trial.server.counts.unauthorized == 7 && trial.server.counts.malformed == 2)
            #expect(trial.server.counts.queryTokens == 1)
            let all = trial.log.all.joined(separator: "\n")
            #expect(!all.contains(Self.kitchen) && !all.contains(Self.kitchenInBase64))
            #expect(all.contains("tokens are accepted in the query"))
        }
    }

    @Test func aTokenSubprotocolIsNeverSelected() async throws {
        try await ServerTrial.with(Self.withToken) { trial in
            let bearer = "signalbox.bearer.\(Self.kitchenInBase64)"
            for offered in ["signalbox, \(bearer)", "\(bearer), signalbox", "\(bearer),other,signalbox"] {
                let (status, text) = await trial.answer(
                    to: ServerTrial.upgrade("/", ["Sec-WebSocket-Protocol: \(offered)"])
                )
                #expect(status == 101, "\(offered)")
                #expect(Self.agreed(text) == "signalbox", "\(offered)")
            }
            let (status, _) = await trial.answer(
                to: ServerTrial.upgrade("/", ["Sec-WebSocket-Protocol: signalbox, signalbox.bearer.d3Jvbmc"])
            )
            #expect(status == 401)
            #expect(!trial.log.all.joined().contains(Self.kitchenInBase64))
            // The offer has no other protocol to agree to, or is longer than the library reads.
            for offered in [bearer, "signalbox, signalbox.bearer.\(String(repeating: "eHh4", count: 25))"] {
                let (status, _) = await trial.answer(
                    to: ServerTrial.upgrade("/", ["Sec-WebSocket-Protocol: \(offered)"])
                )
                #expect(status == 400 || status == 431, "\(offered)")
            }
            #expect(trial.server.counts.malformed == 2)
        }
    }

    @Test func theClientsFirstSupportedSubprotocolIsSelected() async throws {
        try await ServerTrial.with {
            $0.subprotocols = ["v1", "v2"]
        } _: { trial in
            for (offered, agreed) in [("v2, v1", "v2"), ("x, v1, v2", "v1"), ("signalbox, v1", "signalbox")] {
                let (status, text) = await trial.answer(
                    to: ServerTrial.upgrade("/", ["Sec-WebSocket-Protocol: \(offered)"])
                )
                #expect(status == 101 && Self.agreed(text) == agreed, "\(offered)")
            }
            let (status, text) = await trial.answer(to: ServerTrial.upgrade())
            #expect(status == 101 && Self.agreed(text) == nil)
        }
    }

    private static func agreed(_ head: String) -> String? {
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-protocol:") }
        return line.map { $0.dropFirst("sec-websocket-protocol:".count).trimmingPrefix(" ") }.map(String.init)
    }

    @Test func otherPathsAreNotFound() async throws {
        try await ServerTrial.with {
            $0.path = "/chat"
        } _: { trial in
            for (path, status) in [
                ("/chat", 101), ("/chat?x=1", 101), ("/%63hat", 101), ("/", 404), ("/chat/", 404), ("/chatter", 404),
                ("/health", 404),
            ] {
                #expect(await trial.upgrade(path) == status, "\(path)")
            }
            #expect(trial.server.counts.notFound == 4)
        }
    }

    @Test func aConnectionOverTheLimitIsRefused() async throws {
        try await ServerTrial.with {
            $0.connections = 2
        } _: { trial in
            try await ChatClients.with { clients in
                let one = try await clients.open(trial.port)
                _ = try await clients.open(trial.port)
                #expect(await trial.upgrade() == 503)
                #expect(trial.server.counts.open == 2 && trial.server.counts.unavailable == 1)
                one.close()
                _ = await one.ended()
                while !Task.isCancelled, trial.server.counts.open > 1 { await Task.yield() }
                _ = try await clients.open(trial.port)
                // The client receives its answer before the server counts it.
                while !Task.isCancelled, trial.server.counts.opened < 3 { await Task.yield() }
                #expect(trial.server.counts.opened == 3)
            }
        }
    }
}

@Suite struct UpgradePolicyTests {
    private static let kitchen = "kitchen-token-0123456789"

    private func policy(
        principals: [WebSocketPrincipal] = [],
        _ change: (inout WebSocketServerConfiguration) -> Void = { _ in }
    ) throws -> UpgradePolicy {
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        configuration.origins = try ["https://app.com", "http://localhost:8080"].map { try WebOrigin($0) }
        configuration.principals = principals
        change(&configuration)
        return UpgradePolicy(configuration, tokens: try PrincipalTokens(reading: principals))
    }

    private func status(_ answer: UpgradePolicy.Evaluation) -> Int {
        if case .refused(let refusal, _) = answer { refusal.status } else { 101 }
    }

    private func request(_ origin: String? = "https://app.com") -> UpgradeRequest {
        var request = UpgradeRequest()
        request.path = "/"
        request.origin = origin
        return request
    }

    @Test(arguments: [
        ("https://app.com", 101), ("HTTPS://App.COM", 101), ("https://app.com:443", 101),
        ("http://localhost:8080", 101),
        ("https://app.com.evil.tld", 403), ("https://evilapp.com", 403), ("https://evil.tld/app.com", 403),
        ("https://app.com/", 403),
        ("https://app.com.", 403), ("http://app.com", 403), ("https://app.com:444", 403), ("https://user@app.com", 403),
        ("https://app.com@evil.tld", 403), ("https://app.com#", 403), ("https://app.com?", 403), ("https://", 403),
        ("app.com", 403),
        ("", 403), ("null", 403), ("NULL", 403), ("file://", 403), ("data:", 403),
        ("https://app.com,https://app.com", 403),
        ("https://app.com, https://evil.tld", 403), ("https://app.com https://evil.tld", 403), ("https://*.com", 403),
        ("*", 403),
        ("http://localhost", 403), ("http://localhost:8081", 403), ("http://127.0.0.1:8080", 403),
        ("https://\u{430}pp.com", 403),
    ])
    func originsAreComparedInNormalForm(origin: String, expected: Int) throws {
        #expect(status(try policy().evaluate(request(origin), unavailableReason: nil)) == expected)
    }

    @Test(arguments: [
        // rule, principals?, token?, status
        (WebSocketAbsentOrigin.withToken, false, false, 403), (.withToken, true, false, 401),
        (.withToken, true, true, 101),
        (.allowed, false, false, 101), (.allowed, true, false, 401), (.allowed, true, true, 101),
        (.refused, false, false, 403),
        (.refused, true, true, 403),
    ])
    func anAbsentOriginFollowsItsRule(rule: WebSocketAbsentOrigin, hasPrincipals: Bool, shows: Bool, expected: Int)
        throws
    {
        let principals = hasPrincipals ? [WebSocketPrincipal("kitchen", token: .text(Self.kitchen))] : []
        let policy = try policy(principals: principals) { $0.absentOrigin = rule }
        var request = request(nil)
        if shows { request.authorization = "Bearer \(Self.kitchen)" }
        #expect(status(policy.evaluate(request, unavailableReason: nil)) == expected)
    }

    @Test func pathOriginTokenAndCapacityAreCheckedInOrder() throws {
        let policy = try policy(principals: [WebSocketPrincipal("kitchen", token: .text(Self.kitchen))])
        var request = request("https://evil.tld")
        request.path = "/other"
        #expect(status(policy.evaluate(request, unavailableReason: "full")) == 404)
        request.path = "/"
        request.authorization = "Bearer wrong"
        #expect(status(policy.evaluate(request, unavailableReason: "full")) == 403)
        request.origin = "https://app.com"
        #expect(status(policy.evaluate(request, unavailableReason: "full")) == 401)
        request.authorization = "Bearer \(Self.kitchen)"
        #expect(policy.evaluate(request, unavailableReason: "full") == .refused(.unavailable, reason: "full"))
        guard case .admitted(let facts, let usedQueryToken) = policy.evaluate(request, unavailableReason: nil) else {
            Issue.record("the request was refused")
            return
        }
        #expect(facts.principal == "kitchen" && facts.origin?.description == "https://app.com")
        #expect(!usedQueryToken)
    }

    @Test func aQueryTokenCountsOnlyIfAllowed() throws {
        let principals = [WebSocketPrincipal("kitchen", token: .text(Self.kitchen))]
        var request = request()
        request.query = ["x=1", "token=\(Self.kitchen)"]
        #expect(status(try policy(principals: principals).evaluate(request, unavailableReason: nil)) == 401)
        let policy = try policy(principals: principals) { $0.queryTokens = true }
        guard case .admitted(_, let usedQueryToken) = policy.evaluate(request, unavailableReason: nil) else {
            Issue.record("the request was refused")
            return
        }
        #expect(usedQueryToken)
    }

    @Test func refusalReasonsContainNoToken() throws {
        let policy = try policy(principals: [WebSocketPrincipal("kitchen", token: .text(Self.kitchen))])
        var request = request()
        request.authorization = "Bearer canary-0123456789abcdef"
        request.query = ["token=canary-0123456789abcdef"]
        guard case .refused(_, let why) = policy.evaluate(request, unavailableReason: nil) else {
            Issue.record("the request was admitted")
            return
        }
        #expect(!why.contains("canary"))
        guard
            case .refused(_, let why) = policy.evaluate(
                self.request("https://a\u{1B}[2J\r\nforged"),
                unavailableReason: nil
            )
        else {
            Issue.record("the request was admitted")
            return
        }
        #expect(why.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
    }
}

@Suite struct UntrustedTextTests {
    @Test(arguments: [
        ("https://app.example", #""https://app.example""#), ("a\"b\\c", #""a\"b\\c""#),
        ("k\u{FC}che", "\"k\u{FC}che\""),
        ("a\r\nb\u{1B}[2J", #""a\u{D}\u{A}b\u{1B}[2J""#),
        ("\u{9B}\u{202E}\u{2028}\u{FEFF}", #""\u{9B}\u{202E}\u{2028}\u{FEFF}""#), ("", #""""#),
    ])
    func nonprintingCharactersAreEscaped(text: String, shown: String) {
        #expect(UntrustedText.quoted(text) == shown)
    }

    @Test func aLongTextIsTruncated() {
        #expect(UntrustedText.quoted(String(repeating: "x", count: 128)).count == 130)
        #expect(UntrustedText.quoted(String(repeating: "x", count: 129)).hasSuffix("xxx\"..."))
    }
}
