/// What `bridge` was asked for.
struct BridgeRequest: Sendable {
    /// The files to run, in this order.
    let scripts: [String]
    /// The configuration, where there is one.
    let config: String?
    /// Which of its script sources the page is.
    let source: String?
    /// The recorded run.
    let expect: String?
    /// When the page has to end.
    let timeout: Duration?
}
