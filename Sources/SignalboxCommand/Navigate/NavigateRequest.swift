import NavigationChain

/// What `navigate` was asked for.
struct NavigateRequest: Sendable {
    let input: URLInput
    /// The configuration whose chain is asked.
    let config: String
    let kind: NavigationKind
    let frame: FrameRole
}
