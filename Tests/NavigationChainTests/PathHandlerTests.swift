import NavigationChain
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@Suite struct PathHandlerTests {
    private let opened = EventList<String>()

    private func handler(
        _ patterns: String...,
        hosts: [String]? = ["shop.example"],
        kinds: Set<NavigationKind> = NavigationKind.followed
    ) throws -> PathHandler {
        let opened = opened
        return try PathHandler(name: "native", patterns: patterns, hosts: hosts, kinds: kinds) { request, captures in
            let values = captures.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
            opened.append(contentsOf: ["\(request.url.path) \(values)"])
        }
    }

    @Test func aMatchIsOpenedWithItsCapturesAndCancelled() async throws {
        let handler = try handler("/product/{id:int}", "/shop/{name}?from={source}")
        let product = try await handler.decide(try request("https://shop.example/product/42"))
        #expect(product == .cancel("opened natively: /product/{id:int}"))
        let shop = try await handler.decide(try request("https://shop.example/shop/caf%C3%A9?from=mail&x=1"))
        #expect(shop == .cancel("opened natively: /shop/{name}?from={source}"))
        #expect(opened.all == ["/product/42 id=42", "/shop/caf%C3%A9 name=café source=mail"])
    }

    @Test(arguments: [
        "https://shop.example/product/", "https://shop.example/product", "https://shop.example/product/4/2",
        "https://shop.example/product/x", "https://shop.example/a/product/42", "https://shop.example/product%2F42",
        "https://evil.tld/product/42", "https://shop.example.evil.tld/product/42", "myapp://shop.example/product/42",
        "ftp://shop.example/product/42", "https://shop.example/?/product/42", "https://shop.example/#/product/42",
    ])
    func unmatchedURLsArePassedOn(text: String) async throws {
        #expect(try await handler("/product/{id:int}").decide(try request(text)) == nil)
        #expect(opened.all.isEmpty)
    }

    @Test(arguments: [
        (["/pay/{more...}"], ["shop.example"]), (["https://shop.example/pay/{more...}"], nil),
    ])
    func aPathThatCannotBeReadDoesNotAvoidTheHandler(patterns: [String], hosts: [String]?) async throws {
        let handler = try PathHandler(name: "native", patterns: patterns, hosts: hosts) { _, _ in }
        let stray = NavigationRequest(
            url: try URLText("https://shop.example/pay/1%", paths: .lenient),
            kind: .link,
            frame: .main
        )
        #expect(try await handler.decide(stray)?.policy == .cancel)
    }

    @Test func aPathThatCannotBeReadOfAnotherHostIsPassedOn() async throws {
        let stray = NavigationRequest(
            url: try URLText("https://news.example/a%", paths: .lenient),
            kind: .link,
            frame: .main
        )
        for handler in [
            try handler("/pay/{id}"), try handler("https://shop.example/pay", "http://news.example/a", hosts: nil),
        ] {
            #expect(try await handler.decide(stray) == nil)
        }
    }

    @Test func patternsMayContainTheirHosts() async throws {
        let handler = try handler("https://shop.example/product/{id}", "myapp:product/{id}", hosts: nil)
        #expect(try await handler.decide(try request("https://shop.example/product/1"))?.policy == .cancel)
        #expect(try await handler.decide(try request("myapp:product/2"))?.policy == .cancel)
        #expect(try await handler.decide(try request("https://evil.tld/product/3")) == nil)
        #expect(try await handler.decide(try request("http://shop.example/product/4")) == nil)
        #expect(opened.all.count == 2)
    }

    @Test(arguments: NavigationKind.allCases, FrameRole.allCases)
    func onlyPageNavigationsAreOpenedNatively(kind: NavigationKind, frame: FrameRole) async throws {
        let decision = try await handler("/product/{id}")
            .decide(try request("https://shop.example/product/1", kind: kind, frame: frame))
        let isMeant = [.link, .redirect, .newWindow].contains(kind) && frame != .sub
        #expect((decision != nil) == isMeant)
        #expect(opened.all.count == (isMeant ? 1 : 0))
    }

    @Test func navigationKindsAreConfigurable() async throws {
        let handler = try handler("/product/{id}", kinds: [.form])
        #expect(try await handler.decide(try request("https://shop.example/product/1", kind: .form)) != nil)
        #expect(try await handler.decide(try request("https://shop.example/product/1", kind: .link)) == nil)
    }

    @Test func anUnreadableQueryCancelsTheNavigation() async throws {
        let router = try NavigationRouter(
            [try handler("/shop/{id}?from={source}")],
            fallback: .all,
            handlerDeadline: .patient
        )
        for query in ["from=a&from=b", "from=%FF", "from=%zz"] {
            let verdict = await router.decide("https://shop.example/shop/1?\(query)", kind: .link, frame: .main)
            #expect(verdict.policy == .cancel)
            #expect(verdict.decider == "native")
            #expect(verdict.reason.contains("URLTextError"))
        }
        #expect(opened.all.isEmpty)
    }

    @Test func aThrowingActionCancelsTheNavigation() async throws {
        struct NoScreen: Error {}
        let handler = try PathHandler(name: "native", patterns: ["https://shop.example/a"]) { _, _ in throw NoScreen() }
        let verdict = await (try NavigationRouter([handler], fallback: .all, handlerDeadline: .patient)).decide(
            try request("https://shop.example/a")
        )
        #expect(verdict.policy == .cancel)
        #expect(verdict.reason.contains("NoScreen"))
    }

    @Test func hostsMustBeGivenExactlyOnce() throws {
        #expect(code { _ = try handler("/product/{id}", hosts: nil) } == .invalidPattern)
        #expect(code { _ = try handler("https://shop.example/a", hosts: ["shop.example"]) } == .invalidPattern)
        #expect(code { _ = try handler("/a", "https://shop.example/a", hosts: nil) } == .invalidPattern)
        #expect(code { _ = try handler("/a", hosts: ["shop.example:80"]) } == .invalidHost)
        #expect(code { _ = try handler("/a", hosts: []) } == .invalidHost)
    }

    @Test func invalidPatternsAreRefused() throws {
        #expect(code { _ = try handler(hosts: nil) } == .invalidPattern)
        #expect(code { _ = try handler("product") } == .invalidPattern)
        #expect(code { _ = try handler("/{id") } == .invalidPattern)
        #expect(code { _ = try handler("/{id}", "/{name}") } == .invalidPattern)
        let many = (0...PathHandler.maximumPatterns).map { "https://shop.example/\($0)" }
        #expect(code { _ = try PathHandler(name: "native", patterns: many) { _, _ in } } == .invalidPattern)
    }
}

