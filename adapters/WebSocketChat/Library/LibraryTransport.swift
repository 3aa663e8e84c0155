import AdapterSupport
import CLibwebsockets
import Synchronization

/// Accepts connections, on a libwebsockets context with a thread of its own, which parses and writes their frames.
///
/// The transport runs until ``stop()`` is called, even if nothing else refers to it; its receiver usually does. All
/// methods are safe to call from any thread.
final class LibraryTransport: FrameSender {
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
        let transport = LibraryTransport(limits: limits)
        try await transport.thread.start { () throws(TransportError) in
            let serving = LibraryServer(endpoint: endpoint, receiver: receiver(transport))
            let loop = try LibraryLoop(queue: transport.queue, limits: limits, server: serving)
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
