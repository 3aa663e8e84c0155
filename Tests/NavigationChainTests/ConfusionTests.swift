import NavigationChain
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

/// Texts that imitate a page of `good.example` or disguise a script, and the chain's verdicts.
@Suite struct ConfusionTests {
    struct Trick: Sendable, CustomTestStringConvertible {
        let text: String
        let decider: String
        let reason: String

        init(_ text: String, _ decider: String, _ reason: String) {
            self.text = text
            self.decider = decider
            self.reason = reason
        }

        var testDescription: String { text.debugDescription }
    }

    private let browsed = EventList<String>()

    private func chain(fallback: NavigationDecision = .nothing) throws -> NavigationRouter {
        let browsed = browsed
        let note: @Sendable (URLText) -> Void = { browsed.append(contentsOf: [$0.text]) }
        return try NavigationRouter(fallback: fallback, handlerDeadline: .patient) {
            try SchemeHandler(allowing: ["https", "good"])
            try DeepLinkHandler(schemes: ["good"]) { url in
                note(url)
                return true
            }
            try HomePageHandler(home: URLText("https://good.example/")) { note(try URLText("https://good.example/")) }
            try PathHandler(name: "native", patterns: ["/product/{id}"], hosts: ["good.example"]) { request, _ in
                note(request.url)
            }
            try HostHandler(hosts: ["good.example", "*.good.example"])
        }
    }

    static let unreadable = [
        Trick("https://good.example@evil.example/", "url", "userinfo"),
        Trick("https://good.example:443@evil.example/", "url", "userinfo"),
        Trick("https://good.example%40evil.example/", "url", "ambiguousURL"),
        Trick("https:\\\\evil.example/", "url", "ambiguousURL"),
        Trick("https://evil.example\\@good.example/", "url", "ambiguousURL"),
        Trick("https://evil.example\\.good.example/", "url", "ambiguousURL"),
        Trick("https:evil.example", "url", "ambiguousURL"),
        Trick("https:/evil.example", "url", "ambiguousURL"),
        Trick("https:///evil.example/", "url", "ambiguousURL"),
        Trick("//evil.example/", "url", "missingScheme"),
        Trick("/product/42", "url", "missingScheme"),
        Trick("", "url", "empty"),
        Trick("java\tscript:alert(1)", "url", "controlCharacter"),
        Trick("java\nscript:alert(1)", "url", "controlCharacter"),
        Trick("\u{1}javascript:alert(1)", "url", "controlCharacter"),
        Trick(" javascript:alert(1)", "url", "surroundingSpace"),
        Trick("ht\ttps://good.example/", "url", "controlCharacter"),
        Trick("https://good.example/\u{0}", "url", "controlCharacter"),
        Trick("https://evil．example/", "url", "internationalHost"),
        Trick("https://good.example。evil.example/", "url", "internationalHost"),
        Trick("https://gооd.example/", "url", "internationalHost"),
        Trick("https://good.example\u{AD}/", "url", "internationalHost"),
        Trick("https://good.example./", "url", "invalidHost"),
        Trick("https://good.example%2eevil.example/", "url", "ambiguousURL"),
        Trick("https://good.example%00.evil.example/", "url", "ambiguousURL"),
        Trick("https://good.example%2f.evil.example/", "url", "ambiguousURL"),
        Trick("https://good.example^.evil.example/", "url", "invalidHost"),
        Trick("https://good.example:0x50/", "url", "invalidPort"),
        Trick("https://2130706433/", "url", "ambiguousURL"),
        Trick("https://0x7f.0.0.1/", "url", "ambiguousURL"),
        Trick("https://0177.0.0.1/", "url", "ambiguousURL"),
        Trick("https://127.1/", "url", "ambiguousURL"),
        Trick("https://good.example/a/%2e%2e/admin", "url", "ambiguousURL"),
        Trick("https://good.example/a/.%2E/admin", "url", "ambiguousURL"),
        Trick("https://good.example/%00", "url", "notUTF8"),
        Trick("https://good.example/%FF", "url", "notUTF8"),
        Trick("https://good.example/%zz", "url", "invalidEscape"),
    ]