@Suite struct DeepLinkHandlerTests {
    private let offered = EventList<String>()

    private func handler(_ schemes: String..., opens: Bool = true) throws -> DeepLinkHandler {
        let offered = offered
        return try DeepLinkHandler(schemes: schemes) { url in
            offered.append(contentsOf: [url.text])
            return opens
        }
    }

    @Test func anOpenedLinkIsCancelled() async throws {
        let decision = try await handler("myapp").decide(try request("MYAPP://product/42?a=b"))
        #expect(decision == .cancel("opened natively: a deep link with the scheme myapp"))
        #expect(offered.all == ["myapp://product/42?a=b"])
    }

    @Test func aLinkThatIsNotOpenedIsPassedOn() async throws {
        #expect(try await handler("myapp", opens: false).decide(try request("myapp:product/42")) == nil)
        #expect(offered.all == ["myapp:product/42"])
    }

    @Test(arguments: ["https://shop.example/", "myapps:product/42", "xmyapp:product/42", "javascript:myapp:1"])
    func otherSchemesAreNotOffered(text: String) async throws {
        #expect(try await handler("myapp").decide(try request(text)) == nil)
        #expect(offered.all.isEmpty)
    }

    @Test func subframesCannotOpenDeepLinks() async throws {
        let handler = try handler("myapp")
        #expect(try await handler.decide(try request("myapp:pay", frame: .sub)) == nil)
        #expect(offered.all.isEmpty)
        #expect(try await handler.decide(try request("myapp:pay", frame: .unknown)) != nil)
    }

    @Test func anInvalidSchemeListIsRefused() throws {
        #expect(code { _ = try handler() } == .invalidScheme)
        #expect(code { _ = try handler("my app") } == .invalidScheme)
        #expect(code { _ = try handler("myapp", "javascript") } == .dangerousScheme)
        #expect(code { _ = try handler("intent") } == .dangerousScheme)
    }
}

@Suite struct ExternalBrowserHandlerTests {
    private let opened = EventList<String>()

