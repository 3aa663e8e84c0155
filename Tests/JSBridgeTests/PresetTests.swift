import JSBridge
import NavigationChain
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

/// Presets of pages. One derives from another, and each has its own navigation chain.
@Suite(.timeLimit(.minutes(10))) struct PresetTests {
    private func decide(_ text: String, _ preset: BridgePreset, from url: String) async throws -> String {
        let configuration = try preset.configuration(url: URLText(url))
        let verdict = await configuration.navigation.decide(text, kind: .link, frame: .main, page: configuration.url)
        return "\(verdict.policy) by \(verdict.decider)"
    }

    @Test func theLibrarysDefaultStaysWithinThePagesOrigin() throws {
        let url = try URLText("https://shop.example:8443/start?from=mail")
        let configuration = try BridgePreset.default.configuration(url: url)
        #expect(BridgePreset.default.name == "default")
        #expect(configuration.url == url)
        #expect(configuration.origins == [try WebOrigin("https://shop.example:8443")])
        #expect(configuration.handlers == [])
        #expect(configuration.navigation.handlerNames == ["scheme", "ownOrigin"])
        #expect(!configuration.disablesZoom && configuration.overridesTitle)
        #expect(configuration.title == nil && configuration.userAgentSuffix == nil)
    }

    @Test(arguments: [
        ("shop:cart", "cancel by deepLink", "link cart"),
        ("shop:unknown", "cancel by fallback", "link unknown"),
        ("https://shop.example", "cancel by homePage", "tab 0"),
        ("https://shop.example/product/42", "cancel by native", "product 42"),
        ("https://shop.example/product/soap", "allow by pages", nil),
        ("https://shop.example/shop/7", "cancel by native", "shop 7"),
        ("https://shop.example/help", "allow by pages", nil),
        ("https://shop.example:8443/help", "cancel by fallback", nil),
        ("https://shop.example.evil.example/", "cancel by fallback", nil),
        ("https://pay.example/", "cancel by fallback", nil),
        ("javascript:alert(1)", "cancel by fallback", nil),
    ])
    func theDefaultPageOpensNativeURLsAndLoadsOthers(text: String, verdict: String, opened: String?) async throws {
        let shop = try ShopPresets()
        #expect(try await decide(text, shop.default, from: "https://shop.example/") == verdict)
        #expect(shop.opened.all == [opened].compactMap(\.self))
        // The presets do not differ in the chain.
        #expect(try await decide(text, shop.product, from: "https://shop.example/product/1") == verdict)
    }

    @Test(arguments: [
        ("https://pay.example/verify/9", "cancel by verification", "verify 9"),
        ("https://pay.example/card", "allow by pages", nil),
        ("shop:cart", "cancel by deepLink", "link cart"),
        ("https://shop.example/", "cancel by fallback", nil),
        ("https://shop.example/product/42", "cancel by fallback", nil),
    ])
    func thePaymentPageCallsItsVerificationHandlerFirst(text: String, verdict: String, opened: String?) async throws {
        let shop = try ShopPresets()
        #expect(try await decide(text, shop.payment, from: "https://pay.example/card") == verdict)
        #expect(shop.opened.all == [opened].compactMap(\.self))
    }

    @Test func theProductPageDisablesZoomAndUsesThePagesTitle() throws {
        let shop = try ShopPresets()
        let page = try shop.default.configuration(url: URLText("https://shop.example/"))
        let product = try shop.product.configuration(url: URLText("https://shop.example/product/1"))
        #expect(product.disablesZoom && !page.disablesZoom)
        #expect(product.overridesTitle && !page.overridesTitle)
        #expect(product.handlers == page.handlers && page.handlers == [BridgeHandler("page"), BridgeHandler("user")])
        #expect(product.title == "Shop")
        #expect(product.navigation.handlerNames == ["deepLink", "homePage", "native", "pages"])
    }

    @Test func thePaymentPageInheritsNothing() throws {
        let payment = try ShopPresets().payment.configuration(url: URLText("https://pay.example/card"))
        #expect(payment.handlers == [])
        #expect(payment.title == nil && payment.overridesTitle && !payment.disablesZoom)
        #expect(payment.origins == [try WebOrigin("https://pay.example")])
        #expect(payment.navigation.handlerNames == ["verification", "deepLink", "pages"])
    }

    @Test func aDerivedPresetChangesOnlyItsOwnChain() throws {
        let shop = try ShopPresets()
        let help = try shop.default.deriving("help") { page in
            page.set(navigation: try page.navigation?.removing(named: "native"))
        }
        let url = try URLText("https://shop.example/help")
        #expect(try help.configuration(url: url).navigation.handlerNames == ["deepLink", "homePage", "pages"])
        #expect(try shop.default.configuration(url: url).navigation.handlerNames.contains("native"))
    }

    @Test func aDerivedPresetReplacesAHandlerOnlyForItself() throws {
        let base = BridgePreset("base") { page in
            page.add(handler: BridgeHandler("page"))
            page.add(handler: BridgeHandler("user"))
        }
        let derived = base.deriving("derived") { $0.add(handler: BridgeHandler("page", action: "productPage")) }
        let url = try URLText("https://shop.example/")
        let handlers = try derived.configuration(url: url).handlers
        #expect(handlers == [BridgeHandler("user"), BridgeHandler("page", action: "productPage")])
        #expect(try base.configuration(url: url).handlers == [BridgeHandler("page"), BridgeHandler("user")])
    }

    @Test func errorsOfAChangeAreRethrown() {
        #expect(throws: NavigationChainError.self) {
            _ = try BridgePreset.default.deriving("broken") { page in
                page.set(navigation: try NavigationRouter([], fallback: .cancel("")).removing(named: "nobody"))
            }
        }
    }

    @Test func anErrorNamesThePreset() throws {
        let preset = BridgePreset("a\nb") { $0.set(userAgentSuffix: "") }
        let error = #expect(throws: BridgeConfigurationError.self) {
            try preset.configuration(url: URLText("https://shop.example/"))
        }
        #expect(error?.preset == "a\nb")
        #expect(error?.code == .invalidUserAgentSuffix)
        #expect(error?.description.hasPrefix("page preset a\\u{a}b: the user agent suffix") == true)
    }
}

