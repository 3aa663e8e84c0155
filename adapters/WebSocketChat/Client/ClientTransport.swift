#if WebSocket
import AdapterSupport

/// Opens connections to servers, and runs them on a thread of its own. It is suitable for about 100 connections.
///
/// The transport runs until ``stop()`` is called, even if nothing else refers to it; its receiver usually does. All
/// methods are safe to call from any thread.
final class ClientTransport: ClientFrameSender {
    private let queue: ServiceQueue
    private let thread = ServiceThread()

    private init(limits: TransportLimits) {
        queue = ServiceQueue(limits: limits)
    }

    /// Creates a transport and starts its thread.
    ///
    /// - Parameter receiver: A closure that creates the receiver, called once on the transport's thread. The receiver
    ///   stays on that thread, and may retain the closure's argument until ``stop()`` is called.
    static func start(
        limits: TransportLimits = TransportLimits(),
        receiver: @escaping @Sendable (any ClientFrameSender) -> any ClientFrameReceiver
    ) async throws(TransportError) -> ClientTransport {
        let transport = ClientTransport(limits: limits)
        try await transport.thread.start { () throws(TransportError) in
            try ClientLoop(queue: transport.queue, limits: limits, receiver: receiver(transport))
        }
        return transport
    }

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

    /// Waits until the thread has ended. The receiver is not called after that.
    func stopped() async {
        await thread.stopped()
    }
}

/// Receives the events of a client's connections.
protocol ClientFrameReceiver: FrameReceiver {
    /// Called for each command of a feed. All commands are processed in the order in which they were queued.
    func perform(_ command: FeedCommand)
}
#endif
