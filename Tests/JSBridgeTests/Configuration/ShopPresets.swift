import JSBridge
import NavigationChain
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting

/// The three kinds of page of a shop: the default, a product's, which differs in little, and a payment's, which inherits
/// nothing.
struct ShopPresets {
    /// What was opened natively, in order.
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
