public import SignalboxCore
import SignalboxRoutes

/// The origin of a link that the system passed to the application.
///
/// Any page or application may have created the link, so a plugin receives it only if the plugin's access rule
/// explicitly names links.
public struct LinkFacts: UntrustedOrigin, Decodable {
    /// The kind of these facts: `link`.
    public static let kind = "link"

    /// The URL's scheme in lower case, or an empty string if the link could not be parsed.
    public let scheme: String
    /// The host of a universal link (`https` or `http`) in lower case, including the port if it is not the scheme's
    /// default port. The system delivers such links because the host vouches for the application.
    ///
    /// This property is `nil` for links with a custom scheme.
    public let universalHost: String?

    package init(scheme: String, universalHost: String?) {
        self.scheme = scheme
        self.universalHost = universalHost
    }

    /// The facts for a link that cannot be parsed.
    static let unreadable = LinkFacts(scheme: "", universalHost: nil)

    init(_ url: URLText) {
        scheme = url.scheme
        guard LinkFacts.isUniversal(scheme: scheme), let host = url.host else {
            universalHost = nil
            return
        }
        universalHost = url.port.map { "\(host):\($0)" } ?? host
    }

    /// Returns whether links with this scheme are universal links.
    package static func isUniversal(scheme: String) -> Bool {
        scheme == "https" || scheme == "http"
    }

    /// Returns the normal form of a universal link's host, or `nil` if the text is not a host with an optional port.
    package static func universalHost(_ text: String) -> String? {
        guard let url = try? URLText("https://\(text)"), url.path == "/", url.query == nil, url.fragment == nil,
            !text.hasSuffix("/")
        else { return nil }
        return LinkFacts(url).universalHost
    }
}

extension AccessRule {
    /// A rule that permits links with one of the application's custom schemes. Any page and any other application can
    /// create such a link, so the plugin must treat the link as untrusted.
    ///
    /// - Parameters:
    ///   - scheme: The scheme without a colon, such as `myapp`, in any letter case. It must not be `https` or `http`,
    ///     because links with these schemes are universal links.
    ///   - source: The only source to permit, or `nil` to permit every source of links.
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

    /// A rule that permits `https` and `http` links to exactly this host. The system delivers such links because the
    /// host vouches for the application, but any page can still create such a link.
    ///
    /// - Parameters:
    ///   - host: The host, such as `shop.example`, in any letter case and in ASCII form (`xn--`). Add `:port` if the
    ///     port is not the scheme's default. Subdomains are not included.
    ///   - source: The only source to permit, or `nil` to permit every source of links.
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
    /// The text with its ASCII letters in lower case. Other letters are left unchanged, because Unicode case mapping
    /// could turn some of them into ASCII letters.
    var lowercasedASCII: String {
        String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
