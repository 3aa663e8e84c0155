import SignalboxCore
import SignalboxRoutes
import Testing

@testable import WebSocketChat

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

    private func status(_ answer: UpgradePolicy.Answer) -> Int {
        if case .refused(let decision, _) = answer { decision.status ?? 0 } else { 101 }
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
    func anOriginIsAllowedInNormalFormAlone(origin: String, expected: Int) throws {
        #expect(status(try policy().answer(request(origin), noRoom: nil)) == expected)
    }

    @Test(arguments: [
        // rule, principals?, token?, status
        (WebSocketAbsentOrigin.withToken, false, false, 403), (.withToken, true, false, 401),
        (.withToken, true, true, 101),
        (.allowed, false, false, 101), (.allowed, true, false, 401), (.allowed, true, true, 101),
        (.refused, false, false, 403),
        (.refused, true, true, 403),
    ])
    func theRuleForAnAbsentOrigin(rule: WebSocketAbsentOrigin, hasPrincipals: Bool, shows: Bool, expected: Int) throws {
        let principals = hasPrincipals ? [WebSocketPrincipal("kitchen", token: .text(Self.kitchen))] : []
        let policy = try policy(principals: principals) { $0.absentOrigin = rule }
        var request = request(nil)
        if shows { request.authorization = "Bearer \(Self.kitchen)" }
        #expect(status(policy.answer(request, noRoom: nil)) == expected)
    }

    @Test func pathComesBeforeOriginBeforeTokenBeforeRoom() throws {
        let policy = try policy(principals: [WebSocketPrincipal("kitchen", token: .text(Self.kitchen))])
        var request = request("https://evil.tld")
        request.path = "/other"
        #expect(status(policy.answer(request, noRoom: "full")) == 404)
        request.path = "/"
        request.authorization = "Bearer wrong"
        #expect(status(policy.answer(request, noRoom: "full")) == 403)
        request.origin = "https://app.com"
        #expect(status(policy.answer(request, noRoom: "full")) == 401)
        request.authorization = "Bearer \(Self.kitchen)"
        #expect(policy.answer(request, noRoom: "full") == .refused(.unavailable, why: "full"))
        guard case .admitted(let admission) = policy.answer(request, noRoom: nil) else {
            Issue.record("refused")
            return
        }
        #expect(admission.principal == "kitchen" && admission.origin?.description == "https://app.com")
        #expect(!admission.usedQueryToken)
    }

    @Test func aTokenInTheQueryCountsOnlyWhereItMay() throws {
        let principals = [WebSocketPrincipal("kitchen", token: .text(Self.kitchen))]
        var request = request()
        request.query = ["x=1", "token=\(Self.kitchen)"]
        #expect(status(try policy(principals: principals).answer(request, noRoom: nil)) == 401)
        let policy = try policy(principals: principals) { $0.queryTokens = true }
        guard case .admitted(let admission) = policy.answer(request, noRoom: nil) else {
            Issue.record("refused")
            return
        }
        #expect(admission.usedQueryToken)
    }

    @Test func refusalsSayWhyWithoutTheToken() throws {
        let policy = try policy(principals: [WebSocketPrincipal("kitchen", token: .text(Self.kitchen))])
        var request = request()
        request.authorization = "Bearer canary-0123456789abcdef"
        request.query = ["token=canary-0123456789abcdef"]
        guard case .refused(_, let why) = policy.answer(request, noRoom: nil) else {
            Issue.record("admitted")
            return
        }
        #expect(!why.contains("canary"))
        guard case .refused(_, let why) = policy.answer(self.request("https://a\u{1B}[2J\r\nforged"), noRoom: nil)
        else {
            Issue.record("admitted")
            return
        }
        #expect(why.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F })
    }
}
