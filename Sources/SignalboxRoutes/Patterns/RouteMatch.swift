/// What a ``RouteTable`` found for a URL.
public struct RouteMatch<Value: Sendable>: Sendable {
    /// The most specific of the patterns that match.
    public let pattern: URLPattern
    /// What the table holds for it.
    public let value: Value
    /// What the pattern names in the URL's host and path; its query is asked for with
    /// ``URLPattern/queryValues(of:)``.
    public let captures: RouteCaptures

    init(pattern: URLPattern, value: Value, captures: RouteCaptures) {
        self.pattern = pattern
        self.value = value
        self.captures = captures
    }
}
