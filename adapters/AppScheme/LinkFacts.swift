public import SignalboxCore

/// What is known about a link that the system handed to the application. Any other application or page can have made it.
public struct LinkFacts: OriginFacts {
    /// `link`.
    public static let kind = "link"

    /// The URL's scheme, in lower case.
    public let scheme: String
    /// The host that vouches for a universal link, in lower case; `nil` for a link of an app's own scheme.
    public let universalHost: String?

    package init(scheme: String, universalHost: String?) {
        self.scheme = scheme
        self.universalHost = universalHost
    }
}
