#if WebSocket
import Synchronization

/// Queues the commands for a service's thread and counts the bytes waiting to be sent.
///
/// This type is safe to use from any thread.
final class ServiceQueue: Sendable {
    enum Entry: Sendable {
        case connect(ConnectionID, ClientTarget)
        case message(ConnectionID, MessageKind, [UInt8])
        case command(ConnectionID, FrameCommand)
        case feed(FeedCommand)
        case site(SiteCommand)
        case exchange(HTTPExchangeID, HTTPExchangeCommand)
    }

    /// How many bytes are waiting on a connection, and how many may.
    private struct Waiting {
        var bytes = 0
        let limit: Int
    }

    private struct State {
        var entries: [Entry] = []
        /// Interrupts the thread's wait, or its next one. `nil` while the thread does not wait.
        var wakeThread: (@Sendable () -> Void)?
        var isStopping = false
        /// Whether the thread has ended. If so, it processes no more entries.
        var hasEnded = false
        /// The open connections.
        var waiting: [ConnectionID: Waiting] = [:]
        var allWaiting = 0
        /// The connections with the most waiting bytes, in ascending order, and the number of bytes that each had when
        /// it was added.
        var slowest: [(connection: ConnectionID, bytes: Int)] = []
    }

    // Scanning many connections is slow, so each scan stores enough candidates for many messages.
    private static let rememberedSlowest = 64

    /// Returns the size of the message plus a fixed overhead, which limits the number of empty messages as well.
    static func cost(of message: [UInt8]) -> Int { message.count + TransportLimits.messageOverhead }

    private let limits: TransportLimits
    private let state = Mutex(State())
    /// Whether the thread will take the entries before it waits again, so that nobody has to wake it. Only the thread changes
    /// this. It gives up the promise while it holds the lock, so no entry can be missed.
    private let isAwake = Atomic<Bool>(false)

    init(limits: TransportLimits) {
        self.limits = limits
    }

    // MARK: - Other threads

    func send(_ message: [UInt8], _ kind: MessageKind, on connection: ConnectionID) -> SendAdmission {
        send(.message(connection, kind, message), cost: ServiceQueue.cost(of: message), on: connection)
    }

    /// Queues a part of an answer that has begun.
    func send(part: [UInt8], of exchange: HTTPExchangeID) -> SendAdmission {
        let cost = ServiceQueue.cost(of: part)
        return send(.exchange(exchange, .append(part, cost: cost)), cost: cost, on: exchange.connection)
    }

    private func send(_ entry: Entry, cost: Int, on connection: ConnectionID) -> SendAdmission {
        state.withLock { state in
            // Only one look-up, because other threads wait for the lock.
            guard !state.isStopping, let index = state.waiting.index(forKey: connection) else { return .closed }
            let waiting = state.waiting.values[index]
            guard cost <= waiting.limit - waiting.bytes else { return .full }
            guard cost <= limits.allWaitingBytes - state.allWaiting else {
                return .overloaded(slowest: ServiceQueue.slowest(in: &state) ?? connection)
            }
            state.waiting.values[index].bytes += cost
            state.allWaiting += cost
            ServiceQueue.remember(connection, waiting.bytes + cost, in: &state)
            append(entry, to: &state)
            return .accepted
        }
    }

    // An entry is valid as long as half of its bytes are still waiting. The result is therefore the slowest connection
    // to within a factor of 2.
    private static func slowest(in state: inout State) -> ConnectionID? {
        forgetOutdated(&state)
        if let last = state.slowest.last { return last.connection }
        let all = state.waiting.map { (connection: $0.key, bytes: $0.value.bytes) }.sorted { $0.bytes < $1.bytes }
        state.slowest = all.suffix(rememberedSlowest)
        return state.slowest.last?.connection
    }

