public import SignalboxCore
import SignalboxRoutes

/// The origin of a link that the system passed to the application.
///
/// Any page or any other application can have created the link, so a plugin receives it only if an access rule names it
/// explicitly.
public struct LinkFacts: UntrustedOrigin {
    /// The kind of these facts: `link`.
    public static let kind = "link"

    /// The scheme of the URL in lower case. It is empty if the link could not be parsed.
    public let scheme: String
    /// The host of a universal link (`https` or `http`) in lower case, with its port unless that is the default port of
    /// the scheme. `nil` for a link with a custom scheme. The host vouches for the application.
    public let universalHost: String?

    package init(scheme: String, universalHost: String?) {
        self.scheme = scheme
        self.universalHost = universalHost
    }

    /// The facts of a link that cannot be parsed.
    static let unreadable = LinkFacts(scheme: "", universalHost: nil)

    init(_ url: URLText) {
        scheme = url.scheme
        guard LinkFacts.isUniversal(scheme: scheme), let host = url.host else {
            universalHost = nil
            return
        }
        universalHost = url.port.map { "\(host):\($0)" } ?? host
    }

    /// Returns whether links of the scheme are universal links.
    package static func isUniversal(scheme: String) -> Bool {
        scheme == "https" || scheme == "http"
    }

    /// Returns the host of a universal link in normal form. The text is a host with an optional port, and for any other
    /// text the result is `nil`.
    package static func universalHost(_ text: String) -> String? {
        guard let url = try? URLText("https://\(text)"), url.path == "/", url.query == nil, url.fragment == nil,
            !text.hasSuffix("/")
        else { return nil }
        return LinkFacts(url).universalHost
    }
}

extension AccessRule {
    /// A rule that permits links with one of the application's custom schemes. Any page and any other application can
    /// create such a link, so the plugin must treat it as untrusted.
    ///
    /// - Parameters:
    ///   - scheme: The scheme without a colon, such as `myapp`, in any letter case. It must not be `https` or `http`,
    ///     whose links are universal links.
    ///   - source: The only source to permit, or `nil` for every source of links.
    /// - Precondition: A link with this scheme can exist.
    public static func link(scheme: String, source: SourceName? = nil) -> AccessRule {
        let wanted = scheme.lowercasedASCII
        precondition(
            !LinkFacts.isUniversal(scheme: wanted) && LinkFacts.isScheme(wanted),
            "an access rule for links was given the scheme \(scheme.debugDescription); use a scheme of the application, without a colon, such as `myapp`; links of https and http are universal links"
        )
        return AccessRule("link of scheme \(wanted)", naming: LinkFacts.self, of: source) { facts in
            facts.universalHost == nil && facts.scheme == wanted
        }
    }

    /// A rule that permits links of `https` and `http` for exactly this host. The system delivers such links because
    /// the host vouches for the application, but any page can still create one.
    ///
    /// - Parameters:
    ///   - host: The host, such as `shop.example`, in any letter case and in ASCII form (`xn--`). Add `:port` if the
    ///     port is not the default of the scheme. The rule does not include subdomains.
    ///   - source: The only source to permit, or `nil` for every source of links.
    /// - Precondition: A link with this host can exist, so the text has no scheme, slash or path.
    public static func universalLink(host: String, source: SourceName? = nil) -> AccessRule {
        let wanted = host.lowercasedASCII
        precondition(
            LinkFacts.isUniversalHost(wanted),
            "an access rule for universal links was given the host \(host.debugDescription); use a host alone, in ASCII, such as `shop.example`, with a port only if it is not the scheme's default"
        )
        return AccessRule("universal link of host \(wanted)", naming: LinkFacts.self, of: source) {
            $0.universalHost == wanted
        }
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
    /// The text with its ASCII letters in lower case. Other letters stay unchanged, because Unicode could turn some of
    /// them into ASCII letters.
    var lowercasedASCII: String {
        String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
