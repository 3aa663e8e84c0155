import AdapterSupport
import CLibwebsockets
import Synchronization

/// A context of libwebsockets on its own thread, which parses and writes the frames of its connections. Every call is
/// safe on any thread.
///
/// Runs until ``stop()``, even if nothing else refers to it; its receiver usually does.
final class LibraryTransport: FrameSender {
    private let queue: ServiceQueue
    private let limits: TransportLimits
    private let listeningPort = Atomic<UInt16>(0)
    /// Set as the last action of the thread.
    private let ended = Promise<Void>()

    private init(limits: TransportLimits) {
        self.limits = limits
        queue = ServiceQueue(limits: limits)
    }

    /// Creates a transport that opens connections, suitable for about 100.
    ///
    /// - Parameter receiver: Creates the receiver. Called once, on the transport's thread, which the receiver stays on.
    ///   May retain its argument until ``stop()``.
    static func client(
        limits: TransportLimits = TransportLimits(),
        receiver: @escaping @Sendable (any FrameSender) -> any FrameReceiver
    ) async throws(TransportError) -> LibraryTransport {
        let transport = LibraryTransport(limits: limits)
        try await transport.start { () throws(TransportError) in
            try LibraryLoop(
                queue: transport.queue,
                limits: limits,
                receiver: receiver(transport),
                server: nil
            )
        }
        return transport
    }

    /// Creates a transport that accepts many thousands of connections and serves documents on the same port.
    ///
    /// - Parameter receiver: See ``client(limits:receiver:)``.
    static func server(
        _ endpoint: ServerEndpoint,
        limits: TransportLimits = TransportLimits(),
        receiver: @escaping @Sendable (any FrameSender) -> any ServerFrameReceiver
    ) async throws(TransportError) -> LibraryTransport {
        let transport = LibraryTransport(limits: limits)
        try await transport.start { () throws(TransportError) in
            let serving = LibraryServer(endpoint: endpoint, receiver: receiver(transport))
            let loop = try LibraryLoop(
                queue: transport.queue,
                limits: limits,
                receiver: serving.receiver,
                server: serving
            )
            do throws(TransportError) {
                let port = try loop.listen()
                transport.listeningPort.store(port, ordering: .releasing)
                serving.receiver.listens(on: port)
            } catch {
                if let context = loop.context { loop.destroy(context) }
                throw error
            }
            return loop
        }
        return transport
    }

    /// The port a server listens on, even if the configured port is 0; 0 for a client.
    var port: UInt16 { listeningPort.load(ordering: .acquiring) }

    func connect(to target: ClientTarget) -> ConnectionID {
        let connection = ConnectionID.next()
        queue.append(.connect(connection, target))
        return connection
    }

    func send(_ message: [UInt8], _ kind: MessageKind, on connection: ConnectionID) -> SendAdmission {
        queue.send(message, kind, on: connection)
    }

    func wake() {
        queue.wake()
    }

    /// Queues work for a feed's session.
    ///
    /// - Returns: `false` if the thread has ended.
    func post(_ command: FeedCommand) -> Bool {
        queue.append(.feed(command))
    }

    func perform(_ command: FrameCommand, on connection: ConnectionID) {
        queue.append(.command(connection, command))
    }

    /// Cuts every connection with 1001 and ends the thread within ``TransportLimits/closeTimeoutSeconds``. Idempotent.
    func stop() {
        queue.stop()
    }

    private func start(
        _ make: @escaping @Sendable () throws(TransportError) -> LibraryLoop
    ) async throws(TransportError) {
        let started = Promise<TransportError?>()
        do throws(SystemResourceError) {
            let thread = try OwnedThread { [self] in
                LibraryTransport.run(make, started: started)
                // Otherwise OpenSSL frees its state when the thread exits, possibly while the process exits and
                // OpenSSL shuts down (OPENSSL_init_crypto(3)).
                OPENSSL_thread_stop()
                ended.set(())
            }
            // The thread is not joined; `stopped` waits for its last action.
            thread.detach()
        } catch {
            ended.set(())
            throw TransportError(code: .noResources, description: error.description)
        }
        if let error = await started.value() { throw error }
    }

    // Releases the loop on return, before waiters are resumed.
    private static func run(
        _ make: () throws(TransportError) -> LibraryLoop,
        started: Promise<TransportError?>
    ) {
        do throws(TransportError) {
            let loop = try make()
            started.set(nil)
            loop.run()
        } catch {
            started.set(error)
        }
    }

    /// Waits until the thread has ended, after which the receiver is not called.
    func stopped() async {
        await ended.value()
    }
}