    // A connection that has more waiting bytes than the slowest known one becomes the slowest, so no scan is needed.
    private static func remember(_ connection: ConnectionID, _ bytes: Int, in state: inout State) {
        guard !state.slowest.isEmpty else { return }
        forgetOutdated(&state)
        guard let last = state.slowest.last, bytes > last.bytes else { return }
        if last.connection == connection { state.slowest.removeLast() }
        if state.slowest.count >= 2 * rememberedSlowest { state.slowest.removeFirst(rememberedSlowest) }
        state.slowest.append((connection, bytes))
    }

    private static func forgetOutdated(_ state: inout State) {
        while let last = state.slowest.last, (state.waiting[last.connection]?.bytes ?? 0) < max(1, last.bytes / 2) {
            state.slowest.removeLast()
        }
    }

    /// Appends a command. A cut releases the connection's waiting bytes and refuses further messages.
    ///
    /// - Returns: Whether the thread will process the command, which is `false` if the thread has ended.
    @discardableResult
    func append(_ entry: Entry) -> Bool {
        state.withLock { state in
            guard !state.hasEnded else { return false }
            if case .command(let connection, .cut) = entry { ServiceQueue.release(connection, in: &state) }
            append(entry, to: &state)
            return true
        }
    }

    private static func release(_ connection: ConnectionID, in state: inout State) {
        if let waiting = state.waiting.removeValue(forKey: connection) { state.allWaiting -= waiting.bytes }
    }

    func wake() {
        state.withLock { wake($0) }
    }

    func stop() {
        state.withLock { state in
            state.isStopping = true
            wake(state)
        }
    }

    private func wake(_ state: State) {
        state.wakeThread?()
    }

    private func append(_ entry: Entry, to state: inout State) {
        state.entries.append(entry)
        // The thread was already woken for the first entry.
        if state.entries.count == 1, !isAwake.load(ordering: .relaxed) { wake(state) }
    }

    // MARK: - The service's thread

    var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Announces that the thread waits from now on.
    ///
    /// - Parameter wakeThread: Interrupts the wait, or the next one. Called on any thread, with the queue's lock held, and
    ///   not after ``detach()``.
    func attach(_ wakeThread: @escaping @Sendable () -> Void) {
        state.withLock { $0.wakeThread = wakeThread }
    }

    /// Announces that the thread is ending. It is no longer woken, and the queue refuses further entries.
    ///
    /// - Returns: The entries that were not processed.
    func detach() -> [Entry] {
        state.withLock { state in
            state.wakeThread = nil
            state.isStopping = true
            state.hasEnded = true
            defer { state.entries = [] }
            return state.entries
        }
    }

    /// Promises that the thread takes the entries until there are none, before it waits again.
    func awake() {
        isAwake.store(true, ordering: .relaxed)
    }

    /// Removes and returns the entries. If there are none, the thread may wait, and the next entry wakes it.
    func take() -> [Entry] {
        state.withLock { state in
            if state.entries.isEmpty { isAwake.store(false, ordering: .relaxed) }
            defer { state.entries = [] }
            return state.entries
        }
    }

    /// Registers an open connection. From now on, messages can be sent to it.
    ///
    /// - Parameter limit: The maximum number of bytes waiting on the connection. If it is `nil`, the transport's limit
    ///   applies.
    func opened(_ connection: ConnectionID, limit: Int? = nil) {
        let waiting = Waiting(limit: limit ?? limits.waitingBytes)
        state.withLock { $0.waiting[connection] = waiting }
    }

    /// The number of bytes that are waiting on the connection, or `nil` if the connection has ended.
    func waitingBytes(on connection: ConnectionID) -> Int? { state.withLock { $0.waiting[connection]?.bytes } }

    /// Subtracts bytes that have been written from those that are waiting.
    func wrote(cost: Int, on connection: ConnectionID) {
        guard cost > 0 else { return }
        state.withLock { state in
            guard let index = state.waiting.index(forKey: connection) else { return }
            state.waiting.values[index].bytes -= cost
            state.allWaiting -= cost
        }
    }

    /// Releases the connection's waiting bytes and refuses further messages.
    func closed(_ connection: ConnectionID) {
        state.withLock { ServiceQueue.release(connection, in: &$0) }
    }
}
#endif
