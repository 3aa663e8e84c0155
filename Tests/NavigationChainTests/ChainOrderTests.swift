import NavigationChain
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@Suite struct ChainOrderTests {
    private let chain: NavigationRouter

    init() throws {
        chain = try NavigationRouter(fallback: .nothing) {
            for name in ["one", "two", "three"] { RecordingHandler(name: name) }
        }
    }

    @Test func eachChangeReturnsANewChain() throws {
        let new = RecordingHandler(name: "new")
        #expect(try chain.inserting(new, before: "one").handlerNames == ["new", "one", "two", "three"])
        #expect(try chain.inserting(new, before: "three").handlerNames == ["one", "two", "new", "three"])
        #expect(try chain.inserting(new, after: "one").handlerNames == ["one", "new", "two", "three"])
        #expect(try chain.inserting(new, after: "three").handlerNames == ["one", "two", "three", "new"])
        #expect(try chain.inserting(new, at: 0).handlerNames == ["new", "one", "two", "three"])
        #expect(try chain.inserting(new, at: 3).handlerNames == ["one", "two", "three", "new"])
        #expect(try chain.appending(new).handlerNames == ["one", "two", "three", "new"])
        #expect(try chain.removing(named: "two").handlerNames == ["one", "three"])
        #expect(try chain.replacing(named: "two", with: new).handlerNames == ["one", "new", "three"])
        #expect(try chain.reordered(by: ["three", "one", "two"]).handlerNames == ["three", "one", "two"])
        #expect(chain.handlerNames == ["one", "two", "three"])
    }

    @Test func aReplacementMayHaveTheSameName() async throws {
        let replaced = try chain.replacing(named: "two", with: RecordingHandler(name: "two") { _ in .all })
        #expect(await replaced.decide(try request("https://shop.example/")).decider == "two")
        #expect(await chain.decide(try request("https://shop.example/")).decider == "fallback")
    }

    @Test func anUnknownNameIsRefused() {
        let new = RecordingHandler(name: "new")
        #expect(code { _ = try chain.inserting(new, before: "four") } == .unknownName)
        #expect(code { _ = try chain.inserting(new, after: "four") } == .unknownName)
        #expect(code { _ = try chain.removing(named: "four") } == .unknownName)
        #expect(code { _ = try chain.replacing(named: "four", with: new) } == .unknownName)
        #expect(code { _ = try chain.reordered(by: ["one", "two", "three", "four"]) } == .unknownName)
    }

    @Test func anOrderMustNameEachHandlerOnce() {
        #expect(code { _ = try chain.reordered(by: ["one", "two"]) } == .invalidOrder)
        #expect(code { _ = try chain.reordered(by: ["one", "two", "three", "one"]) } == .invalidOrder)
        #expect(code { _ = try chain.reordered(by: []) } == .invalidOrder)
    }

    @Test(arguments: [-1, 4, .max, .min])
    func aPositionOutsideTheChainIsRefused(position: Int) {
        #expect(code { _ = try chain.inserting(RecordingHandler(name: "new"), at: position) } == .invalidPosition)
    }

    @Test func duplicateNamesAreRefused() {
        #expect(code { _ = try chain.appending(RecordingHandler(name: "two")) } == .duplicateName)
        #expect(code { _ = try chain.replacing(named: "one", with: RecordingHandler(name: "two")) } == .duplicateName)
        #expect(
            code {
                _ = try NavigationRouter([RecordingHandler(name: "a"), ImmediateHandler(name: "a")], fallback: .all)
            } == .duplicateName
        )
    }

    @Test(arguments: [
        "", "fallback", "url", "caller", "a\nb", "\u{1B}[2J", "a\u{202E}b", String(repeating: "a", count: 129),
    ])
    func anInvalidHandlerNameIsRefused(name: String) {
        #expect(code { _ = try NavigationRouter([RecordingHandler(name: name)], fallback: .all) } == .invalidName)
    }

    @Test func theNumberOfHandlersIsLimited() throws {
        let names = (0..<NavigationRouter.maximumHandlers).map { "handler \($0)" }
        let full = try NavigationRouter(names.map { RecordingHandler(name: $0) }, fallback: .all)
        #expect(full.handlerNames == names)
        #expect(code { _ = try full.appending(RecordingHandler(name: "one more")) } == .tooManyHandlers)
    }

    @Test func theBuilderSupportsBranchesAndLoops() throws {
        func names(isShop: Bool) throws -> [String] {
            try NavigationRouter(fallback: .all) {
                if isShop { RecordingHandler(name: "shop") }
                if isShop {
                    RecordingHandler(name: "open")
                } else {
                    RecordingHandler(name: "closed")
                }
                for number in 1...2 { RecordingHandler(name: "\(number)") }
                [RecordingHandler(name: "a"), RecordingHandler(name: "b")]
            }.handlerNames
        }
        #expect(try names(isShop: true) == ["shop", "open", "1", "2", "a", "b"])
        #expect(try names(isShop: false) == ["closed", "1", "2", "a", "b"])
    }

    @Test func anErrorNamesTheHandlerInOneLine() throws {
        let error = try #require(throws: NavigationChainError.self) { try chain.removing(named: "four\n") }
        #expect(
            error.description
                == "navigation handler four\\u{a}: no handler has this name; the chain has one, two, three"
                + " [NavigationChainError.unknownName]"
        )
    }
}

/// Published chains of existing web views, in their original form.
@Suite struct ClassicChainTests {
    private let done = EventList<String>()

    private func note(_ what: String) { done.append(contentsOf: [what]) }

    private func decide(_ text: String, _ chain: NavigationRouter) async -> String {
        let verdict = await chain.decide(text, kind: .link, frame: .main)
        return "\(verdict.policy) by \(verdict.decider)"
    }

