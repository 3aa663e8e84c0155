#if WebSocket
import AdapterSupport
import SecureTransport

/// The connections of a client's transport. Only one thread uses it.
///
/// Each pass waits for events and lets every connection with events read once. It ends with a report, so that the
/// receiver submits as much at once as has arrived.
final class ClientLoop: ServiceLoop {
    /// The maximum size of a read, in bytes. Many small messages share what a read and a batch cost.
    private static let readBytes = 262_144
    private static let tick = Duration.milliseconds(500)

    let queue: ServiceQueue
    let limits: TransportLimits
    let receiver: any ClientFrameReceiver
    /// The bytes of a read, valid until the next one.
    let buffer: UnsafeMutableRawBufferPointer
    private let signal: WakeSignal
    private var connections: [ConnectionID: ClientConnection] = [:]
    // Kept so that a pass needs no allocation.
    private var polled: [pollfd] = []
    private var served: [ClientConnection] = []
    private var nextTick = ContinuousClock.now
    /// When to end although peers have not answered, once the transport is stopping.
    private var end: ContinuousClock.Instant?

    init(queue: ServiceQueue, limits: TransportLimits, receiver: any ClientFrameReceiver) throws(TransportError) {
        self.queue = queue
        self.limits = limits
        self.receiver = receiver
        do throws(SystemResourceError) {
            signal = try WakeSignal()
        } catch {
            throw TransportError(code: .noResources, description: error.description)
        }
        buffer = .allocate(byteCount: ClientLoop.readBytes, alignment: 16)
    }

    deinit {
        buffer.deallocate()
    }

    func run() {
        queue.attach { [signal] in signal.wake() }
        // The thread could not be woken before this point, so some commands may already be pending.
        receiver.passEnded()
        performCommands()
        while !isDone {
            pass()
            // What the end of the pass causes here, such as the answers of plugins that run inline, needs no wake-up.
            queue.awake()
            receiver.passEnded()
            performCommands()
        }
        finish()
    }

    // MARK: - Passes

    private func pass() {
        let now = ContinuousClock.now
        if now >= nextTick { tick(now) }
        polled.removeAll(keepingCapacity: true)
        served.removeAll(keepingCapacity: true)
        polled.append(pollfd(fd: signal.readEnd, events: Int16(POLLIN), revents: 0))
        var limit = min(nextTick, end ?? nextTick)
        for connection in connections.values {
            if case .retrying(let time) = connection.phase { limit = min(limit, time) }
            if connection.mayHaveInput { limit = now }
            let wait = connection.polled
            // A negative number is ignored (poll(2)).
            polled.append(pollfd(fd: wait?.descriptor ?? -1, events: Int16(wait?.events ?? 0), revents: 0))
            served.append(connection)
        }
        poll(&polled, nfds_t(polled.count), (limit - now).pollMilliseconds)
        if polled[0].revents != 0 { signal.drain() }
        for (index, connection) in served.enumerated() { serve(connection, Int32(polled[index + 1].revents)) }
        served.removeAll(keepingCapacity: true)
    }

    private func serve(_ connection: ClientConnection, _ events: Int32) {
        switch connection.phase {
        case .retrying(let time): if ContinuousClock.now >= time { begin(connection) }
        case .connecting(let socket): if events != 0 { connected(connection, socket) }
        case .upgrading: if events != 0 { advance(connection) }
        case .open, .closing:
            if events & (POLLHUP | POLLERR) != 0, connection.isPaused { connection.isHungUp = true }
            if connection.mayHaveInput || events & ~POLLOUT != 0 || connection.link?.waitsForWrite == true {
                read(connection)
            }
            if connection.hasOutput { write(connection) }
        }
    }

    private func tick(_ now: ContinuousClock.Instant) {
        nextTick = now + ClientLoop.tick
        for connection in Array(connections.values) {
            if let deadline = connection.deadline, now >= deadline { expired(connection) }
        }
        receiver.ticked()
    }

    // MARK: - Commands

    /// Processes the commands that other threads and the receiver have queued, until there are none.
    private func performCommands() {
        while true {
            let entries = queue.take()
            if entries.isEmpty { break }
            for entry in entries { perform(entry) }
            for connection in served { write(connection) }
            served.removeAll(keepingCapacity: true)
        }
        stopIfDone()
    }

    private func perform(_ entry: ServiceQueue.Entry) {
        switch entry {
        case .connect(let id, let target): connect(id, target)
        // Only servers queue these.
        case .site, .exchange: break
        case .feed(let command): receiver.perform(command)
        case .message(let id, let kind, let bytes): append(.message(kind, bytes), to: id)
        case .command(let id, .ping): append(.ping, to: id)
        case .command(let id, .close(let code, let reason)):
            guard let connection = connections[id] else { return }
            let canWait = connection.isOpen && !connection.isWritingOver || connection.isClosing
            guard canWait else { return cut(connection, code, reason: reason) }
            append(.close(code, reason: reason), to: id)
        case .command(let id, .cut(let code, let reason)):
            guard let connection = connections[id] else { return }
            cut(connection, code, reason: reason)
            write(connection)
        case .command(let id, .pause):
            if let connection = connections[id], connection.isOpen { connection.isPaused = true }
        case .command(let id, .resume):
            guard let connection = connections[id] else { return }
            connection.isPaused = false
            connection.isHungUp = false
            if connection.isWritingOver, connection.deadline == nil {
                connection.deadline = .now + ClientLoop.closedWithin
            }
        }
    }

    private func append(_ next: ClientConnection.Outgoing, to id: ConnectionID) {
        guard let connection = connections[id], connection.isOpen else { return }
        // The output of one group of commands leaves together.
        if !connection.hasOutput { served.append(connection) }
        connection.outgoing.append(next)
    }

    // MARK: - Connections

    func add(_ connection: ClientConnection) {
        connections[connection.id] = connection
    }

    /// Reports the end of a connection to the receiver, exactly once, and closes its socket.
    func finish(_ connection: ClientConnection, _ reason: DisconnectReason) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        connection.phase = .closing
        connection.link = nil
        queue.closed(connection.id)
        receiver.closed(connection.id, reason)
    }

    // MARK: - Stopping

    private var isDone: Bool {
        guard let end else { return false }
        return connections.isEmpty || ContinuousClock.now >= end
    }

    private func stopIfDone() {
        guard queue.isStopping, end == nil else { return }
        let now = ContinuousClock.now
        end = now + .seconds(limits.closeTimeoutSeconds)
        for connection in Array(connections.values) {
            cut(connection, .goingAway, reason: "")
            write(connection)
        }
    }

    private func finish() {
        let unprocessed = queue.detach()
        for connection in Array(connections.values) { finish(connection, connection.closeReason ?? .stopped) }
        for case .feed(let command) in unprocessed { receiver.perform(command) }
        receiver.passEnded()
    }
}
#endif
