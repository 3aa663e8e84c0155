import Foundation
import SecureTransport
import SignalboxCore
import SignalboxRoutes
import TestSupport
import Testing
import WebSocketChat

@testable import AdapterSupport
@testable import BrokerKit
@testable import HTTPActions

/// Who may send requests.
@Suite(.timeLimit(.minutes(5))) struct AccessTests {
    private static let token = "0123456789abcdef"

    private static func status(
        _ headers: [String],
        _ body: String = "{}",
        method: String = "POST",
        _ configure: (inout HTTPActionConfiguration) -> Void
    ) async throws -> (answer: HTTPText.Answer, principal: String?) {
        let intake = RecordingIntake()
        let answer = EventList<HTTPText.Answer>()
        try await RequestTrial.with(intake: intake, configure) { trial in
            answer.append(try await trial.answer(HTTPText(method, "/order", headers, method == "POST" ? body : nil)))
        }
        let facts = intake.taken.all.first?.arrival.origin.facts as? HTTPActionFacts
        return (try #require(answer.all.first), facts?.principal)
    }

    @Test(
        arguments: [
            (["Authorization: Bearer 0123456789abcdef"], 200, "shop"),
            (["authorization: bearer  0123456789abcdef"], 200, "shop"),
            (["Authorization: Bearer 0123456789abcdeg"], 401, nil),
            (["Authorization: Basic 0123456789abcdef"], 401, nil),
            ([], 401, nil),
            (["Authorization: Bearer 0123456789abcdef", "Authorization: Bearer x"], 400, nil),
        ] as [([String], Int, String?)]
    )
    func aTokenNamesThePrincipal(headers: [String], status: Int, principal: String?) async throws {
        let result = try await Self.status(headers) { configuration in
            configuration.allowsAnyone = false
            configuration.principals = [WebSocketPrincipal("shop", token: .text(Self.token))]
        }
        #expect(result.answer.status == status && result.principal == principal)
        if status == 401 { #expect(result.answer.headers["www-authenticate"] == "Bearer") }
    }

    @Test func anyoneMaySendIfThatIsAllowedButNoWrongTokenCounts() async throws {
        let principals = [WebSocketPrincipal("shop", token: .text(Self.token))]
        let without = try await Self.status([]) { $0.principals = principals }
        #expect(without.answer.status == 200 && without.principal == nil)
        let wrong = try await Self.status(["Authorization: Bearer wrong"]) { $0.principals = principals }
        #expect(wrong.answer.status == 401)
    }

    // MARK: - Signatures

    private static func code(_ text: String, key: String = token) throws -> String {
        try #require(MessageAuthentication.sha256(of: Array(text.utf8), key: Array(key.utf8))).hexadecimal
    }

    private static func headers(_ scheme: HTTPActionSignature.Scheme, time: Int64, _ body: String) throws -> [String] {
        switch scheme {
        case .signalbox: ["X-Signalbox-Signature: t=\(time),v1=\(try code("\(time).\(body)"))"]
        case .stripe: ["Stripe-Signature: t=\(time), v1=00, v1=\(try code("\(time).\(body)")), v0=1"]
        case .github: ["X-Hub-Signature-256: sha256=\(try code(body).uppercased())"]
        case .slack:
            ["X-Slack-Signature: v0=\(try code("v0:\(time):\(body)"))", "X-Slack-Request-Timestamp: \(time)"]
        }
    }

    @Test(arguments: HTTPActionSignature.Scheme.allCases)
    func aSignatureNamesThePrincipal(scheme: HTTPActionSignature.Scheme) async throws {
        let configure: (inout HTTPActionConfiguration) -> Void = { configuration in
            configuration.allowsAnyone = false
            // The second key replaces the first, which is still valid.
            configuration.signatures = [
                HTTPActionSignature("old", scheme: scheme, key: .text("another-key-16-bytes")),
                HTTPActionSignature("hook", scheme: scheme, key: .text(Self.token)),
            ]
        }
        let now = WallTime.now().seconds
        let right = try await Self.status(try Self.headers(scheme, time: now, "{}"), "{}", configure)
        #expect(right.answer.status == 200 && right.principal == "hook")
        let changed = try await Self.status(try Self.headers(scheme, time: now, "{}"), "{ }", configure)
        #expect(changed.answer.status == 401)
        guard scheme != .github else { return }
        let old = try await Self.status(try Self.headers(scheme, time: now - 3_600, "{}"), "{}", configure)
        #expect(old.answer.status == 401)
    }

    /// Each code that differs from the right one in a single byte, and many that differ in all.
    @Test func noOtherCodeIsRight() throws {
        let key = SignatureKey(
            signature: HTTPActionSignature("hook", scheme: .github, key: .text(Self.token)),
            key: Array(Self.token.utf8)
        )
        let body = Array("{}".utf8)
        let right = try #require(MessageAuthentication.sha256(of: body, key: key.key))
        func isRight(_ code: [UInt8]) throws -> Bool {
            let stated = try #require(StatedSignature("sha256=\(code.hexadecimal)", time: nil, .github))
            return key.problem(of: stated, signed: body, at: .now()) == nil
        }
        #expect(try isRight(right))
        for index in right.indices {
            for change in UInt8(1)...UInt8.max {
                var code = right
                code[index] ^= change
                #expect(try !isRight(code))
            }
        }
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<10_000 {
            #expect(try !isRight((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }))
        }
        for count in 0..<32 { #expect(try !isRight(Array(right.prefix(count)))) }
    }

    @Test(arguments: ["", "t=1", "v1=00", "t=x,v1=00", "t=-1,v1=00", "t=99999999999999999999,v1=00", "sha256=zz"])
    func aMalformedSignatureIsRefused(text: String) async throws {
        let result = try await Self.status(["X-Signalbox-Signature: \(text)"]) { configuration in
            configuration.signatures = [HTTPActionSignature("hook", scheme: .signalbox, key: .text(Self.token))]
        }
        #expect(result.answer.status == 401)
    }

    // MARK: - Origins

    @Test(arguments: [
        (["Origin: https://app.example"], 200), (["Origin: https://evil.example"], 403), (["Origin: null"], 403),
        (["Sec-Fetch-Site: cross-site"], 403), (["Sec-Fetch-Site: same-origin"], 403), (["Sec-Fetch-Site: none"], 200),
        ([], 200),
    ])
    func aPageOfAnotherSiteCannotSend(headers: [String], status: Int) async throws {
        let app = try WebOrigin("https://app.example")
        let result = try await Self.status(headers) { $0.origins = [app] }
        #expect(result.answer.status == status)
        if status == 200, !headers.isEmpty, headers[0].hasPrefix("Origin") {
            #expect(result.answer.headers["access-control-allow-origin"] == "https://app.example")
        }
    }

    /// A page of any site can send a GET that states no origin, to an address that it knows or to a name that leads here.
    @Test(arguments: [
        ([], 403), (["X-Requested-With: curl"], 200), (["Host: evil.example", "X-Requested-With: a"], 403),
        (["Host: 127.0.0.1:1", "X-Requested-With: a"], 200), (["Host: [::1]:1", "X-Requested-With: a"], 200),
        (["Host: evil.example", "Authorization: Bearer 0123456789abcdef"], 200),
    ])
    func aPageCannotReadAStream(headers: [String], status: Int) async throws {
        let hosts = headers.contains { $0.hasPrefix("Host") } ? [] : ["Host: localhost"]
        let lines = ["GET /order HTTP/1.1", "Accept: text/event-stream"] + hosts + headers
        let intake = RecordingIntake { $0.settle(.handled(reply: nil)) }
        try await RequestTrial.with(
            intake: intake,
            { $0.principals = [WebSocketPrincipal("shop", token: .text(Self.token))] }
        ) { trial in
            let peer = try #require(RawPeer(port: trial.port))
            peer.write(lines.joined(separator: "\r\n") + "\r\n\r\n")
            let answer = await peer.read { String(decoding: $0, as: UTF8.self).contains("\r\n\r\n") }
            let head = String(decoding: answer, as: UTF8.self)
            #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(head)")
        }
    }

    @Test func theServerAnswersThePreflightOfAnAllowedOrigin() async throws {
        let app = try WebOrigin("https://app.example")
        let allowed = ["Origin: https://app.example", "Access-Control-Request-Method: POST"]
        let result = try await Self.status(allowed, method: "OPTIONS") {
            $0.origins = [app]
            $0.allowsAnyone = false
            $0.principals = [WebSocketPrincipal("shop", token: .text(Self.token))]
        }
        #expect(result.answer.status == 204)
        #expect(result.answer.headers["access-control-allow-methods"] == "POST, GET")
        let other = try await Self.status(["Origin: https://evil.example"], method: "OPTIONS") { _ in }
        #expect(other.answer.status == 403)
    }

    // MARK: - Addresses

    @Test(arguments: [("127.0.0.0/8", 200), ("127.0.0.1", 200), ("::1", 403), ("10.0.0.0/8", 403)])
    func onlyTheListedAddressesMaySend(range: String, status: Int) async throws {
        let range = try #require(AddressRange(range))
        #expect(try await Self.status([]) { $0.addresses = [range] }.answer.status == status)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.0/8", "::ffff:10.1.1.1", true),
        ("0.0.0.0/0", "1.2.3.4", true), ("0.0.0.0/0", "::1", false), ("::/0", "1.2.3.4", true),
        ("2001:db8::/33", "2001:db8:7fff::1", true), ("2001:db8::/33", "2001:db8:8000::1", false), ("::1", "::1", true),
        ("10.0.0.1", "", false), ("10.0.0.1", "x", false),
    ])
    func aRangeContainsItsAddresses(range: String, address: String, isIn: Bool) throws {
        #expect(try #require(AddressRange(range)).contains(address) == isIn)
    }

    @Test(arguments: [
        "", "x", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.1/8", "::/129", "10.0.0.0/", "10.0/8",
    ])
    func aMalformedRangeIsNoRange(text: String) { #expect(AddressRange(text) == nil) }
}
