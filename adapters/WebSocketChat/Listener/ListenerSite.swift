#if WebSocket
import SignalboxRoutes

/// What one source serves on a listener: a WebSocket endpoint with documents, or HTTP requests.
struct ListenerSite: Sendable {
    /// The site's number, which no other site of the process has.
    let id = ConnectionID.next()
    let traits: SiteTraits
    /// Creates the receiver of the site's events. Called on the listener's thread.
    let makeReceiver: @Sendable (LibraryTransport) -> SiteReceiver

    init(_ traits: SiteTraits, makeReceiver: @escaping @Sendable (LibraryTransport) -> SiteReceiver) {
        self.traits = traits
        self.makeReceiver = makeReceiver
    }
}

/// Receives the events of one site. Only the listener's thread uses it.
enum SiteReceiver {
    case sockets(any ServerFrameReceiver)
    case requests(any HTTPRequestReceiver)
}

/// A site on a listener that runs. Only the listener's thread uses it.
final class LoadedSite {
    let site: ListenerSite
    let receiver: SiteReceiver
    /// Called when the last connection of a site that is leaving has ended, or `nil` while the site stays.
    var left: (@Sendable () -> Void)?
    /// The number of its open connections and requests.
    var members = 0
    /// When the connections of a site that is leaving are cut.
    var leaveDeadline: ContinuousClock.Instant?

    init(_ site: ListenerSite, _ receiver: SiteReceiver) {
        self.site = site
        self.receiver = receiver
    }

    var isLeaving: Bool { left != nil }

    var events: any ListenerReceiver {
        switch receiver {
        case .sockets(let sockets): sockets
        case .requests(let requests): requests
        }
    }

    var sockets: (any ServerFrameReceiver)? { if case .sockets(let sockets) = receiver { sockets } else { nil } }
    var requests: (any HTTPRequestReceiver)? { if case .requests(let requests) = receiver { requests } else { nil } }
}

/// The sites of a listener. Only the listener's thread uses it.
struct LoadedSites {
    private(set) var all: [LoadedSite] = []

    /// The receiver of what happens to the whole listener, which is the source that has been there longest.
    var events: (any ListenerReceiver)? { LoadedSites.first(of: all)?.events }

    private static func first(of sites: [LoadedSite]) -> LoadedSite? {
        sites.first { !$0.site.traits.isAuxiliary } ?? sites.first
    }

    mutating func add(_ site: LoadedSite) { all.append(site) }

    mutating func remove(_ id: ConnectionID) { all.removeAll { $0.site.id == id } }

    func site(_ id: ConnectionID) -> LoadedSite? { all.first { $0.site.id == id } }

    /// Returns the site whose WebSocket endpoint has the path, or the site that answers all other upgrades.
    func site(upgradingAt path: String) -> LoadedSite? {
        let candidates = all.filter { $0.sockets != nil && !$0.isLeaving }
        return candidates.first { $0.site.traits.socketPath == path }
            ?? candidates.first { $0.site.traits.socketPath == nil }
    }

    func page(at path: String) -> WebSocketPage? {
        for site in all where !site.isLeaving {
            if let page = site.site.traits.pages[path] { return page }
        }
        return nil
    }

    /// Returns the site with the most specific route for a path. If none has one, the first site refuses the request.
    func site(servingAt path: String) -> LoadedSite? {
        let candidates = all.filter { $0.requests != nil && !$0.isLeaving }
        guard candidates.count > 1 else { return candidates.first }
        let matching = candidates.compactMap { site in site.requests?.route(for: path).map { (site: site, route: $0) } }
        guard matching.count > 1, let url = matching.first?.route.url else {
            return matching.first?.site ?? LoadedSites.first(of: candidates)
        }
        let numbered = matching.enumerated().map { (pattern: $0.element.route.pattern, value: $0.offset) }
        // Routes of two sources that match the same paths are ambiguous, so the source that came first has them.
        let best = (try? RouteTable(numbered))?.match(url)?.value ?? 0
        return matching[best].site
    }
}
#endif
