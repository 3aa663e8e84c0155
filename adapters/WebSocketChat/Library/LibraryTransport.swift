import AdapterSupport
import CLibwebsockets
import Synchronization

/// Runs a libwebsockets context on its own thread, which parses and writes the frames of its connections.
///
/// The transport runs until ``stop()`` is called, even if nothing else refers to it; its receiver usually does. All
/// methods are safe to call from any thread.
final class LibraryTransport: FrameSender {
    private let queue: ServiceQueue
    private let limits: TransportLimits
    private let listeningPort = Atomic<UInt16>(0)
    /// Fulfilled by the thread as its very last action.
    private let ended = Promise<Void>()

    private init(limits: TransportLimits) {
        self.limits = limits
        queue = ServiceQueue(limits: limits)
    }

    /// Creates a transport that opens connections. It is suitable for about 100 of them.
    ///
    /// - Parameter receiver: A closure that creates the receiver, called once on the transport's thread. The receiver
    ///   stays on that thread, and may retain the closure's argument until ``stop()`` is called.
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

    /// Creates a transport that accepts connections and serves documents on the same port. It is suitable for many
    /// thousands of connections.
    ///
    /// - Parameter receiver: A closure that creates the receiver, as for ``client(limits:receiver:)``.
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

    /// The port that a server listens on, even if the configured port is 0. It is 0 for a client.
    var port: UInt16 { listeningPort.load(ordering: .acquiring) }

    func connect(to target: ClientTarget) -> ConnectionID {
        let connection = ConnectionID.next()
        queue.append(.connect(connection, target))
        return connection
    }

    func waitingBytes(on connection: ConnectionID) -> Int? { queue.waitingBytes(on: connection) }

    func send(_ message: [UInt8], _ kind: MessageKind, on connection: ConnectionID) -> SendAdmission {
        queue.send(message, kind, on: connection)
    }

    func wake() {
        queue.wake()
    }

    /// Queues work for a feed's session.
    ///
    /// - Returns: Whether the thread will do the work, which is `false` if the thread has ended.
    func post(_ command: FeedCommand) -> Bool {
        queue.append(.feed(command))
    }

    func perform(_ command: FrameCommand, on connection: ConnectionID) {
        queue.append(.command(connection, command))
    }

    /// Cuts every connection with 1001 and ends the thread within ``TransportLimits/closeTimeoutSeconds``.
    ///
    /// Calling this again has no effect.
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
                // Otherwise, OpenSSL would free its state when the thread exits. By then, the process may be exiting
                // and OpenSSL shutting down (OPENSSL_init_crypto(3)).
                OPENSSL_thread_stop()
                ended.set(())
            }
            // The thread is not joined, because `stopped` waits for its last action.
            thread.detach()
        } catch {
            ended.set(())
            throw TransportError(code: .noResources, description: error.description)
        }
        if let error = await started.value() { throw error }
    }

    // The loop is released when this function returns, before waiting tasks are resumed.
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

    /// Waits until the thread has ended. The receiver is not called after that.
    func stopped() async {
        await ended.value()
    }
}
