public import SignalboxRoutes

/// One question: may this URL be loaded? Handlers read it; none can change it for the next.
public struct NavigationRequest: Sendable, Hashable {
    /// What would be loaded: the engine must open `URLText.text` and nothing else.
    public let url: URLText
    /// Why it would be loaded, as far as the engine tells.
    public let kind: NavigationKind
    /// Whether it is the page itself that would load it, as far as the engine tells.
    public let frame: FrameRole
    /// The page that asks, or `nil` where the engine does not tell or there is none, as with a first load.
    public let page: URLText?

    /// A question as an engine has it. What the engine does not tell is said to be unknown, never guessed.
    public init(url: URLText, kind: NavigationKind, frame: FrameRole, page: URLText? = nil) {
        self.url = url
        self.kind = kind
        self.frame = frame
        self.page = page
    }
}