/// A shop's three kinds of page: the default, a product's with few changes, and a payment's, which inherits nothing.
struct ShopPresets {
    /// The targets opened natively, in order.
    let opened = EventList<String>()
    let `default`: BridgePreset
    let product: BridgePreset
    let payment: BridgePreset

    init() throws {
        let opened = opened
        let open: @Sendable (String) -> Void = { opened.append(contentsOf: [$0]) }
        let deepLink = try DeepLinkHandler(schemes: ["shop"]) { url in
            open("link \(url.path)")
            return url.path != "unknown"
        }
        let pages = try HostHandler(hosts: ["shop.example"], ports: .standard, name: "pages")
        `default` = try BridgePreset.default.deriving("shop") { page in
            page.add(handler: BridgeHandler("page"))
            page.add(handler: BridgeHandler("user"))
            page.set(overrideTitleFromWebView: false)
            page.set(title: "Shop")
            page.set(
                navigation: try NavigationRouter(
                    fallback: .cancel("no page of the shop"),
                    handlerDeadline: .seconds(600)
                ) {
                    deepLink
                    try HomePageHandler(home: URLText("https://shop.example/")) { open("tab 0") }
                    try PathHandler(
                        name: "native",
                        patterns: ["/product/{product:int}", "/shop/{shop}"],
                        hosts: ["shop.example"]
                    ) { _, captures in open(captures.map { "\($0.name) \($0.value)" }.joined()) }
                    pages
                }
            )
        }
        product = `default`.deriving("product") { page in
            page.set(disableZoom: true)
            page.set(overrideTitleFromWebView: true)
        }
        payment = try BridgePreset("payment") { page in
            page.set(
                navigation: try NavigationRouter(
                    fallback: .cancel("not during a payment"),
                    handlerDeadline: .seconds(600)
                ) {
                    try PathHandler(name: "verification", patterns: ["https://pay.example/verify/{payment}"]) {
                        _,
                        captures in
                        open("verify \(captures["payment"] ?? "")")
                    }
                    deepLink
                    try HostHandler(hosts: ["pay.example"], ports: .standard, name: "pages")
                }
            )
        }
    }
}
