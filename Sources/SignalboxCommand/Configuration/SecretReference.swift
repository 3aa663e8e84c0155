/// Where a secret is kept. The configuration never holds the secret itself.
enum SecretReference: Sendable, Hashable {
    /// An environment variable.
    case environment(String)
    /// A file whose first line it is.
    case file(String)
}