    private func handler() throws -> ExternalBrowserHandler {
        let opened = opened
        return try ExternalBrowserHandler(ownHosts: ["shop.example", "*.shop.example"]) { url in
            opened.append(contentsOf: [url.text])
        }
    }

    @Test(arguments: [
        "https://other.example/a?b", "http://other.example/", "https://evilshop.example/",
        "https://shop.example.evil.tld/",
    ])
    func aForeignLinkOpensInTheBrowser(text: String) async throws {
        let decision = try await handler().decide(try request(text))
        #expect(decision?.policy == .cancel)
        #expect(decision?.reason.contains("opened in the browser") == true)
        #expect(opened.all == [text])
    }

    @Test(arguments: [
        "https://shop.example/", "https://www.shop.example/", "https://SHOP.example:8443/", "myapp://other.example/",
        "mailto:a@other.example", "ftp://other.example/", "javascript:open('https://other.example')",
    ])
    func ownHostsAndOtherSchemesArePassedOn(text: String) async throws {
        #expect(try await handler().decide(try request(text)) == nil)
        #expect(opened.all.isEmpty)
    }

    @Test(arguments: NavigationKind.allCases, FrameRole.allCases)
    func onlyLinksAndNewWindowsOpenTheBrowser(kind: NavigationKind, frame: FrameRole) async throws {
        let decision = try await handler().decide(try request("https://other.example/", kind: kind, frame: frame))
        let isMeant = kind == .newWindow || kind == .link && frame != .sub
        #expect((decision != nil) == isMeant)
        #expect(opened.all.count == (isMeant ? 1 : 0))
    }

    @Test func aBrowserFailureCancelsTheNavigation() async throws {
        struct NoBrowser: Error {}
        let handler = try ExternalBrowserHandler(ownHosts: ["shop.example"]) { _ in throw NoBrowser() }
        let verdict = await (try NavigationRouter([handler], fallback: .all, handlerDeadline: .patient))
            .decide(try request("https://other.example/"))
        #expect(verdict.policy == .cancel)
        #expect(verdict.reason.contains("NoBrowser"))
    }

    @Test func ownHostsMustBeValid() {
        #expect(code { _ = try ExternalBrowserHandler(ownHosts: []) { _ in } } == .invalidHost)
        #expect(code { _ = try ExternalBrowserHandler(ownHosts: ["https://shop.example"]) { _ in } } == .invalidHost)
    }
}

@Suite struct HomePageHandlerTests {
    private let opened = EventList<String>()

    private func handler(_ home: String = "https://shop.example/") throws -> HomePageHandler {
        let opened = opened
        return try HomePageHandler(home: try URLText(home)) { opened.append(contentsOf: ["home"]) }
    }

    @Test(arguments: [
        "https://shop.example/", "https://shop.example", "HTTPS://Shop.Example:443/", "https://shop.example/a/..",
    ])
    func theSitesRootIsOpenedAndCancelled(text: String) async throws {
        #expect(try await handler().decide(try request(text)) == .cancel("opened natively: the home page"))
        #expect(opened.all == ["home"])
    }

    @Test(arguments: [
        "https://shop.example/a", "https://shop.example//", "https://shop.example/?p=42", "https://shop.example/?",
        "https://shop.example/#/cart", "http://shop.example/", "https://shop.example:8443/",
        "https://www.shop.example/",
        "https://shop.example.evil.tld/", "https://evil.tld/", "https://evilshop.example/", "myapp://shop.example/",
        "wss://shop.example/",
    ])
    func otherPagesArePassedOn(text: String) async throws {
        #expect(try await handler().decide(try request(text)) == nil)
        #expect(opened.all.isEmpty)
    }

    @Test(arguments: NavigationKind.allCases, FrameRole.allCases)
    func onlyPageNavigationsOpenTheHomePage(kind: NavigationKind, frame: FrameRole) async throws {
        let decision = try await handler().decide(try request("https://shop.example/", kind: kind, frame: frame))
        #expect((decision != nil) == ([.link, .redirect, .newWindow].contains(kind) && frame != .sub))
    }

    @Test(arguments: [
        "https://shop.example/start", "https://shop.example/?", "https://shop.example/#", "myapp://home/", "file:///",
        "wss://shop.example/", "ftp://shop.example/",
    ])
    func theHomePageMustBeASiteRoot(text: String) {
        #expect(code { _ = try handler(text) } == .invalidHome)
    }
}
