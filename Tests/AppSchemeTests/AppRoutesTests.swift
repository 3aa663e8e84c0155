import AppScheme
import Foundation
import SignalboxCore
import SignalboxRoutes
import Testing

@Suite struct AppRoutesTests {
    /// Each form of link is a separate route. No form matches another.
    @Test(
        arguments: [
            ("myapp://product/{id}", "myapp://product/42", "42"), ("myapp://product/{id}", "MyApp://product/42", "42"),
            ("MyApp://product/{id}", "myapp://PRODUCT/42", "42"), ("myapp://product/{id}", "myapp://product/42/", "42"),
            ("myapp://product/{id}", "myapp:///product/42", nil), ("myapp://product/{id}", "myapp:product/42", nil),
            ("myapp://product/{id}", "myapp:/product/42", nil), ("myapp://product/{id}", "other://product/42", nil),
            ("myapp://product/{id}", "myapp://product:8/42", nil),
            ("myapp://product/{id}", "myapp://product/42/x", nil),
            ("myapp:///product/{id}", "myapp:///product/42", "42"),
            ("myapp:///product/{id}", "myapp://product/42", nil),
            ("myapp:///product/{id}", "myapp:product/42", nil), ("myapp:/product/{id}", "myapp:/product/42", "42"),
            ("myapp:/product/{id}", "myapp:product/42", nil), ("myapp:product/{id}", "myapp:product/42", "42"),
            ("myapp:product/{id}", "myapp:/product/42", nil), ("myapp:product/{id}", "myapp://product/42", nil),
            ("https://shop.example/p/{id}", "https://shop.example/p/42?utm=x", "42"),
            ("https://shop.example/p/{id}", "HTTPS://Shop.Example:443/p/42", "42"),
            ("https://shop.example/p/{id}", "http://shop.example/p/42", nil),
            ("https://shop.example/p/{id}", "https://shop.example.evil.example/p/42", nil),
            ("https://shop.example/p/{id}", "https://evil.example/p/42", nil),
            ("https://shop.example/p/{id}", "https://shop.example:8443/p/42", nil),
        ] as [(String, String, String?)]
    )
    func aLinkMatchesOnlyRoutesOfItsForm(_ pattern: String, link: String, id: String?) throws {
        let routes = try AppRoutes(pattern, "open")
        if let id {
            let action = try routes.action(link)
            #expect(action.name == "open")
            #expect(action.id?.text == id)
            #expect(routes.match(link).pattern?.text == pattern)
        } else {
            #expect(routes.rejection(link)?.reason == .unknownAction)
            #expect(routes.match(link).pattern == nil)
        }
    }

    @Test func theRouteOrACaptureNamesTheAction() throws {
        let routes = try AppRoutes([("myapp://do/{action}/{id}", nil), ("myapp://product/{number:int}", "open")])
        let named = try routes.action("myapp://do/Loading.show/x-1")
        #expect(named.name == "Loading.show")
        #expect(named.id?.text == "x-1")
        #expect(named.members.isEmpty)
        let fixed = try routes.action("myapp://product/42")
        #expect(fixed.name == "open")
        #expect(fixed.id == nil)
        #expect(fixed.members == ["number=42"])
    }

    @Test func theMostSpecificRouteWinsInAnyOrder() throws {
        let written: [(String, ActionName?)] = [
            ("myapp://product/new", "create"), ("myapp://product/{number:int}", "open"),
            ("myapp://product/{name}", "search"), ("myapp://product/{rest...}", "browse"),
        ]
        for order in [written, written.reversed()] {
            let routes = try AppRoutes(order)
            #expect(try routes.action("myapp://product/new").name == "create")
            #expect(try routes.action("myapp://product/42").name == "open")
            #expect(try routes.action("myapp://product/lamp").name == "search")
            #expect(try routes.action("myapp://product/lamp/blue").name == "browse")
        }
    }

    @Test(arguments: ["1st", "a%20b", "%C3%A9", "signalbox.stop", String(repeating: "a", count: 65)])
    func anInvalidActionNameIsMalformed(_ name: String) throws {
        let routes = try AppRoutes("myapp://do/{action}", nil)
        let rejection = try Missing.unwrap(routes.rejection("myapp://do/\(name)"))
        #expect(rejection.reason == .malformed)
        #expect(rejection.detail.contains("{action}"))
    }

    @Test func anIDOfMoreThan128BytesIsMalformed() throws {
        let routes = try AppRoutes("myapp://do/{id}", "do")
        let most = String(repeating: "i", count: ActionID.maximumLength)
        #expect(try routes.action("myapp://do/\(most)").id?.text == most)
        #expect(routes.rejection("myapp://do/\(most)i")?.reason == .malformed)
    }

    @Test func anUnreadableLinkIsMalformedWithItsPosition() throws {
        let routes = try AppRoutes("myapp://do/{id}", "do", once: false)
        for link in ["", "do", "//do/1", "https://a@do/1", "my app://do/1", "myapp://do/\u{1}", " myapp://do/1"] {
            let match = routes.match(link)
            #expect(match.facts == LinkFacts(scheme: "", universalHost: nil))
            #expect(routes.rejection(link)?.reason == .malformed)
            #expect(routes.rejection(link)?.detail.contains("at byte") == true)
        }
    }

