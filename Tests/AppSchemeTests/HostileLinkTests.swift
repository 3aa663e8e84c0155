import AppScheme
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct HostileLinkTests {
    private static func routes() throws -> AppRoutes {
        try AppRoutes([
            ("myapp://open/{name}", "open"), ("myapp://browse/{place...}", "browse"), ("myapp://admin", "admin"),
        ])
    }

    /// Each link has the expected members of its body, or the reason of its rejection.
    @Test(
        arguments: [
            ("myapp://open/a%2Fb", "name=a/b"), ("myapp://open/..%2F..%2Fadmin", "name=../../admin"),
            ("myapp://open/%252e%252e", "name=%2e%2e"), ("myapp://open/%252F", "name=%2F"),
            ("myapp://open/%2500", "name=%00"), ("myapp://open/a%5Cb", "name=a\\b"),
            ("myapp://open/a/../b", "name=b"), ("myapp://open/x/../../../b", "name=b"),
            ("myapp://open/../../admin", "name=admin"), ("myapp://open/%2e%2e/admin", "malformed"),
            ("myapp://open/%2E", "malformed"), ("myapp://open/.%2e", "malformed"), ("myapp://open/%00", "malformed"),
            ("myapp://open/a%0Ab", "malformed"), ("myapp://open/%", "malformed"), ("myapp://open/%FF", "malformed"),
            ("myapp://open/%C0%AE%C0%AE", "malformed"), ("myapp://open/%2e%2e%2f", "name=../"),
            ("myapp://open//admin", "unknownAction"), ("myapp://open/a/b", "unknownAction"),
            ("myapp://open%2Fadmin", "malformed"), ("myapp://admin@open/a", "unknownAction"),
            ("myapp://browse/a/b%20c", "place=a/b c"), ("myapp://browse/a/../../admin", "place=admin"),
            ("myapp://browse/a%2Fb/c", "unknownAction"),
            ("myapp:open/a", "unknownAction"), ("javascript:alert(1)", "unknownAction"),
            ("JaVaScRiPt:alert(1)", "unknownAction"), ("java\tscript:alert(1)", "malformed"),
            (" javascript:alert(1)", "malformed"), ("data:text/html,x", "unknownAction"),
            ("file:///etc/passwd", "unknownAction"), ("intent://open/a#Intent;end", "unknownAction"),
            ("my\u{430}pp://open/a", "malformed"), ("myapp://ope\u{43D}/a", "unknownAction"),
        ])
    func hostileLinksAreDecodedOnceOrRejected(_ link: String, expected: String) throws {
        switch try Self.routes().match(link).reading {
        case .success(let action): #expect(action.members == [expected])
        case .failure(let rejection): #expect(rejection.reason.description == expected)
        }
    }

    /// Returns strings that are difficult to process.
    private static func naughtyStrings() throws -> [String] {
        let own = [
            "", " ", ".", "..", "/", "\\", "%", "%00", "%2e", "null", "-1", "\u{0}", "\u{7}\u{1B}[31m", "\r\n",
            "\u{85}",
            "\u{2028}", "\u{202E}abc", "\u{FEFF}", "\u{1F468}\u{200D}\u{1F469}", "e\u{301}", "\u{FFFD}", "\u{FFFF}",
            "'; DROP TABLE users; --", "<script>alert(1)</script>", "${jndi:ldap://x}", "{{7*7}}", "../../etc/passwd",
            "myapp://open/x", "a&b=c#d?e", "\"", "signalbox.stop", String(repeating: "\u{301}", count: 300),
        ]
        return own + (try Corpus.cases("naughty_strings.json") ?? [])
    }

    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        return String(
            decoding: text.utf8.flatMap { [UInt8(ascii: "%"), digits[Int($0 >> 4)], digits[Int($0 & 15)]] },
            as: UTF8.self
        )
    }

    private static func hasControls(_ text: String) -> Bool {
        text.utf8.contains { $0 < 0x20 || $0 == 0x7F }
    }

    /// Checks that each link has the outcome that its routes determine, and that the outcome is reported once.
    private static func checkEachHasItsOutcome(_ links: [String], _ routes: AppRoutes) async throws {
        let trial = LinkTrial(routes)
        let seen = CallList<[String]>()
        let settled = try await trial.deliver(links) { supervisor in
            for action in ["open", "browse", "admin"] as [ActionName] {
                try supervisor.register(
                    Registration(action, as: [String: String].self, from: .source("links")) { info, _ in
                        seen.add(info.map { "\($0)=\($1)" }.sorted())
                    }
                )
            }
        }
        let expected = links.map { routes.match($0).reading.map { $0.members.sorted() } }
        #expect(settled.map { Array($0.original.utf8) } == links.map { Array($0.utf8) })
        for (one, reading) in zip(settled, expected) {
            switch reading {
            case .success: #expect(one.outcome == .handled(reply: nil))
            case .failure(let rejection): #expect(one.rejection == rejection)
            }
        }
        let members = expected.compactMap { try? $0.get() }
        #expect(seen.all.count == members.count)
        #expect(Set(seen.all) == Set(members))
        #expect(trial.reported.all.count == links.count)
        #expect(trial.reported.all.map(\.link).sorted() == links.sorted())
    }

    @Test func anyTextHasOneOutcome() async throws {
        let naughty = try Self.naughtyStrings()
        let inPlace = naughty.flatMap { ["myapp://open/\($0)", "myapp://browse/\(Self.escaped($0))"] }
        // One of the texts is a link of the routes.
        let routes = try Self.routes()
        let opened = naughty.compactMap { try? routes.action($0).members }
        #expect(opened == [["name=x"]])
        try await Self.checkEachHasItsOutcome(naughty + inPlace, routes)
    }

    @Test func aPathSegmentRoundTripsOrIsRejected() throws {
        let routes = try Self.routes()
        for text in try Self.naughtyStrings() {
            let reading = routes.match("myapp://open/\(Self.escaped(text))").reading
            switch text {
            case "": #expect(throws: Outcome.Rejection.self) { try reading.get() }
            case ".", "..",
                _ where Self.hasControls(text):
                #expect(throws: Outcome.Rejection.self, "\(text.debugDescription)") { try reading.get() }
            default:
                let value = try Missing.unwrap(try reading.get().captures.first?.value)
                #expect(Array(value.utf8) == Array(text.utf8))
            }
        }
    }

    @Test func aQueryItemRoundTrips() throws {
        let routes = try AppRoutes("myapp://find?q={term}", "find")
        for text in try Self.naughtyStrings() where !text.utf8.contains(0) {
            let value = try Missing.unwrap(
                try routes.action("myapp://find?q=\(Self.escaped(text))").captures.first?.value
            )
            #expect(Array(value.utf8) == Array(text.utf8))
        }
    }

    @Test func anyTextOfUpTo128BytesIsAnID() throws {
        let routes = try AppRoutes("myapp://do?i={id}", "do")
        for text in try Self.naughtyStrings() where !text.utf8.contains(0) {
            let reading = routes.match("myapp://do?i=\(Self.escaped(text))").reading
            if (1...ActionID.maximumLength).contains(text.utf8.count) {
                #expect(try reading.get().id?.text.utf8.elementsEqual(text.utf8) == true)
            } else {
                #expect(throws: Outcome.Rejection.self) { try reading.get() }
            }
        }
    }

    /// A fallback shows how a link was read: host, path and all other parts of its normal form.
    @Test func acceptedLinksParseLikeInOtherURLParsers() throws {
        struct Vector: Decodable {
            let input: String
            let href: String?
        }
        guard let vectors = try Corpus.cases("url_app_scheme.dev.json", of: Vector.self) else { return }
        #expect(vectors.count >= 130)
        let schemes = Set(vectors.compactMap { try? URLText($0.input).scheme }).subtracting(AppRoutes.forbiddenSchemes)
        let routes = try AppRoutes(schemes.sorted().map { ("\($0)://no-link-is-this", "open") }, fallback: "read")
        var counts: [String: Int] = [:]
        for vector in vectors {
            switch routes.match(vector.input).reading {
            case .success(let action):
                #expect(
                    action.members == [vector.href.map { "url=\($0)" }].compactMap { $0 },
                    "\(vector.input.debugDescription)"
                )
                counts["read", default: 0] += 1
            case .failure(let rejection):
                counts[rejection.reason.description, default: 0] += 1
            }
        }
        #expect(counts == ["read": 65, "malformed": 42, "unknownAction": 23])
    }
}
