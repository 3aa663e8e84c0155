import NavigationChain
import SignalboxRoutes

extension BridgeConfigurator {
    func checkBounds() throws(BridgeConfigurationError) {
        guard handlers.count <= BridgeConfigurator.maximumHandlers else {
            let detail =
                "a page has at most \(BridgeConfigurator.maximumHandlers) handlers; these are \(handlers.count)"
            throw BridgeConfigurationError(.tooManyHandlers, detail)
        }
        guard (origins ?? []).count <= BridgeConfigurator.maximumOrigins else {
            let detail = "the bridge is for at most \(BridgeConfigurator.maximumOrigins) origins"
            throw BridgeConfigurationError(.tooManyOrigins, detail)
        }
        if let title { try BridgeConfigurator.check(title: title) }
        if let userAgentSuffix { try BridgeConfigurator.check(userAgentSuffix: userAgentSuffix) }
    }

    private static func check(title: String) throws(BridgeConfigurationError) {
        guard title.utf8.count <= maximumTitleLength else {
            throw BridgeConfigurationError(.invalidTitle, "a title has at most \(maximumTitleLength) bytes")
        }
    }

    private static func check(userAgentSuffix suffix: String) throws(BridgeConfigurationError) {
        let isBounded = (1...maximumUserAgentSuffixLength).contains(suffix.utf8.count)
        let isPrintable = suffix.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        let space = UInt8(ascii: " ")
        guard isBounded, isPrintable, suffix.utf8.first != space, suffix.utf8.last != space else {
            let detail =
                "what is added to the user agent is 1 to \(maximumUserAgentSuffixLength) printable ASCII characters "
                + "without a space at either end, such as Shop/3.2; use nil to add nothing"
            throw BridgeConfigurationError(.invalidUserAgentSuffix, detail)
        }
    }

    static func origin(of url: URLText) throws(BridgeConfigurationError) -> WebOrigin {
        guard let origin = url.origin else {
            let detail =
                "a page at a URL of the scheme \(url.scheme) has no origin of its own; "
                + "say with set(origins:) who gets the bridge, and with set(navigation:) what may be loaded"
            throw BridgeConfigurationError(.noOrigin, detail)
        }
        return origin
    }

    /// The chain of a page that nobody made one for.
    static func chain(forPagesOf url: URLText) throws(BridgeConfigurationError) -> NavigationRouter {
        let origin = try origin(of: url)
        do throws(NavigationChainError) {
            // The first allows the empty documents of frames, which have no origin.
            let handlers: [any NavigationHandler] = [
                try SchemeHandler(allowing: [origin.scheme]), OwnOriginHandler(origin: origin),
            ]
            return try NavigationRouter(handlers, fallback: .cancel("no page of \(origin)"))
        } catch {
            throw BridgeConfigurationError(.invalidNavigation, "\(error); set a chain with set(navigation:)")
        }
    }
}