    @Test func matchingALinkReturnsItsFacts() throws {
        let routes = try AppRoutes("myapp://do/{id}", "do")
        #expect(routes.match("MYAPP://x").facts == LinkFacts(scheme: "myapp", universalHost: nil))
        #expect(routes.match("https://A.example/").facts == LinkFacts(scheme: "https", universalHost: "a.example"))
        #expect(routes.match("http://a.example:81").facts == LinkFacts(scheme: "http", universalHost: "a.example:81"))
        #expect(routes.match("https://a.example:443").facts == LinkFacts(scheme: "https", universalHost: "a.example"))
        #expect(routes.match("wss://a.example").facts == LinkFacts(scheme: "wss", universalHost: nil))
    }

    @Test func aRejectionNamesOnlyTheSchemeAndHostOfALink() throws {
        let routes = try AppRoutes("myapp://do/{id}", "do")
        let rejection = try Missing.unwrap(routes.rejection("myapp://secret-host/secret-path?secret=1#secret"))
        #expect(
            rejection.detail
                == #"no route matches this link of scheme myapp and host "secret-host"; the nearest route is "myapp://do/{id}""#
        )
        let long = try Missing.unwrap(routes.rejection("myapp://" + String(repeating: "h", count: 5_000)))
        #expect(long.detail.utf8.count < 200)
        #expect(
            routes.rejection("myapp:x")?.detail
                == #"no route matches this link of scheme myapp and no host; the nearest route is "myapp://do/{id}""#
        )
    }

    @Test(arguments: [
        ("myapp://prodct/42", "myapp://product/{number:int}"), ("myapp://product/lamp", "myapp://product/{number:int}"),
        ("myapp:///product/42", "myapp://product/{number:int}"), ("myap://cart", "myapp://cart"),
        ("myapp://cart/1/2", "myapp://cart"), ("https://shop.exmple/product/1", "https://shop.example/product/{n}"),
        ("https://shop.example/", "https://shop.example/product/{n}"),
    ])
    func aLinkWithoutARouteNamesTheNearest(_ link: String, _ nearest: String) throws {
        let patterns = ["myapp://cart", "myapp://product/{number:int}", "https://shop.example/product/{n}"]
        let routes = try AppRoutes(patterns.map { AppRoute(try URLPattern($0), action: "open") })
        let detail = try Missing.unwrap(routes.rejection(link)).detail
        #expect(detail.hasSuffix("; the nearest route is \(nearest.debugDescription)"), "\(detail)")
    }

    @Test func aUserNameIsNamedAsTheReason() throws {
        let rejection = try Missing.unwrap(try AppRoutes("myapp://do/{id}", "do").rejection("myapp://me:secret@do/1"))
        #expect(rejection.reason == .unknownAction)
        #expect(rejection.detail.contains("with a user name, which no route reads"))
        #expect(!rejection.detail.contains("secret"))
    }
}

@Suite struct RouteErrorTests {
    private static func error(_ routes: [AppRoute]) -> AppSchemeError? {
        do {
            _ = try AppRoutes(routes)
            return nil
        } catch {
            return error
        }
    }

    private static func error(_ pattern: String, _ action: ActionName?, once: Bool = false) throws -> AppSchemeError? {
        error([AppRoute(try URLPattern(pattern), action: action, once: once)])
    }

    @Test func aPatternWithoutASchemeIsRefused() throws {
        let error = try Missing.unwrap(try Self.error("/product/{id}", "open"))
        #expect(error.code == .missingScheme)
        #expect(error.description.contains(#""/product/{id}""#))
    }

    @Test(
        arguments: [
            "javascript:{x...}", "JavaScript:{x...}", "data:{x...}", "file:///{x...}", "about:blank", "blob:{x...}",
            "intent://{x...}", "vbscript:{x...}", "content://{x...}", "filesystem:{x...}", "jar:{x...}",
            "view-source:{x...}",
        ])
    func aSchemeThatRunsCodeOrReadsFilesIsRefused(_ pattern: String) throws {
        #expect(try Self.error(pattern, "open")?.code == .forbiddenScheme)
    }

    @Test func aRouteMustNameItsActionExactlyOnce() throws {
        #expect(try Self.error("myapp://product/{id}", nil)?.code == .missingAction)
        #expect(try Self.error("myapp://{action}", "open")?.code == .conflictingAction)
        #expect(try Self.error("myapp://do?a={action}", "open")?.code == .conflictingAction)
        #expect(try Self.error("myapp://do?a={action}", nil) == nil)
        #expect(try Self.error("myapp://{action}", nil) == nil)
    }

    @Test func aOneTimeRouteCannotHaveAnIDCapture() throws {
        #expect(try Self.error("myapp://join/{id}", "join", once: true)?.code == .conflictingID)
        #expect(try Self.error("myapp://join?i={id}", "join", once: true)?.code == .conflictingID)
        #expect(try Self.error("myapp://join/{token}", "join", once: true) == nil)
    }

