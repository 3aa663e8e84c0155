/// A connection through a proxy to a server.
package final class ProxyTunnel: Sendable {
    package let descriptor: OwnedDescriptor
    /// The bytes that the server has sent with the proxy's answer.
    package let first: [UInt8]

    private init(_ descriptor: OwnedDescriptor, first: [UInt8]) {
        self.descriptor = descriptor
        self.first = first
    }

    /// Connects to the proxy and asks it for a connection to the server. Blocks until that is open, or has failed.
    ///
    /// - Parameters:
    ///   - addresses: The proxy's numeric addresses, tried in this order until one of them accepts. Each has an equal
    ///     share of the remaining time.
    ///   - limit: The maximum time for all of this.
    ///   - end: When that time ends; by default, it begins now.
    package static func open(
        to destination: ProxyDestination,
        through proxy: ProxyServer,
        at addresses: [String],
        login: ProxyLogin?,
        within limit: Duration,
        until end: ContinuousClock.Instant? = nil
    ) throws(ProxyFailure) -> ProxyTunnel {
        var handshake = ProxyHandshake(proxy.kind, to: destination, login: login)
        let request = try handshake.begin()
        let deadline = end ?? .now + limit
        let socket = try dial(addresses, proxy.port, deadline, limit)
        let exchange = ProxyExchange(socket: socket.number, deadline: deadline, limit: limit)
        try exchange.send(request)
        while true {
            switch try handshake.receive(exchange.read()[...]) {
            case .read: break
            case .send(let bytes): try exchange.send(bytes)
            case .open(let first): return ProxyTunnel(socket, first: first)
            }
        }
    }

    private static func dial(
        _ addresses: [String],
        _ port: UInt16,
        _ deadline: ContinuousClock.Instant,
        _ limit: Duration
    ) throws(ProxyFailure) -> OwnedDescriptor {
        var failure = ProxyFailure.notResolved("the host has no address")
        for (index, address) in addresses.enumerated() {
            let now = ContinuousClock.now
            let until = now + (deadline - now) / (addresses.count - index)
            do throws(ProxyFailure) {
                return try dial(address, port, ProxyExchange(socket: -1, deadline: until, limit: limit))
            } catch {
                failure = error
            }
        }
        throw failure
    }

    private static func dial(
        _ address: String,
        _ port: UInt16,
        _ exchange: ProxyExchange
    ) throws(ProxyFailure) -> OwnedDescriptor {
        switch ConnectAttempt.start(address, port) {
        case .connected(let socket): return socket
        case .pending(let socket):
            try ProxyExchange(socket: socket.number, deadline: exchange.deadline, limit: exchange.limit).wait(POLLOUT)
            if let failure = ConnectAttempt.failure(of: socket) { throw .unreachable(failure) }
            return socket
        case .failed(let text): throw .unreachable(text)
        case .busy: throw .unreachable(StreamSocket.errorText(EAGAIN))
        case .noResources(let text): throw .noResources(text)
        }
    }
}

/// Sends and reads the bytes of a handshake, and waits for the socket in between.
private struct ProxyExchange {
    let socket: Int32
    let deadline: ContinuousClock.Instant
    /// The whole time, for the error when the deadline has passed.
    let limit: Duration

    func send(_ bytes: [UInt8]) throws(ProxyFailure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { StreamSocket.send($0, on: socket) }
            if count > 0 { rest = rest.dropFirst(count) }
            guard count < 0 else { continue }
            guard errno == EAGAIN || errno == EINTR else { throw .closed }
            try wait(POLLOUT)
        }
    }

    /// Returns the next bytes, which are at least one.
    func read() throws(ProxyFailure) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 1_024)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count > 0 { return Array(buffer[..<count]) }
            guard count < 0, errno == EAGAIN || errno == EINTR else { throw .closed }
            try wait(POLLIN)
        }
    }

    func wait(_ events: some BinaryInteger) throws(ProxyFailure) {
        while true {
            let left = deadline - .now
            guard left > .zero else { throw .timeout(limit) }
            var entry = pollfd(fd: socket, events: Int16(events), revents: 0)
            if poll(&entry, 1, left.pollMilliseconds) > 0 { return }
        }
    }
}
