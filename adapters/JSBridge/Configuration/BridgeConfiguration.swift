public import NavigationChain
public import SignalboxRoutes

/// What a web view is told about its pages. Made by a ``BridgeConfigurator`` alone, and never changed.
public struct BridgeConfiguration: Sendable {
    /// The page that is loaded first.
    public let url: URLText
    /// Who decides what may be loaded, from the first page on.
    public let navigation: NavigationRouter
    /// The origins whose pages get the bridge; another page, also one that a redirect led to, has none.
    public let origins: [WebOrigin]
    /// What pages may post to by name. Any action can be called by `signalbox.call`; who may is the plugins' access rules.
    public let handlers: [BridgeHandler]
    /// Whether the page is told to keep its scale.
    public let disablesZoom: Bool
    /// Whether ``PageHandle/title`` is the document's title, and not ``title``.
    public let overridesTitle: Bool
    /// What the screen is called as long as no document's title takes its place.
    public let title: String?
    /// Added to what the engine calls itself to servers.
    public let userAgentSuffix: String?
}
