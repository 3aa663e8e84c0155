public import NavigationChain
public import SignalboxRoutes

/// Collects what one kind of page is told, and builds what a web view keeps.
///
/// A value: a copy can be changed without changing the other. What is not set has a default, and nothing is checked before
/// ``build(url:)``. What runs in a page is chosen by named switches such as ``set(disableZoom:)``; script cannot be given.
///
/// ```swift
/// var configurator = BridgeConfigurator()
/// configurator.set(disableZoom: true)
/// configurator.add(handler: BridgeHandler("user"))
/// let configuration = try configurator.build(url: URLText("https://shop.example/"))
/// ```
public struct BridgeConfigurator: Sendable {
    /// The most handlers of one configuration.
    public static let maximumHandlers = 100
    /// The most origins of one configuration.
    public static let maximumOrigins = 100
    /// The most bytes of a title.
    public static let maximumTitleLength = 1_024
    /// The most bytes of what is added to the user agent.
    public static let maximumUserAgentSuffixLength = 256

    /// Whether pages are told to keep their scale; not by default.
    public private(set) var disablesZoom = false
    /// Whether a page's own title takes the place of ``title``; it does by default.
    public private(set) var overridesTitle = true
    /// What the screen is called; nothing by default.
    public private(set) var title: String?
    /// The chain that was set, or `nil`: ``build(url:)`` then makes one. To derive a chain from it, change and set it again.
    public private(set) var navigation: NavigationRouter?
    /// What is added to the user agent; nothing by default.
    public private(set) var userAgentSuffix: String?
    /// The origins that were set, or `nil`: ``build(url:)`` then takes the page's own.
    public private(set) var origins: [WebOrigin]?
    /// What pages may post to by name, in the order in which it was added; nothing by default.
    public private(set) var handlers: [BridgeHandler] = []

    /// A configurator that nothing was set in.
    public init() {}

    /// Whether pages are told to keep their scale: a `viewport` element of fixed scale, put into the page's main frame once
    /// its document was read. A page that changes its own `viewport` afterwards is followed by the engine.
    public mutating func set(disableZoom: Bool) {
        disablesZoom = disableZoom
    }

    /// Whether a page's own title takes the place of that of ``set(title:)``.
    public mutating func set(overrideTitleFromWebView: Bool) {
        overridesTitle = overrideTitleFromWebView
    }

    /// What the screen is called while no title of a page takes its place; at most ``maximumTitleLength`` bytes. `nil` takes
    /// an earlier one back.
    public mutating func set(title: String?) {
        self.title = title
    }

    /// Who decides what may be loaded, from the first page on. `nil` takes an earlier chain back, and ``build(url:)`` makes
    /// the one it says.
    public mutating func set(navigation: NavigationRouter?) {
        self.navigation = navigation
    }

    /// What the engine adds to what it calls itself to servers, such as `Shop/3.2`: printable ASCII (U+0020 to U+007E), 1 to
    /// ``maximumUserAgentSuffixLength`` bytes, without a space at either end, which HTTP drops (RFC 9110, section 5.5). `nil`
    /// takes an earlier one back.
    public mutating func set(userAgentSuffix: String?) {
        self.userAgentSuffix = userAgentSuffix
    }

    /// The origins whose pages get the bridge, at most ``maximumOrigins``. An empty list is a page without it; `nil` is the
    /// origin of the URL that is built for. What a page may call is not said by this, but by the plugins' access rules.
    public mutating func set(origins: [WebOrigin]?) {
        self.origins = origins
    }

    /// Lets pages post to a name; at most ``maximumHandlers``. One of the same identifier takes the place of the earlier in
    /// everything but its place: the earlier is removed, the new one is the last.
    public mutating func add(handler: BridgeHandler) {
        handlers.removeAll { $0.identifier == handler.identifier }
        handlers.append(handler)
    }

    /// What a web view is told about its pages, of which `url` is the first.
    ///
    /// Where no origins were set, pages of the URL's own origin get the bridge. Where no chain was set, one is made that
    /// loads pages of the URL's own origin, in any frame, and the empty documents that these put into frames of their own,
    /// and cancels everything else: another host, `http` in place of `https`, another port, another scheme, a download.
    ///
    /// - Throws: ``BridgeConfigurationError``: `tooManyHandlers`, `tooManyOrigins`, `invalidTitle`,
    ///   `invalidUserAgentSuffix`; `noOrigin` when the URL has no origin of its own, as that of a file or of a scheme of the
    ///   application has none, and the origins or the chain were not set; `invalidNavigation` when no chain can be made.
    public func build(url: URLText) throws(BridgeConfigurationError) -> BridgeConfiguration {
        try checkBounds()
        let origins = if let origins { origins } else { [try BridgeConfigurator.origin(of: url)] }
        let navigation = if let navigation { navigation } else { try BridgeConfigurator.chain(forPagesOf: url) }
        return BridgeConfiguration(
            url: url,
            navigation: navigation,
            origins: origins,
            handlers: handlers,
            disablesZoom: disablesZoom,
            overridesTitle: overridesTitle,
            title: title,
            userAgentSuffix: userAgentSuffix
        )
    }
}
