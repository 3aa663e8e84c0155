import SignalboxRoutes

/// What `bridge` was asked for.
struct BridgeRequest: Sendable {
    /// What the page runs in.
    let engine: BridgeEngineChoice
    /// The scripts to run, in this order; of an engine with documents one page: a file, a folder or a URL.
    let pages: [String]
    /// The origins whose pages get the bridge, besides the page's own.
    let origins: [WebOrigin]
    /// The configuration, where there is one.
    let config: String?
    /// Which of its script sources the page is.
    let source: String?
    /// The recorded run.
    let expect: String?
    /// When the page has to end.
    let timeout: Duration?
    /// After how many messages it ends.
    let count: Int?
}
