import SignalboxRoutes

/// What `parse` was asked for.
struct ParseRequest: Sendable {
    let input: URLInput
    /// The file whose routes are asked.
    let routes: String?
    /// Which source of links of that file.
    let source: String?
    /// What relative URLs are resolved against.
    let base: URLText?
}
