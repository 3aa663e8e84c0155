#if WebSocket
import AdapterSupport
import SignalboxCore
import Synchronization

/// An address on which several sources listen together: chats, their documents, and HTTP requests.
///
/// Create the listener first, and then its sources:
///
/// ```swift
/// let listener = try WebListener(WebListenerConfiguration(port: 8080))
/// let chat = try WebSocketServer(chatConfiguration, listener: listener, logger: logger)
/// ```
///
/// The listener has the port from the start of the first source's run to the end of the last one's. One thread serves all
/// connections. A request is answered with 404 while the source that would handle it does not run. This type is safe to use
/// from any thread.
public final class WebListener: Sendable {
    private enum Phase {
        case idle
        /// Fulfilled when the attempt to listen has ended.
        case starting(Promise<TransportError?>)
        case running(LibraryTransport, sites: Int)
        /// Fulfilled when the port is free again.
        case ending(Promise<Void>)
    }

    private struct State {
        var phase = Phase.idle
        /// The sites that are served, or soon will be.
        var attached: [ConnectionID: SiteTraits] = [:]
        /// What the sources serve, whether or not they run.
        var announced: [SourceName: SiteTraits] = [:]
        /// The subprotocols of the library's table, and whether it can compress.
        var offered: (subprotocols: Set<String>, compresses: Bool) = ([], false)
    }

    /// The configuration passed to the initializer.
    public let configuration: WebListenerConfiguration
    private let state = Mutex(State())
    /// Whether several sources may use the listener.
    private let isShared: Bool

