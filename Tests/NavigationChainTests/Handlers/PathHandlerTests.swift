import NavigationChain
import SignalboxRoutes
import SignalboxTesting
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
    func whatNoPatternMatchesIsPassedOn(text: String) async throws {
        #expect(try await handler("/product/{id:int}").decide(try request(text)) == nil)
        #expect(opened.all.isEmpty)
    }

    @Test func patternsMaySayThemselvesWhosePathsTheyAre() async throws {
        let handler = try handler("https://shop.example/product/{id}", "myapp:product/{id}", hosts: nil)
        #expect(try await handler.decide(try request("https://shop.example/product/1"))?.policy == .cancel)
        #expect(try await handler.decide(try request("myapp:product/2"))?.policy == .cancel)
        #expect(try await handler.decide(try request("https://evil.tld/product/3")) == nil)
        #expect(try await handler.decide(try request("http://shop.example/product/4")) == nil)
        #expect(opened.all.count == 2)
    }

    @Test(arguments: NavigationKind.allCases, FrameRole.allCases)
    func onlyWhereTheUserIsLedFromPageToPage(kind: NavigationKind, frame: FrameRole) async throws {
        let decision = try await handler("/product/{id}")
            .decide(try request("https://shop.example/product/1", kind: kind, frame: frame))
        let isMeant = [.link, .redirect, .newWindow].contains(kind) && frame != .sub
        #expect((decision != nil) == isMeant)
        #expect(opened.all.count == (isMeant ? 1 : 0))
    }

    @Test func theKindsCanBeChosen() async throws {
        let handler = try handler("/product/{id}", kinds: [.form])
        #expect(try await handler.decide(try request("https://shop.example/product/1", kind: .form)) != nil)
        #expect(try await handler.decide(try request("https://shop.example/product/1", kind: .link)) == nil)
    }

    @Test func aQueryThatCannotBeTrustedCancelsAndOpensNothing() async throws {
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

    @Test func anActionThatThrowsCancels() async throws {
        struct NoScreen: Error {}
        let handler = try PathHandler(name: "native", patterns: ["https://shop.example/a"]) { _, _ in throw NoScreen() }
        let verdict = await (try NavigationRouter([handler], fallback: .all, handlerDeadline: .patient)).decide(
            try request("https://shop.example/a")
        )
        #expect(verdict.policy == .cancel)
        #expect(verdict.reason.contains("NoScreen"))
    }

    @Test func whosePathsTheyAreMustBeClear() throws {
        #expect(code { _ = try handler("/product/{id}", hosts: nil) } == .invalidPattern)
        #expect(code { _ = try handler("https://shop.example/a", hosts: ["shop.example"]) } == .invalidPattern)
        #expect(code { _ = try handler("/a", "https://shop.example/a", hosts: nil) } == .invalidPattern)
        #expect(code { _ = try handler("/a", hosts: ["shop.example:80"]) } == .invalidHost)
        #expect(code { _ = try handler("/a", hosts: []) } == .invalidHost)
    }

    @Test func patternsThatCannotBeAreRefused() throws {
        #expect(code { _ = try handler(hosts: nil) } == .invalidPattern)
        #expect(code { _ = try handler("product") } == .invalidPattern)
        #expect(code { _ = try handler("/{id") } == .invalidPattern)
        #expect(code { _ = try handler("/{id}", "/{name}") } == .invalidPattern)
        let many = (0...PathHandler.maximumPatterns).map { "https://shop.example/\($0)" }
        #expect(code { _ = try PathHandler(name: "native", patterns: many) { _, _ in } } == .invalidPattern)
    }
}
