import NavigationChain
import SignalboxCore
import SignalboxRoutes

@testable import JSBridge

extension WebViewConfiguration {
    /// Pages of `https://app.example` and `https://other.example:8443`, with the handlers `page` and `user`; the latter
    /// calls the action `greet`.
    static func testing(
        router: NavigationRouter? = nil,
        title: String? = nil,
        overridesTitle: Bool = false,
        disablesZoom: Bool = false
    ) throws -> WebViewConfiguration {
        let page = BridgeConfiguration(
            url: try URLText("https://app.example/"),
            navigation: try router ?? NavigationRouter([], fallback: .allow("a test")),
            origins: [try WebOrigin("https://app.example"), try WebOrigin("https://other.example:8443")],
            handlers: [BridgeHandler("page"), BridgeHandler("user", action: "greet")],
            disablesZoom: disablesZoom,
            overridesTitle: overridesTitle,
            title: title,
            userAgentSuffix: nil
        )
        return WebViewConfiguration(source: "page", page: page)
    }
}
