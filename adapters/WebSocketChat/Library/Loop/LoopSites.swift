#if WebSocket
import CLibwebsockets

/// Changes the sites of a listener that runs.
enum SiteCommand: Sendable {
    case attach(ListenerSite, to: LibraryTransport, attached: @Sendable () -> Void)
    /// Cuts the site's connections and removes it. The closure is called once nothing of the site is left.
    case leave(ConnectionID, left: @Sendable () -> Void)

    /// Ends the wait for a command that the thread no longer performs.
    func abandon() {
        switch self {
        case .attach(_, _, let attached): attached()
        case .leave(_, let left): left()
        }
    }
}

extension LibraryLoop {
    func perform(_ command: SiteCommand) {
        switch command {
        case .attach(let site, let transport, let attached):
            attach(site, to: transport)
            attached()
        case .leave(let id, let left):
            guard let site = sites.site(id) else { return left() }
            leave(site, left)
        }
    }

    /// Creates the receiver of a site, which serves from now on.
    func attach(_ site: ListenerSite, to transport: LibraryTransport) {
        let loaded = LoadedSite(site, site.makeReceiver(transport))
        sites.add(loaded)
        loaded.events.listens(on: transport.port)
    }

    private func leave(_ site: LoadedSite, _ left: @escaping @Sendable () -> Void) {
        site.left = left
        site.leaveDeadline = .now + .seconds(limits.closeTimeoutSeconds)
        for connection in Array(connections.values) where connection.site === site {
            cut(connection, .goingAway, reason: "")
        }
        endStreams(of: site)
        removeIfLeft(site)
    }

    /// Removes a site that is leaving, once none of its connections is left.
    func removeIfLeft(_ site: LoadedSite) {
        guard site.members == 0, let left = site.left else { return }
        sites.remove(site.site.id)
        site.left = nil
        site.events.passEnded()
        left()
    }

    /// Cuts the connections of leaving sites whose peers have had enough time to answer.
    func cutLeavingSites() {
        let now = ContinuousClock.now
        for site in sites.all {
            guard let deadline = site.leaveDeadline, now >= deadline else { continue }
            for connection in connections.values where connection.site === site { connection.handle.map(discard) }
            for exchange in exchanges.all where exchange.site === site { discard(exchange.handle) }
        }
    }
}
#endif
