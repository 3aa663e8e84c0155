/// What a handler, or a chain's fallback, decides, and why.
public struct NavigationDecision: Sendable, Hashable {
    /// What shall be done.
    public let policy: NavigationPolicy
    /// Why, in words for a log. It is told to no page, and may be of any length; ``NavigationVerdict/description`` cuts it.
    public let reason: String

    /// A decision whose policy is not known when the program is written, as when it comes from a configuration.
    public init(_ policy: NavigationPolicy, reason: String) {
        self.policy = policy
        self.reason = reason
    }

    /// The URL is loaded and shown.
    public static func allow(_ reason: String) -> NavigationDecision {
        NavigationDecision(.allow, reason: reason)
    }

    /// Nothing is loaded, also because something else was done instead.
    public static func cancel(_ reason: String) -> NavigationDecision {
        NavigationDecision(.cancel, reason: reason)
    }

    /// The URL is loaded and stored.
    public static func download(_ reason: String) -> NavigationDecision {
        NavigationDecision(.download, reason: reason)
    }
}

extension NavigationDecision: CustomStringConvertible {
    /// Policy and reason in one line: control characters are escaped, and a long reason is cut.
    public var description: String { "\(policy): \(LineText.line(reason))" }
}