    // MARK: - A list of handlers

    private func path(_ name: String, _ paths: String...) throws -> PathHandler {
        let done = done
        return try PathHandler(name: name, patterns: paths, hosts: ["shop.example"]) { _, _ in
            done.append(contentsOf: [name])
        }
    }

    @Test func logoutAndAboutAreHandledAndTheRestIsAllowed() async throws {
        let chain = try NavigationRouter(fallback: .all, handlerDeadline: .patient) {
            try path("logout", "/logout", "/sign_out")
            try path("about", "/about")
        }
        #expect(await decide("https://shop.example/logout", chain) == "cancel by logout")
        #expect(await decide("https://shop.example/sign_out", chain) == "cancel by logout")
        #expect(await decide("https://shop.example/about", chain) == "cancel by about")
        #expect(await decide("https://shop.example/about/logout", chain) == "allow by fallback")
        #expect(await decide("https://shop.example/logout_of_everything", chain) == "allow by fallback")
        #expect(done.all == ["logout", "logout", "about"])
    }

    @Test func handlersCanBeAddedAndRemoved() async throws {
        let chain = try NavigationRouter([try path("about", "/about")], fallback: .all, handlerDeadline: .patient)
        let guarded = try chain.inserting(
            RecordingHandler(name: "guard") { _ in .cancel("signed out") },
            before: "about"
        )
        #expect(await decide("https://shop.example/about", guarded) == "cancel by guard")
        #expect(await decide("https://shop.example/about", try guarded.removing(named: "guard")) == "cancel by about")
        #expect(await decide("https://shop.example/", chain) == "allow by fallback")
    }

    // MARK: - A chain for each kind of page

    /// Returns a chain for deep links, the home page's tab, native screens and then the page itself.
    private func defaultChain() throws -> NavigationRouter {
        let done = done
        return try NavigationRouter(fallback: .allow("a page of the shop"), handlerDeadline: .patient) {
            try DeepLinkHandler(schemes: ["shop"]) { url in
                done.append(contentsOf: ["deep link \(url.path)"])
                return url.path != "unknown"
            }
            try HomePageHandler(home: URLText("https://shop.example/")) { done.append(contentsOf: ["tab 0"]) }
            try PathHandler(
                name: "native",
                patterns: ["/product/{product}", "/shop/{shop}"],
                hosts: ["shop.example"]
            ) { _, captures in
                done.append(contentsOf: captures.map { "\($0.name) \($0.value)" })
            }
        }
    }

    /// Returns a chain with the second factor of a payment first. It keeps only deep links of the default chain.
    private func paymentChain() throws -> NavigationRouter {
        let done = done
        return try NavigationRouter(fallback: .allow("a page of the payment"), handlerDeadline: .patient) {
            try path("payment", "/verify/{payment}")
            try DeepLinkHandler(schemes: ["shop"]) { url in
                done.append(contentsOf: ["deep link \(url.path)"])
                return true
            }
        }
    }

    @Test func theDefaultPageOpensNativeScreensAndAllowsOtherURLs() async throws {
        let chain = try defaultChain()
        #expect(chain.handlerNames == ["deepLink", "homePage", "native"])
        #expect(await decide("shop:cart", chain) == "cancel by deepLink")
        #expect(await decide("https://shop.example", chain) == "cancel by homePage")
        #expect(await decide("https://shop.example/product/42", chain) == "cancel by native")
        #expect(await decide("https://shop.example/shop/7", chain) == "cancel by native")
        #expect(await decide("https://shop.example/help", chain) == "allow by fallback")
        #expect(await decide("shop:unknown", chain) == "allow by fallback")
        #expect(done.all == ["deep link cart", "tab 0", "product 42", "shop 7", "deep link unknown"])
    }

    /// The classic method called its completion handler twice for these URLs. A returned decision is unique.
    @Test(arguments: ["https://shop.example/", "https://shop.example/product/42"])
    func aNativeActionRunsOnceWithOneVerdict(text: String) async throws {
        let verdict = await (try defaultChain()).decide(text, kind: .link, frame: .main)
        #expect(verdict.policy == .cancel)
        #expect(verdict.trace.filter { $0.answer != .passed }.count == 1)
        #expect(done.all.count == 1)
    }

    @Test func theProductPageIsDerivedFromTheDefault() async throws {
        let chain = try defaultChain().replacing(named: "native", with: try path("shops", "/shop/{shop}"))
        #expect(chain.handlerNames == ["deepLink", "homePage", "shops"])
        #expect(await decide("https://shop.example/product/42", chain) == "allow by fallback")
        #expect(await decide("https://shop.example/shop/7", chain) == "cancel by shops")
        #expect(await decide("https://shop.example/product/42", try defaultChain()) == "cancel by native")
    }

    @Test func thePaymentPageHasItsOwnChain() async throws {
        let chain = try paymentChain()
        #expect(chain.handlerNames == ["payment", "deepLink"])
        #expect(await decide("https://shop.example/verify/9", chain) == "cancel by payment")
        #expect(await decide("https://shop.example/", chain) == "allow by fallback")
        #expect(await decide("https://shop.example/product/42", chain) == "allow by fallback")
        #expect(done.all == ["payment"])
    }

    @Test func theOrderOfHandlersCanBeChanged() async throws {
        let chain = try NavigationRouter(fallback: .all, handlerDeadline: .patient) {
            RecordingHandler(name: "first") { _ in .cancel("first") }
            RecordingHandler(name: "second") { _ in .cancel("second") }
        }
        #expect(await decide("https://shop.example/", chain) == "cancel by first")
        #expect(
            await decide("https://shop.example/", try chain.reordered(by: ["second", "first"])) == "cancel by second"
        )
    }
}