    @Test(
        arguments: [
            ("myapp://product/{id}", "myapp://product/{number}"), ("myapp://product/x", "MYAPP://Product/x"),
            ("myapp://product/x", "myapp://product/x/"), ("myapp://find?q={a}", "myapp://find"),
        ])
    func ambiguousRoutesAreRefusedAndNamed(_ one: String, other: String) throws {
        let routes = [one, other].map { try? AppRoute(URLPattern($0), action: "open") }.compactMap { $0 }
        let error = try Missing.unwrap(Self.error(routes))
        #expect(error.code == .ambiguousRoutes)
        #expect(error.description.contains(one))
        #expect(error.description.contains(other))
    }

    @Test func theNumberOfRoutesIsLimited() throws {
        #expect(Self.error([])?.code == .routeCount)
        let routes = try (0...AppRoutes.maximumRoutes).map {
            try AppRoute(URLPattern("myapp://x/\($0)"), action: "open")
        }
        #expect(Self.error(routes)?.code == .routeCount)
        #expect(try AppRoutes(Array(routes.dropLast())).action("myapp://x/9999").name == "open")
    }

    @Test func anErrorNamesItsRouteAndCode() throws {
        let error = try Missing.unwrap(try Self.error("myapp://product/{id}", nil))
        #expect(error.code.description == "missingAction")
        #expect(error.detail == #"route "myapp://product/{id}" names no action; use {action} or a fixed action"#)
    }
}

@Suite struct FallbackTests {
    private static func routes() throws -> AppRoutes {
        try AppRoutes(
            [("myapp://do/{action}", nil), ("https://shop.example/p/{id}", "open"), ("http://old.example:81/", "old")],
            fallback: "elsewhere"
        )
    }

    @Test(
        arguments: [
            "myapp://other/x?q=1#f", "myapp:x", "myapp:///", "https://shop.example/", "https://shop.example/p/1/2",
            "http://old.example:81/x",
        ])
    func unmatchedLinksOfKnownSchemesAndHostsFallBack(_ link: String) throws {
        let action = try Self.routes().action(link)
        #expect(action.name == "elsewhere")
        #expect(action.id == nil)
        #expect(action.members == ["url=\(try URLText(link).text)"])
    }

    @Test(
        arguments: [
            "other://do/x", "https://evil.example/p/1", "https://shop.example.evil.example/", "http://shop.example/",
            "https://shop.example:444/", "http://old.example/", "javascript:alert(1)", "file:///etc/passwd",
        ])
    func linksOfOtherSchemesAndHostsDoNotFallBack(_ link: String) throws {
        #expect(try Self.routes().rejection(link)?.reason == .unknownAction)
    }

    @Test func aMalformedMatchDoesNotFallBack() throws {
        #expect(try Self.routes().rejection("myapp://do/not%20a%20name")?.reason == .malformed)
        let items = (0...AppRoutes.maximumItems).map { "a\($0)=1" }.joined(separator: "&")
        #expect(try Self.routes().rejection("myapp://do/name?\(items)")?.reason == .malformed)
    }

    @Test func theFallbackBodyIsTheNormalizedLink() async throws {
        let settled = try await LinkTrial(try Self.routes()).deliver("MYAPP://other/a b?q=\"1\"")
        #expect(settled.action?.name == "elsewhere")
        #expect(settled.body == #"{"url":"myapp://other/a%20b?q=%221%22"}"#)
        #expect(settled.original == "MYAPP://other/a b?q=\"1\"")
    }
}

/// The table in `docs/links.md` matches the real results of links.
@Suite(.timeLimit(.minutes(10))) struct DocumentedLinksTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let pattern, action, link, result: String

        var testDescription: String { "\(pattern) \(link)" }
    }

    private static func rows() throws -> [Row] {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        let text = try String(contentsOf: folder.appendingPathComponent("docs/links.md"), encoding: .utf8)
        let section = text.components(separatedBy: "## From a link to an action")[1].components(separatedBy: "\n## ")[0]
        return section.components(separatedBy: "\n").filter { $0.hasPrefix("| `") }.map { line in
            let cells = line.components(separatedBy: "|").dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
            let plain = cells.map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "`")) }
            return Row(pattern: plain[0], action: plain[1], link: plain[2], result: cells[3])
        }
    }

    private static func sentence(_ settled: LinkTrial.Settled) -> String {
        guard let action = settled.action else { return "rejected: `\(settled.outcome.code)`" }
        let id = action.idKey == .id ? ", id `\(action.id)`" : ""
        return "`\(action.name)`\(id), body `\(settled.body ?? "")`"
    }

    @Test func documentedLinksMatchTheResults() async throws {
        let rows = try Self.rows()
        #expect(rows.count >= 20)
        for row in rows {
            let action = row.action.isEmpty ? nil : try ActionName(row.action)
            let settled = try await LinkTrial(try AppRoutes(row.pattern, action)).deliver(row.link)
            #expect(Self.sentence(settled) == row.result, "\(row.pattern) and \(row.link)")
        }
    }
}