    static let refused = [
        Trick("JaVaScRiPt:alert(1)", "scheme", "the scheme javascript"),
        Trick("javascript://good.example/%0Aalert(1)", "url", "notUTF8"),
        Trick("javascript://good.example/?%0Aalert(1)", "scheme", "the scheme javascript"),
        Trick("data:text/html,https://good.example/", "scheme", "the scheme data"),
        Trick("file://good.example/etc/passwd", "scheme", "the scheme file"),
        Trick("intent://good.example/#Intent;scheme=https;end", "scheme", "the scheme intent"),
        Trick("blob:https://good.example/1", "scheme", "the scheme blob"),
        Trick("view-source:https://good.example/", "scheme", "the scheme view-source"),
        Trick("about:blank", "scheme", "the scheme about"),
        Trick("http://good.example/", "scheme", "the scheme http "),
        Trick("httpsx://good.example/", "scheme", "the scheme httpsx"),
        Trick("https+x://good.example/", "scheme", "the scheme https+x"),
        Trick("https://evil.example/", "fallback", "no handler"),
        Trick("https://good.example.evil.example/", "fallback", "no handler"),
        Trick("https://evilgood.example/", "fallback", "no handler"),
        Trick("https://good.example-evil.example/", "fallback", "no handler"),
        Trick("https://evil.example/good.example/product/42", "fallback", "no handler"),
        Trick("https://evil.example/?https://good.example/", "fallback", "no handler"),
        Trick("https://evil.example/#@good.example/", "fallback", "no handler"),
        Trick("https://evil.example//good.example/", "fallback", "no handler"),
        Trick("https://xn--god-7cd.example/", "fallback", "no handler"),
        Trick("https://127.0.0.1/", "fallback", "no handler"),
        Trick("https://[::ffff:127.0.0.1]/", "fallback", "no handler"),
    ]

    @Test(arguments: unreadable)
    func ambiguousURLsAreCancelledByEveryChain(trick: Trick) async throws {
        let recording = RecordingHandler(name: "recording") { _ in .all }
        let open = try NavigationRouter([recording], fallback: .all)
        for router in [open, try chain(), try chain(fallback: .all)] {
            let verdict = await router.decide(trick.text, kind: .link, frame: .main)
            expect(trick, verdict)
            #expect(verdict.trace.map(\.name) == ["url"])
            #expect(verdict.trace.map(\.answer) == [.decided(verdict.decision)])
            #expect(verdict.url == nil)
        }
        #expect(recording.calls.all.isEmpty)
        #expect(browsed.all.isEmpty)
    }

    @Test(arguments: refused)
    func aConfusableURLIsCancelledAndTheTraceShowsTheHandler(trick: Trick) async throws {
        let verdict = await (try chain()).decide(trick.text, kind: .link, frame: .main)
        expect(trick, verdict)
        switch trick.decider {
        case "fallback": #expect(verdict.trace.allSatisfy { $0.answer == .passed } && verdict.trace.count == 5)
        default: #expect(verdict.trace.map(\.name) == [trick.decider])
        }
        #expect(browsed.all.isEmpty)
    }

    @Test(arguments: [
        "https://good.example/a", "HTTPS://GOOD.EXAMPLE/a", "https://good.example:443/a", "https://good.example:/a",
        "https://www.good.example/a", "https://good.example:8443/a", "https://good.example//a",
        "https://good.example/x/../a",
        "https://good.example/a?https://evil.example/", "https://good.example/@evil.example",
    ])
    func equivalentFormsOfAnAllowedURLAreAllowed(text: String) async throws {
        let verdict = await (try chain()).decide(text, kind: .link, frame: .main)
        #expect(verdict.policy == .allow)
        #expect(verdict.decider == "host")
        #expect(verdict.url?.host?.contains("good.example") == true)
    }

    @Test func onlyOwnURLsAreOpenedNatively() async throws {
        let chain = try chain()
        for (text, decider) in [
            ("https://GOOD.example:443/product/42", "native"), ("GOOD:product/42", "deepLink"),
            ("https://good.example", "homePage"),
        ] {
            let verdict = await chain.decide(text, kind: .link, frame: .main)
            #expect(verdict.policy == .cancel)
            #expect(verdict.decider == decider)
        }
        #expect(browsed.all == ["https://good.example/product/42", "good:product/42", "https://good.example/"])
    }

    private func expect(_ trick: Trick, _ verdict: NavigationVerdict) {
        #expect(verdict.policy == .cancel)
        #expect(verdict.decider == trick.decider, "\(verdict)")
        #expect((verdict.reason + " ").contains(trick.reason), "\(verdict)")
    }
}

/// The vectors of the WHATWG, which are not part of the repository.
@Suite struct NavigationCorpusTests {
    struct Vector: Decodable {
        let input: String
        let base: String?
        let failure: Bool?
        let protocolName, hostname, pathname: String?

        enum CodingKeys: String, CodingKey {
            case input, base, failure, hostname, pathname
            case protocolName = "protocol"
        }
    }

    @Test func allowedURLsReadLikeInABrowserEngine() async throws {
        guard let vectors = try Corpus.cases("url_app_scheme.dev.json", of: Vector.self) else { return }
        #expect(vectors.count >= 130)
        let router = try NavigationRouter([], fallback: .all)
        var allowed = 0
        for vector in vectors {
            let verdict = await router.decide(vector.input, kind: .link, frame: .main)
            guard verdict.policy != .cancel, let url = verdict.url else {
                #expect(verdict.decider == NavigationVerdict.byURL)
                continue
            }
            allowed += 1
            #expect(vector.failure != true, "\(vector.input)")
            #expect(url.scheme + ":" == vector.protocolName, "\(vector.input)")
            #expect(url.host ?? "" == vector.hostname, "\(vector.input)")
            #expect(url.path == vector.pathname, "\(vector.input)")
        }
        #expect(allowed > 30)
    }
}
