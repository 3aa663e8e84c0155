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

extension AccessRule {
    /// Links of a scheme of the application's own. Any page or other application can make one.
    ///
    /// - Parameters:
    ///   - scheme: such as `myapp`, without a colon, in any letter case. Not `https` or `http`: theirs are universal
    ///     links.
    ///   - source: the one source they must come through, or `nil` for every source of links.
    /// - Precondition: a link of this scheme can exist.
    public static func link(scheme: String, source: SourceName? = nil) -> AccessRule {
        let wanted = scheme.lowercasedASCII
        precondition(
            !LinkFacts.isUniversal(scheme: wanted) && LinkFacts.isScheme(wanted),
            "An access rule for links was given the scheme \(scheme.debugDescription); give it a scheme of the application's own, without a colon, as `myapp`. Links of https and http are universal links."
        )
        return link("link of scheme \(wanted)", source) { facts in
            facts.universalHost == nil && facts.scheme == wanted
        }
    }

    /// Links of `https` and `http` for exactly this host. The system hands them over because the host says that they
    /// are the application's; still any page can make one.
    ///
    /// - Parameters:
    ///   - host: such as `shop.example`, in any letter case, in its ASCII form (`xn--`), with `:port` where that is not
    ///     the scheme's own. A host below it is another host.
    ///   - source: the one source they must come through, or `nil` for every source of links.
    /// - Precondition: a link of this host can exist: no scheme, slash or path stands there.
    public static func universalLink(host: String, source: SourceName? = nil) -> AccessRule {
        let wanted = host.lowercasedASCII
        precondition(
            LinkFacts.isUniversalHost(wanted),
            "An access rule for universal links was given the host \(host.debugDescription); give it a host alone, in ASCII, as `shop.example`, with a port only where it is not the scheme's own."
        )
        return link("universal link of host \(wanted)", source) { $0.universalHost == wanted }
    }

    private static func link(
        _ description: String,
        _ source: SourceName?,
        permits: @escaping @Sendable (LinkFacts) -> Bool
    ) -> AccessRule {
        AccessRule(description, naming: LinkFacts.self, of: source, permits: permits)
    }
}

extension LinkFacts {
    fileprivate static func isScheme(_ text: String) -> Bool {
        (try? URLText("\(text):x"))?.scheme == text
    }

    fileprivate static func isUniversalHost(_ text: String) -> Bool {
        ["https", "http"].contains { scheme in
            (try? URLText("\(scheme)://\(text)")).map { LinkFacts($0).universalHost } == text
        }
    }
}

extension String {
    /// The text with ASCII letters in lower case; all else stays, so that nothing becomes ASCII that was not.
    var lowercasedASCII: String {
        String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
