import AppScheme
import SignalboxCore
import SignalboxRoutes

/// The `links` part of a source.
struct LinksSection: Sendable {
    /// Which action a link is.
    let routes: AppRoutes
    /// The same as they are written.
    let list: [AppRoute]
    /// The links that come first.
    var urls: [String] = []
    /// A file of links, which come next; relative to the working directory.
    var file: String?
    /// Whether links are read from stdin at last.
    var standardInput = false

    /// Whether it says where links come from.
    var hasLinks: Bool { !urls.isEmpty || file != nil || standardInput }

    /// What its links begin with.
    var places: LinkPlaces { LinkPlaces(list) }
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

/// Where the links that a source's routes match come from: what a rule of `from` may name.
struct LinkPlaces: Sendable, Hashable {
    /// The application's own schemes, sorted.
    private(set) var schemes: [String] = []
    /// The hosts of `https` and `http`, with a port that is not the scheme's own, sorted.
    private(set) var hosts: [String] = []

    init(_ routes: [AppRoute]) {
        for route in routes {
            guard let scheme = route.pattern.scheme else { continue }
            guard LinkPlaces.isUniversal(scheme) else {
                schemes.append(scheme)
                continue
            }
            // In front of the path and query of such a pattern there are no captures.
            let start = scheme.utf8.count + "://".utf8.count
            let authority = route.pattern.text.utf8.dropFirst(start).prefix { !"/?".utf8.contains($0) }
            if let host = LinkPlaces.host(String(Substring(authority)), scheme: scheme) { hosts.append(host) }
        }
        schemes = Set(schemes).sorted()
        hosts = Set(hosts).sorted()
    }

    /// Whether links of the scheme are named by their host.
    static func isUniversal(_ scheme: String) -> Bool {
        scheme == "https" || scheme == "http"
    }

    /// The host in the form in which links have it, or `nil` when the text is not a host, perhaps with a port, alone.
    static func host(_ text: String, scheme: String = "https") -> String? {
        guard let url = try? URLText("\(scheme)://\(text)"), let host = url.host, url.path == "/", url.query == nil,
            url.fragment == nil, !text.hasSuffix("/")
        else { return nil }
        return url.port.map { "\(host):\($0)" } ?? host
    }
}
