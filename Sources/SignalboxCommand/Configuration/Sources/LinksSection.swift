import AppScheme
import SignalboxCore
import SignalboxRoutes

/// The `links` part of a source.
struct LinksSection: Sendable {
    /// The routes that map links to actions.
    let routes: AppRoutes
    /// The same routes, in file order.
    let list: [AppRoute]
    /// The links to submit first.
    var urls: [String] = []
    /// A file of links to submit next, relative to the working directory.
    var file: String?
    /// Whether to read further links from stdin, after `urls` and `file`.
    var standardInput = false

    /// Whether the section specifies any links.
    var hasLinks: Bool { !urls.isEmpty || file != nil || standardInput }

    /// The schemes and hosts of the routes.
    var targets: LinkTargets { LinkTargets(list) }
}

extension LinksSection: Hashable {
    static func == (left: LinksSection, right: LinksSection) -> Bool {
        left.list == right.list && left.routes.fallback == right.routes.fallback && left.urls == right.urls
            && left.file == right.file && left.standardInput == right.standardInput
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(list)
    }
}

/// The schemes and hosts that a source's routes match, which a rule of `from` may name.
struct LinkTargets: Sendable, Hashable {
    /// The application schemes, sorted.
    private(set) var schemes: [String] = []
    /// The hosts of `https` and `http` links, with the port unless it is the scheme's default, sorted.
    private(set) var hosts: [String] = []

    init(_ routes: [AppRoute]) {
        for route in routes {
            guard let scheme = route.pattern.scheme else { continue }
            guard LinkTargets.isUniversal(scheme) else {
                schemes.append(scheme)
                continue
            }
            // Patterns for `https` and `http` have no captures before the path or query.
            let start = scheme.utf8.count + "://".utf8.count
            let authority = route.pattern.text.utf8.dropFirst(start).prefix { !"/?".utf8.contains($0) }
            if let host = LinkTargets.host(String(Substring(authority)), scheme: scheme) { hosts.append(host) }
        }
        schemes = Set(schemes).sorted()
        hosts = Set(hosts).sorted()
    }

    /// Returns whether rules name links of the scheme by host.
    static func isUniversal(_ scheme: String) -> Bool {
        scheme == "https" || scheme == "http"
    }

    /// Returns the host in the normal form of links, or `nil` unless the text is a host with an optional port.
    static func host(_ text: String, scheme: String = "https") -> String? {
        guard let url = try? URLText("\(scheme)://\(text)"), let host = url.host, url.path == "/", url.query == nil,
            url.fragment == nil, !text.hasSuffix("/")
        else { return nil }
        return url.port.map { "\(host):\($0)" } ?? host
    }
}