    /// Creates a listener, which opens its port when the first of its sources runs.
    ///
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration`.
    public init(_ configuration: WebListenerConfiguration) throws(WebSocketChatError) {
        try configuration.validate()
        self.configuration = configuration
        isShared = true
    }

    /// Creates the listener of a single server, whose configuration has been validated.
    init(of server: WebSocketServerConfiguration) {
        configuration = server.ownListener
        isShared = false
    }

    /// The port that the listener has, even if the configured port is 0, or `nil` while no source runs.
    public var port: UInt16? {
        state.withLock { if case .running(let transport, _) = $0.phase { transport.port } else { nil } }
    }

    // MARK: - Sources

    /// Announces a source before it runs, so that the library's tables have its subprotocols. A source that was announced
    /// before is replaced.
    func announce(_ traits: SiteTraits, of source: SourceName) {
        state.withLock { $0.announced[source] = traits }
    }

    /// Adds a site, and listens if it is the first one.
    func attach(_ site: ListenerSite) async throws(TransportError) -> LibraryTransport {
        while true {
            switch begin(site) {
            case .attaching(let transport):
                // The site is counted already, so the transport does not end before.
                _ = await transport.attach(site)
                return transport
            case .start(let started): return try await start(site, started)
            case .wait(let ready):
                if let error = await ready() { throw error }
            case .refused(let error): throw error
            }
        }
    }

    private enum Beginning {
        case attaching(LibraryTransport)
        case start(Promise<TransportError?>)
        case wait(@Sendable () async -> TransportError?)
        case refused(TransportError)
    }

    private func begin(_ site: ListenerSite) -> Beginning {
        state.withLock { state in
            switch state.phase {
            case .idle:
                let started = Promise<TransportError?>()
                state.phase = .starting(started)
                state.attached[site.id] = site.traits
                return .start(started)
            case .starting(let started): return .wait { await started.value() }
            case .ending(let ended):
                return .wait {
                    await ended.value()
                    return nil
                }
            case .running(let transport, let sites):
                let isOffered =
                    state.offered.subprotocols.isSuperset(of: site.traits.subprotocols)
                    && (state.offered.compresses || !site.traits.compresses)
                guard isOffered else { return .refused(.needsRestart) }
                if let conflict = site.traits.conflict(with: state.attached.values) { return .refused(conflict) }
                state.attached[site.id] = site.traits
                state.phase = .running(transport, sites: sites + 1)
                return .attaching(transport)
            }
        }
    }

    private func start(
        _ site: ListenerSite,
        _ started: Promise<TransportError?>
    ) async throws(TransportError) -> LibraryTransport {
        let endpoint = endpoint(for: site)
        do throws(TransportError) {
            let transport = try await LibraryTransport.listening(endpoint, limits: configuration.transportLimits, site)
            state.withLock { state in
                state.phase = .running(transport, sites: 1)
                state.offered = (Set(endpoint.subprotocols), endpoint.compresses)
            }
            started.set(nil)
            return transport
        } catch {
            state.withLock { state in
                state.phase = .idle
                state.attached = [:]
            }
            started.set(error)
            throw error
        }
    }

    private func endpoint(for site: ListenerSite) -> ServerEndpoint {
        var endpoint = configuration.endpoint
        let announced = state.withLock { Array($0.announced.values) }
        // A chat that is added later offers at least this one.
        endpoint.subprotocols =
            site.traits.subprotocols.filter { $0 != BearerToken.companion } + [BearerToken.companion]
        for name in announced.flatMap(\.subprotocols) where !endpoint.subprotocols.contains(name) {
            endpoint.subprotocols.append(name)
        }
        endpoint.webSockets = isShared ? configuration.connections : nil
        endpoint.compresses = site.traits.compresses || announced.contains(where: \.compresses)
        return endpoint
    }

    /// Cuts the connections of a site, and waits until they have ended. After the last site, the port is free.
    func detach(_ site: ListenerSite) async {
        let (transport, ended) = state.withLock { state -> (LibraryTransport?, Promise<Void>?) in
            guard case .running(let transport, let sites) = state.phase else { return (nil, nil) }
            state.attached[site.id] = nil
            guard sites == 1 else {
                state.phase = .running(transport, sites: sites - 1)
                return (transport, nil)
            }
            let ended = Promise<Void>()
            state.phase = .ending(ended)
            return (transport, ended)
        }
        guard let transport else { return }
        guard let ended else { return await transport.detach(site.id) }
        transport.stop()
        await transport.stopped()
        state.withLock { $0.phase = .idle }
        ended.set(())
    }
}

extension SiteTraits {
    /// Returns why a listener cannot serve this site beside others, or `nil` if it can.
    fileprivate func conflict(with others: some Collection<SiteTraits>) -> TransportError? {
        for other in others {
            if let socketPath, socketPath == other.socketPath {
                return .taken("the WebSocket path \(UntrustedText.quoted(socketPath))")
            }
            if let page = Set(pages.keys).intersection(other.pages.keys).min() {
                return .taken("the page \(UntrustedText.quoted(page))")
            }
        }
        return nil
    }
}

extension TransportError {
    fileprivate static func taken(_ what: String) -> TransportError {
        TransportError(
            code: .notListening,
            description: "\(what) is that of another source on the same listener; choose another one"
        )
    }

    fileprivate static let needsRestart = TransportError(
        code: .notListening,
        description:
            "the listener already runs without this chat's subprotocols or compression; restart the program to add them"
    )
}

extension WebListener {
    /// Adds a source of requests, and listens if it is the first source.
    ///
    /// - Parameters:
    ///   - isAuxiliary: Whether the requests are not for a source.
    ///   - make: Creates the receiver. Called on the listener's thread, on which the receiver stays.
    /// - Throws: `notListening` or `noResources`, without a source.
    package func attach(
        isAuxiliary: Bool = false,
        requests make: @escaping @Sendable (any HTTPAnswerer) -> any HTTPRequestReceiver
    ) async throws(WebSocketChatError) -> ListenerAttachment {
        let site = ListenerSite(SiteTraits(isAuxiliary: isAuxiliary)) { .requests(make($0)) }
        do throws(TransportError) {
            return ListenerAttachment(listener: self, site: site, transport: try await attach(site))
        } catch {
            throw WebSocketChatError(error.code == .noResources ? .noResources : .notListening, error.description)
        }
    }
}

/// A source that a listener serves.
package struct ListenerAttachment: Sendable {
    fileprivate let listener: WebListener
    fileprivate let site: ListenerSite
    fileprivate let transport: LibraryTransport

    /// The listener's port.
    package var port: UInt16 { transport.port }

    /// Interrupts the thread's wait, so that the thread soon calls the receiver's `passEnded`.
    package func wake() { transport.wake() }

    /// Ends the source's answers, and waits until nothing of it is left. After the last source, the port is free.
    package func detach() async { await listener.detach(site) }
}
#endif
