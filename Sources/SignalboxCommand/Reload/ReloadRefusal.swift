/// Everything that keeps a new configuration from being taken over.
struct ReloadRefusal: Error, Sendable, Hashable {
    /// At least one.
    let problems: [ReloadProblem]
}
