public import SignalboxCore
import SignalboxRoutes

/// What is known about a link that the system handed to the application. Any other application or page can have made
/// it, so an access rule must name it.
public struct LinkFacts: LeastTrustedFacts {
    /// `link`.
    public static let kind = "link"

    /// The URL's scheme, in lower case; empty when the link could not be read.
    public let scheme: String
    /// The host that vouches for a universal link - one of `https` or `http` - in lower case, with its port where that
    /// is not the scheme's own; `nil` for a link of an app's own scheme.
    public let universalHost: String?

    package init(scheme: String, universalHost: String?) {
        self.scheme = scheme
        self.universalHost = universalHost
    }

    /// What is known about a link that cannot be read.
    static let unreadable = LinkFacts(scheme: "", universalHost: nil)

    init(_ url: URLText) {
        scheme = url.scheme
        guard LinkFacts.isUniversal(scheme: scheme), let host = url.host else {
            universalHost = nil
            return
        }
        universalHost = url.port.map { "\(host):\($0)" } ?? host
    }

    static func isUniversal(scheme: String) -> Bool {
        scheme == "https" || scheme == "http"
    }
}
