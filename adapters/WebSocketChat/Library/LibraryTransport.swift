import AdapterThreads
import CLibwebsockets
import Synchronization

/// A context of libwebsockets on a thread of its own.
///
/// Runs until ``stop()``, also when nobody holds it: its receiver usually does.
final class LibraryTransport: FrameTransport {
    // A client's read takes in many frames at once; a server has many connections, each of which holds as much.
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

    /// A transport that opens connections, fit for about a hundred of them.
    ///
    /// - Parameter receiver: called once, on the transport's thread, on which what it returns stays. May keep what it is
    ///   given, until ``stop()``.
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

    /// A transport that waits for connections, fit for many thousands, and hands out documents on the same port.
    ///
    /// - Parameter receiver: as for ``client(limits:receiver:)``.
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

    /// The port a server listens on, also where 0 was asked for; 0 for a client.
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
                    // Else freed when the thread is gone, which may be while the process ends and OpenSSL with it
                    // (OPENSSL_init_crypto(3)).
                    OPENSSL_thread_stop()
                    over()
                }
                // Nobody joins it: `stopped` waits for its last act.
                thread.leave()
            } catch {
                over()
                started.resume(returning: TransportFault(code: .noResources, description: error.description))
            }
        }
        if let fault { throw fault }
    }

    // The loop is released when this returns, before anybody is told.
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

    /// Returns when the receiver is called no more.
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
