#if WebSocket
import AdapterSupport
import CLibwebsockets

/// Writes the answers of requests.
///
/// The library would handle writability only together with input. A client that sends its next requests, but does not read its
/// answer, would then keep the thread busy. Therefore, the library neither reads nor writes on a connection from the end of the
/// request to the end of its answer.
extension LibraryLoop {
    func perform(_ command: HTTPExchangeCommand, on id: HTTPExchangeID) {
        guard let exchange = exchanges[id] else { return queue.closed(id.connection) }
        switch command {
        case .answer(let answer):
            guard exchange.phase == .waiting else { return }
            exchange.closes = exchange.closes || answer.closes || http.isLast(exchange.handle)
            exchange.outgoing.append(answer.bytes(closes: exchange.closes, hasBody: !exchange.isHead), cost: 0)
            exchange.phase = .answering
            http.release(exchange.handle, at: .now)
        case .open(let head):
            guard exchange.phase == .waiting else { return }
            exchange.closes = true
            exchange.outgoing.append(head.bytes(closes: true, hasEnd: false), cost: 0)
            exchange.phase = .streaming
        case .append(let part, let cost):
            guard exchange.phase == .streaming else { return }
            exchange.outgoing.append(part, cost: cost)
        case .close:
            guard exchange.phase == .streaming else { return }
            exchange.isComplete = true
        }
        // A watcher that runs continues the output.
        if !exchange.writability.isRunning { flush(exchange) }
    }

    /// Writes what waits, as far as the system accepts it.
    private func flush(_ exchange: HTTPExchange) {
        while !exchange.outgoing.isEmpty {
            switch exchange.outgoing.write(to: exchange.handle) {
            case .wrote: exchange.blockedSince = nil
            case .full:
                if exchange.blockedSince == nil { exchange.blockedSince = .now }
                return exchange.writability.start(eventLoop, lws_get_socket_fd(exchange.handle)) {
                    [unowned self, exchange] in
                    flush(exchange)
                }
            case .broken: return discard(exchange.handle)
            }
        }
        queue.wrote(cost: exchange.outgoing.takeWrittenCost(), on: exchange.id.connection)
        if exchange.phase == .answering || exchange.isComplete { finish(exchange) }
    }

    /// Gives the connection back to the library, for the next request or for its end.
    private func finish(_ exchange: HTTPExchange) {
        let handle = exchange.handle
        endExchange(of: handle)
        lws_rx_flow_control(handle, 1)
        if !exchange.closes, completeTransaction(handle) { return http.answered(handle) }
        // The library closes a connection gracefully only at the end of a callback.
        pageTransfers[handle] = .written(closes: true)
        lws_callback_on_writable(handle)
    }

    /// Destroys the connections of clients that have gone while their requests wait, as the library does not read from
    /// them, and of those that do not read.
    func watchExchanges() {
        let held = exchanges.all.filter { $0.phase != .readingBody }
        guard !held.isEmpty else { return }
        var sockets = held.map { exchange in
            // A client that has finished sending may still wait for the answer, but not for a stream of events.
            let finished = exchange.phase == .streaming ? Int16(CLWS_POLL_FINISHED) : 0
            return pollfd(fd: lws_get_socket_fd(exchange.handle), events: finished, revents: 0)
        }
        poll(&sockets, nfds_t(sockets.count), 0)
        let now = ContinuousClock.now
        for (exchange, socket) in zip(held, sockets) {
            // After a body in chunks, the library would wait for more of it.
            lws_set_timeout(exchange.handle, NO_PENDING_TIMEOUT, 0)
            // No other limit of time applies to a stream.
            let isStuck = exchange.blockedSince.map { now - $0 >= http.limits.transferTime } ?? false
            if socket.revents != 0 || isStuck { discard(exchange.handle) }
        }
    }
}

/// The bytes of an answer that the system has not accepted yet. Only the listener's thread uses it.
struct AnswerOutput {
    enum Result {
        case wrote
        /// The system accepts no more at the moment.
        case full
        /// The connection is broken.
        case broken
    }

    /// The maximum number of bytes written at once over TLS, which is one record.
    private static let recordBytes = 16_384

    private var bytes: [UInt8] = []
    private var written = 0
    private var cost = 0

    var isEmpty: Bool { written == bytes.count }

    mutating func append(_ more: [UInt8], cost: Int) {
        if isEmpty {
            bytes = more
            written = 0
        } else {
            bytes.append(contentsOf: more)
        }
        self.cost += cost
    }

    /// Returns the cost of everything that has been written since the last call, once all of it has been.
    mutating func takeWrittenCost() -> Int {
        guard isEmpty else { return 0 }
        (bytes, written) = ([], 0)
        defer { cost = 0 }
        return cost
    }

    mutating func write(to handle: OpaquePointer) -> Result {
        let result = bytes.withUnsafeBytes { all in
            let rest = UnsafeRawBufferPointer(rebasing: all[written...])
            guard let secure = lws_get_ssl(handle) else { return AnswerOutput.send(rest, lws_get_socket_fd(handle)) }
            return AnswerOutput.send(rest, secure)
        }
        guard case .success(let count) = result else {
            if case .failure(let stop) = result { return stop.isBroken ? .broken : .full }
            return .broken
        }
        written += count
        return .wrote
    }

    private struct Stop: Error {
        let isBroken: Bool
    }

    private static func send(_ rest: UnsafeRawBufferPointer, _ socket: Int32) -> Swift.Result<Int, Stop> {
        while true {
            let count = StreamSocket.send(rest, on: socket)
            if count >= 0 { return .success(count) }
            if errno == EINTR { continue }
            return .failure(Stop(isBroken: errno != EAGAIN && errno != EWOULDBLOCK))
        }
    }

    private static func send(_ rest: UnsafeRawBufferPointer, _ secure: OpaquePointer) -> Swift.Result<Int, Stop> {
        ERR_clear_error()
        let count = SSL_write(secure, rest.baseAddress, Int32(min(rest.count, recordBytes)))
        if count > 0 { return .success(Int(count)) }
        let isFull = SSL_get_error(secure, count) == SSL_ERROR_WANT_WRITE
        ERR_clear_error()
        return .failure(Stop(isBroken: !isFull))
    }
}

/// Waits until a connection can be written to. Only the listener's thread uses it.
final class Writability {
    private var watcher: UnsafeMutablePointer<clws_writable>?
    private var work: (() -> Void)?

    deinit {
        watcher?.deallocate()
    }

    var isRunning: Bool { work != nil }

    /// Calls the closure once when the descriptor can be written to, unless ``stop(_:)`` is called before.
    func start(_ eventLoop: EventLoop, _ descriptor: Int32, _ work: @escaping () -> Void) {
        let watcher = self.watcher ?? .allocate(capacity: 1)
        if self.watcher == nil {
            watcher.initialize(to: clws_writable())
            watcher.pointee.ready = writabilityReady
            watcher.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
            self.watcher = watcher
        }
        self.work = work
        clws_writable_start(eventLoop.loop, watcher, descriptor)
    }

    func stop(_ eventLoop: EventLoop) {
        guard isRunning, let watcher else { return }
        work = nil
        clws_writable_stop(eventLoop.loop, watcher)
    }

    func ready() {
        let due = work
        work = nil
        due?()
    }
}

// Called on the listener's thread, within a pass of the loop. The watcher's owner stops it before it is released.
func writabilityReady(_ owner: UnsafeMutableRawPointer?) {
    guard let owner else { return }
    Unmanaged<Writability>.fromOpaque(owner).takeUnretainedValue().ready()
}
#endif
