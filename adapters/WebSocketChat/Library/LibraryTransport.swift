#if WebSocket
import AdapterSupport
import CLibwebsockets
import Synchronization

/// Accepts connections, on a libwebsockets context with a thread of its own, which parses requests and frames, and writes
/// answers and frames.
///
/// The transport runs until ``stop()`` is called, even if nothing else refers to it; its receiver usually does. All
/// methods are safe to call from any thread.
final class LibraryTransport: FrameSender, HTTPAnswerer {
    private let queue: ServiceQueue
    private let limits: TransportLimits
    private let listeningPort = Atomic<UInt16>(0)
    private let thread = ServiceThread()

    private init(limits: TransportLimits) {
        self.limits = limits
        queue = ServiceQueue(limits: limits)
    }

    /// Creates a transport that accepts connections and serves documents on the same port. It is suitable for many
    /// thousands of connections.
    ///
    /// - Parameter receiver: A closure that creates the receiver, called once on the transport's thread. The receiver
    ///   stays on that thread, and may retain the closure's argument until ``stop()`` is called.
    static func server(
        _ endpoint: ServerEndpoint,
        limits: TransportLimits = TransportLimits(),
        receiver: @escaping @Sendable (any FrameSender) -> any ServerFrameReceiver
    ) async throws(TransportError) -> LibraryTransport {
        var traits = SiteTraits()
        traits.subprotocols = endpoint.subprotocols
        traits.compresses = endpoint.compresses
        traits.pages = endpoint.pages
        return try await listening(endpoint, limits: limits, ListenerSite(traits) { .sockets(receiver($0)) })
    }

    /// Creates a transport that serves a site. More sites can be attached.
    static func listening(
        _ endpoint: ServerEndpoint,
        limits: TransportLimits,
        _ site: ListenerSite
    ) async throws(TransportError) -> LibraryTransport {
        let transport = LibraryTransport(limits: limits)
        try await transport.thread.start { () throws(TransportError) in
            let loop = try LibraryLoop(queue: transport.queue, limits: limits, endpoint: endpoint)
            do throws(TransportError) {
                transport.listeningPort.store(try loop.listen(), ordering: .releasing)
                loop.attach(site, to: transport)
            } catch {
                if let context = loop.context { loop.destroy(context) }
                throw error
            }
            return loop
        }
        return transport
    }

    /// The port that the server listens on, even if the configured port is 0.
    var port: UInt16 { listeningPort.load(ordering: .acquiring) }

    func waitingBytes(on connection: ConnectionID) -> Int? { queue.waitingBytes(on: connection) }

    func send(_ message: [UInt8], _ kind: MessageKind, on connection: ConnectionID) -> SendAdmission {
        queue.send(message, kind, on: connection)
    }

    func wake() {
        queue.wake()
    }

    func perform(_ command: FrameCommand, on connection: ConnectionID) {
        queue.append(.command(connection, command))
    }

    // MARK: - Sites

    /// Adds a site, and waits until it serves.
    ///
    /// - Returns: `false` if the transport has ended.
    func attach(_ site: ListenerSite) async -> Bool {
        let attached = Promise<Void>()
        guard queue.append(.site(.attach(site, to: self, attached: { attached.set(()) }))) else { return false }
        await attached.value()
        return true
    }

    /// Cuts the connections of a site with 1001, ends its answers, and waits until nothing of it is left.
    func detach(_ site: ConnectionID) async {
        let left = Promise<Void>()
        guard queue.append(.site(.leave(site) { left.set(()) })) else { return }
        await left.value()
    }

    // MARK: - Answers

    func answer(_ exchange: HTTPExchangeID, _ answer: HTTPAnswer) {
        queue.append(.exchange(exchange, .answer(answer)))
    }

    func open(_ exchange: HTTPExchangeID, _ head: HTTPAnswer) {
        queue.opened(exchange.connection)
        queue.append(.exchange(exchange, .open(head)))
    }

    func append(_ exchange: HTTPExchangeID, _ part: [UInt8]) -> HTTPPartAdmission {
        switch queue.send(part: part, of: exchange) {
        case .accepted: .accepted
        case .full, .overloaded: .full
        case .closed: .closed
        }
    }

    func close(_ exchange: HTTPExchangeID) {
        queue.append(.exchange(exchange, .close))
    }

    // MARK: - Stopping

    /// Cuts every connection with 1001 and ends the thread within ``TransportLimits/closeTimeoutSeconds``.
    ///
    /// Calling this again has no effect.
    func stop() {
        queue.stop()
    }

    /// Waits until the thread has ended. The receiver is not called after that.
    func stopped() async {
        await thread.stopped()
    }
}
#endif
