/// Where a value that is not written into the configuration is kept.
enum ValueReference: Sendable, Hashable {
    /// An environment variable.
    case environment(String)
    /// A file whose first line it is.
    case file(String)
}
