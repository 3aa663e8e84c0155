import AdapterThreads
import CLibwebsockets
import Synchronization

/// A context of libwebsockets on its own thread.
///
/// Runs until ``stop()``, even if nothing else refers to it; its receiver usually does.
final class LibraryTransport: FrameTransport {
    // A client reads many frames at once. A server allocates this much for each of its many connections.
    private static let clientReceiveBytes = 65_536
    private static let serverReceiveBytes = 4_096

    private struct State {
        var port: UInt16 = 0
        var isOver = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let queue: ServiceQueue
    private let limits: TransportLimits
    private let state = Mutex(State())

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
    ) async throws(TransportFault) -> LibraryTransport {
        let transport = LibraryTransport(limits: limits)
        try await transport.start { () throws(TransportFault) in
            try LibraryLoop(
                queue: transport.queue,
                limits: limits,
                receiver: receiver(transport),
                server: nil,
                receiveBytes: clientReceiveBytes
            )
        }
        return transport
    }

    /// Creates a transport that accepts many thousands of connections and serves documents on the same port.
    ///
    /// - Parameter receiver: See ``client(limits:receiver:)``.
    static func server(
        _ place: ServerPlace,
        limits: TransportLimits = TransportLimits(),
        receiver: @escaping @Sendable (any FrameSender) -> any ServerFrameReceiver
    ) async throws(TransportFault) -> LibraryTransport {
        let transport = LibraryTransport(limits: limits)
        try await transport.start { () throws(TransportFault) in
            let serving = LibraryServing(place, receiver: receiver(transport))
            let loop = try LibraryLoop(
                queue: transport.queue,
                limits: limits,
                receiver: serving.receiver,
                server: serving,
                receiveBytes: serverReceiveBytes
            )
            do throws(TransportFault) {
                let port = try loop.listen()
                transport.state.withLock { $0.port = port }
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
    var port: UInt16 { state.withLock { $0.port } }

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

    func perform(_ command: FrameCommand, on connection: ConnectionID) {
        queue.append(.command(connection, command))
    }

    func stop() {
        queue.stop()
    }

    private func start(
        _ make: @escaping @Sendable () throws(TransportFault) -> LibraryLoop
    ) async throws(TransportFault) {
        let fault = await withCheckedContinuation { (started: CheckedContinuation<TransportFault?, Never>) in
            do throws(NoSystemResource) {
                let thread = try OwnedThread { [self] in
                    LibraryTransport.run(make, started: started)
                    // Otherwise OpenSSL frees its state when the thread exits, possibly while the process exits and
                    // OpenSSL shuts down (OPENSSL_init_crypto(3)).
                    OPENSSL_thread_stop()
                    over()
                }
                // The thread is not joined; `stopped` waits for its last action.
                thread.leave()
            } catch {
                over()
                started.resume(returning: TransportFault(code: .noResources, description: error.description))
            }
        }
        if let fault { throw fault }
    }

    // Releases the loop on return, before waiters are resumed.
    private static func run(
        _ make: () throws(TransportFault) -> LibraryLoop,
        started: CheckedContinuation<TransportFault?, Never>
    ) {
        do throws(TransportFault) {
            let loop = try make()
            started.resume(returning: nil)
            loop.run()
        } catch {
            started.resume(returning: error)
        }
    }

    /// Waits until the receiver is no longer called.
    func stopped() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.waiters.append(continuation) }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }

    private func over() {
        let waiters = state.withLock { state in
            state.isOver = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
