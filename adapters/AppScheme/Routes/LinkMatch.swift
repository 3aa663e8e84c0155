public import SignalboxCore
public import SignalboxRoutes

/// What the routes say about a link. Nothing has been done.
public struct LinkMatch: Sendable, Hashable {
    /// What is known about the link itself, for access rules.
    public let facts: LinkFacts
    /// The pattern of the route that matched, or `nil` when none did.
    public let pattern: URLPattern?
    /// The action that the link is, or why it is none: `malformed` when it cannot be read, `unknownAction` when no
    /// route matches and there is no fallback.
    public let reading: Result<LinkAction, Outcome.Rejection>

    init(facts: LinkFacts, pattern: URLPattern? = nil, reading: Result<LinkAction, Outcome.Rejection>) {
        self.facts = facts
        self.pattern = pattern
        self.reading = reading
    }
}
