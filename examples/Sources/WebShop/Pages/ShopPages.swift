import JSBridge
import NavigationChain
import SignalboxRoutes

/// The shop's kinds of page: what each may load, the order of its handlers, and how one derives from another.
struct ShopPages {
    let site: URLText
    /// Opens a link with the shop's own scheme, and returns whether that succeeded.
    let openLink: @Sendable (String) -> Bool
    /// Performs a page's request natively, represented by a printed line.
    let told: @Sendable (String) -> Void

    private var hosts: [String] { [site.host ?? ""] }

    /// The standard page: handlers `page` and `user`, a fixed title, and zoom enabled.
    func standard() throws -> BridgePreset {
        let chain = try NavigationRouter(
            [
                deepLinks(), homeTab(), screens(),
                PathHandler(name: "logout", patterns: ["/logout", "/sign_out"], hosts: hosts) { _, _ in
                    told("the user is logged out")
                },
                PathHandler(name: "about", patterns: ["/about"], hosts: hosts) { _, _ in
                    told("the screen about the shop")
                },
                ownPages(),
            ],
            fallback: .cancel("not a page of the shop")
        )
        return BridgePreset.default.deriving("default") { page in
            page.set(title: "Shop")
            page.set(overrideTitleFromWebView: false)
            page.set(userAgentSuffix: "WebShop/1.0")
            page.set(navigation: chain)
            page.add(handler: BridgeHandler("page"))
            page.add(handler: BridgeHandler("user"))
        }
    }

    /// The product page: the standard page with zoom disabled and the page's own title.
    func product() throws -> BridgePreset {
        try standard().deriving("product") { page in
            page.set(disableZoom: true)
            page.set(overrideTitleFromWebView: true)
        }
    }

    /// The payment page, which inherits nothing. Its verification handler comes first.
    func payment() throws -> BridgePreset {
        let verification = try PathHandler(name: "verification", patterns: ["/verify"], hosts: hosts) { _, _ in
            told("the screen that verifies a payment")
        }
        let chain = try NavigationRouter(
            [verification, deepLinks(), ownPages()],
            fallback: .cancel("a payment page allows no other URL")
        )
        return BridgePreset("payment") { page in
            page.set(navigation: chain)
            page.add(handler: BridgeHandler("page"))
        }
    }

    private func deepLinks() throws -> DeepLinkHandler {
        try DeepLinkHandler(schemes: ["shop"]) { url in openLink(url.text) }
    }

    private func homeTab() throws -> HomePageHandler {
        try HomePageHandler(home: site) { told("the first tab") }
    }

    private func screens() throws -> PathHandler {
        try PathHandler(name: "screens", patterns: ["/product/{id:int}", "/shop/{id:int}"], hosts: hosts) {
            request,
            _ in
            told("the native screen of \(request.url.path)")
        }
    }

    private func ownPages() throws -> HostHandler {
        let ports = site.port.map { HostPorts.only([$0]) } ?? .standard
        return try HostHandler(
            hosts: [site.host ?? ""],
            ports: ports,
            decision: .allow("a page of the shop"),
            name: "own"
        )
    }
}
