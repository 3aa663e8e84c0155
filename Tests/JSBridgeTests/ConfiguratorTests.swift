import JSBridge
import NavigationChain
import SignalboxCore
import SignalboxRoutes
import Testing

/// The settings that a configurator collects, its defaults, and the settings that it refuses.
@Suite(.timeLimit(.minutes(10))) struct ConfiguratorTests {
    private let url: URLText

    init() throws {
        url = try URLText("https://shop.example/start")
    }

    private func code(
        _ text: String = "https://shop.example/start",
        _ change: (inout BridgeConfigurator) -> Void
    ) throws -> BridgeConfigurationError.Code? {
        var configurator = BridgeConfigurator()
        change(&configurator)
        let url = try URLText(text)
        do throws(BridgeConfigurationError) {
            _ = try configurator.build(url: url)
            return nil
        } catch {
            #expect(error.preset == "" && error.description.hasPrefix("page configuration: "))
            return error.code
        }
    }

    @Test func configuredSettingsReachThePage() throws {
        var configurator = BridgeConfigurator()
        configurator.set(disableZoom: true)
        configurator.set(overrideTitleFromWebView: false)
        configurator.set(title: "Shop")
        configurator.set(navigation: try NavigationRouter([], fallback: .allow("a trial")))
        configurator.set(userAgentSuffix: "Shop/3.2 (kiosk)")
        configurator.set(origins: [try WebOrigin("https://login.example")])
        configurator.add(handler: BridgeHandler("user", action: "shop.user"))
        let configuration = try configurator.build(url: url)
        #expect(configuration.url == url)
        #expect(configuration.disablesZoom && !configuration.overridesTitle)
        #expect(configuration.title == "Shop" && configuration.userAgentSuffix == "Shop/3.2 (kiosk)")
        #expect(configuration.navigation.fallback == .allow("a trial"))
        #expect(configuration.origins == [try WebOrigin("https://login.example")])
        #expect(configuration.handlers.map(\.action) == ["shop.user"])
    }

    @Test func addingAHandlerAgainReplacesItAndMovesItLast() throws {
        var configurator = BridgeConfigurator()
        for name in ["page", "user", "log"] as [ActionName] { configurator.add(handler: BridgeHandler(name)) }
        configurator.add(handler: BridgeHandler("user", action: "kiosk.user"))
        let handlers = try configurator.build(url: url).handlers
        #expect(handlers.map(\.identifier) == ["page", "log", "user"])
        #expect(handlers.map(\.action) == ["page", "log", "kiosk.user"])
    }

    @Test func changingACopyLeavesTheOriginalUnchanged() throws {
        var first = BridgeConfigurator()
        first.add(handler: BridgeHandler("page"))
        var second = first
        second.add(handler: BridgeHandler("user"))
        second.set(disableZoom: true)
        #expect(first.handlers == [BridgeHandler("page")] && !first.disablesZoom)
        #expect(second.handlers.count == 2 && second.disablesZoom)
    }

    @Test func nilRestoresTheDefault() throws {
        var configurator = BridgeConfigurator()
        configurator.set(title: "Shop")
        configurator.set(userAgentSuffix: "Shop/1")
        configurator.set(origins: [])
        configurator.set(navigation: try NavigationRouter([], fallback: .allow("a trial")))
        configurator.set(title: nil)
        configurator.set(userAgentSuffix: nil)
        configurator.set(origins: nil)
        configurator.set(navigation: nil)
        let configuration = try configurator.build(url: url)
        #expect(configuration.title == nil && configuration.userAgentSuffix == nil)
        #expect(configuration.origins == [try WebOrigin("https://shop.example")])
        #expect(configuration.navigation.handlerNames == ["scheme", "ownOrigin"])
    }

    // MARK: - Defaults

    @Test(arguments: [
        ("https://shop.example/product/42", NavigationKind.link, FrameRole.main, "allow by ownOrigin"),
        ("https://SHOP.example:443/", .other, .main, "allow by ownOrigin"),
        ("https://shop.example/pay", .form, .unknown, "allow by ownOrigin"),
        ("https://shop.example/help", .newWindow, .main, "allow by ownOrigin"),
        ("https://shop.example/frame", .other, .sub, "allow by ownOrigin"),
        ("about:srcdoc", .other, .unknown, "allow by scheme"),
        ("about:blank", .other, .sub, "allow by scheme"),
        ("about:blank", .other, .main, "cancel by scheme"),
        ("https://shop.example/price.pdf", .download, .main, "cancel by fallback"),
        ("http://shop.example/", .redirect, .main, "cancel by scheme"),
        ("https://shop.example:8443/", .link, .main, "cancel by fallback"),
        ("https://www.shop.example/", .redirect, .main, "cancel by fallback"),
        ("https://shop.example.evil.example/", .redirect, .main, "cancel by fallback"),
        ("https://shop.example@evil.example/", .link, .main, "cancel by url"),
        ("javascript:alert(1)", .link, .main, "cancel by scheme"),
        ("data:text/html,x", .other, .sub, "cancel by scheme"),
        ("shop:cart", .link, .main, "cancel by scheme"),
    ])
    func theDefaultChainLoadsOnlyThePagesOrigin(
        text: String,
        kind: NavigationKind,
        frame: FrameRole,
        expected: String
    ) async throws {
        let navigation = try BridgeConfigurator().build(url: url).navigation
        let verdict = await navigation.decide(text, kind: kind, frame: frame, page: url)
        #expect("\(verdict.policy) by \(verdict.decider)" == expected)
    }

    @Test func theOriginIncludesTheAddressAndThePort() async throws {
        let page = try URLText("http://[::1]:8080/")
        let configuration = try BridgeConfigurator().build(url: page)
        #expect(configuration.origins.map(\.description) == ["http://[::1]:8080"])
        let verdicts = [
            await configuration.navigation.decide("http://[0:0::1]:8080/x", kind: .link, frame: .main),
            await configuration.navigation.decide("http://[::1]/x", kind: .link, frame: .main),
        ]
        #expect(verdicts.map(\.policy) == [.allow, .cancel])
    }

    @Test(arguments: ["file:///srv/index.html", "shop://start", "data:text/html,x", "about:blank"])
    func aPageWithoutAnOriginNeedsExplicitOriginsAndNavigation(text: String) throws {
        let chain = try NavigationRouter([], fallback: .cancel("a trial"))
        #expect(try code(text) { _ in } == .noOrigin)
        #expect(try code(text) { $0.set(origins: []) } == .noOrigin)
        #expect(try code(text) { $0.set(navigation: chain) } == .noOrigin)
        let both = try code(text) { configurator in
            configurator.set(origins: [])
            configurator.set(navigation: chain)
        }
        #expect(both == nil)
    }

    // MARK: - Refused settings

    @Test(arguments: [
        ("Shop/3.2", true), ("a", true), (String(repeating: "a", count: 256), true), ("a (b; c) ~!", true),
        ("", false), (String(repeating: "a", count: 257), false), (" Shop", false), ("Shop ", false), (" ", false),
        ("Shop\r\nCookie: a=b", false), ("Shop\n", false), ("Shop\t1", false), ("Shop\u{0}", false),
        ("Shop\u{7F}", false), ("Käse/1", false), ("Shop/1\u{A0}", false),
    ])
    func theUserAgentSuffixIsPrintableASCII(text: String, isTaken: Bool) throws {
        #expect(try code { $0.set(userAgentSuffix: text) } == (isTaken ? nil : .invalidUserAgentSuffix))
    }

    @Test func aTitleIsBounded() throws {
        #expect(try code { $0.set(title: String(repeating: "ä", count: 512)) } == nil)
        #expect(try code { $0.set(title: String(repeating: "ä", count: 512) + "a") } == .invalidTitle)
    }

    @Test func handlersAndOriginsAreBounded() throws {
        let names = try (0...100).map { try ActionName("handler\($0)") }
        #expect(try code { for name in names.dropLast() { $0.add(handler: BridgeHandler(name)) } } == nil)
        #expect(try code { for name in names { $0.add(handler: BridgeHandler(name)) } } == .tooManyHandlers)
        let origins = try (0...100).map { try WebOrigin("https://host\($0).example") }
        #expect(try code { $0.set(origins: origins.dropLast()) } == nil)
        #expect(try code { $0.set(origins: origins) } == .tooManyOrigins)
    }

    @Test func anErrorNeverShowsTheQueryOfThePage() throws {
        let error = #expect(throws: BridgeConfigurationError.self) {
            try BridgeConfigurator().build(url: URLText("shop://start?token=canary"))
        }
        #expect(error?.description.contains("canary") == false)
        #expect(error?.description.contains("shop") == true)
    }
}
