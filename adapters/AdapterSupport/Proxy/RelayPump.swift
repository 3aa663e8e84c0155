/// Passes bytes between a relay's client and its tunnel. Only the relay's thread uses it.
struct RelayPump {
    private let client: OwnedDescriptor
    private let tunnel: ProxyTunnel
    private var up = RelayDirection()
    private var down: RelayDirection
    /// Whether the client has closed both directions.
    private var clientIsGone = false
    /// Whether both directions of the tunnel have ended. There may still be bytes to read.
    private var tunnelIsGone = false
    private var deadline: ContinuousClock.Instant?

    init(client: OwnedDescriptor, tunnel: ProxyTunnel) {
        self.client = client
        self.tunnel = tunnel
        down = RelayDirection(first: tunnel.first)
    }

    private var near: Int32 { client.number }
    private var far: Int32 { tunnel.descriptor.number }

    /// Passes bytes until both directions have ended, or the owner's grace has expired.
    ///
    /// - Returns: The number of bytes of the client that were not passed on because the grace has expired.
    mutating func run(_ control: RelayControl) -> Int {
        pass()
        while !(up.isDone && down.isDone) {
            if control.isFinishing || clientIsGone { deadline = deadline ?? .now + TunnelRelay.grace }
            let left = deadline.map { $0 - .now }
            if let left, left <= .zero { return up.discard(from: near) }
            wait(control, left)
            pass()
        }
        return 0
    }

    private mutating func wait(_ control: RelayControl, _ limit: Duration?) {
        let nearEvents = events(reading: up, writing: down)
        let farEvents = events(reading: down, writing: up)
        // `poll` reports the end of a connection again and again, even if no event is requested.
        let (ignoresNear, ignoresFar) = (clientIsGone && nearEvents == 0, tunnelIsGone && farEvents == 0)
        var entries = [
            pollfd(fd: ignoresNear ? -1 : near, events: nearEvents, revents: 0),
            pollfd(fd: ignoresFar ? -1 : far, events: farEvents, revents: 0),
            pollfd(fd: control.wake.readEnd, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&entries, 3, limit?.pollMilliseconds ?? -1) > 0 else { return }
        if entries[2].revents != 0 { control.wake.drain() }
        let ends = Int16(POLLHUP | POLLERR | POLLNVAL)
        if entries[0].revents & ends != 0 { clientIsGone = true }
        if entries[1].revents & ends != 0 { tunnelIsGone = true }
    }

    private func events(reading: RelayDirection, writing: RelayDirection) -> Int16 {
        Int16((reading.wantsInput ? POLLIN : 0) | (writing.isWaiting ? POLLOUT : 0))
    }

    private mutating func pass() {
        if clientIsGone { down.abandon() }
        up.pass(from: near, to: far)
        down.pass(from: far, to: near)
        // Neither end of a dead tunnel is usable, so that the client learns it as if it was connected itself.
        if down.hasFailed { up.abandon() }
        if up.isAbandoned { shutdown(near, Int32(SHUT_RD)) }
    }
}

/// One direction of a relay, with the bytes that are read but not written yet.
struct RelayDirection {
    static let bufferSize = 65_536
    /// How often a direction reads before the other one has its turn.
    private static let turns = 16

    private var buffer = [UInt8](repeating: 0, count: RelayDirection.bufferSize)
    private var waiting = 0..<0
    private var hasEnded = false
    private var hasToldEnd = false
    /// Whether reading ended with an error.
    private(set) var hasFailed = false
    /// Whether nothing more can be written.
    private(set) var isAbandoned = false

    /// - Parameter first: Bytes to write before all others, at most ``bufferSize``.
    init(first: [UInt8] = []) {
        let count = min(first.count, buffer.count)
        buffer.replaceSubrange(..<count, with: first[..<count])
        waiting = 0..<count
    }

    var isWaiting: Bool { !waiting.isEmpty }
    var wantsInput: Bool { waiting.isEmpty && !hasEnded && !isAbandoned }
    var isDone: Bool { isAbandoned || (hasToldEnd && waiting.isEmpty) }

    /// Gives up writing, because the receiver is gone.
    mutating func abandon() {
        isAbandoned = true
        waiting = 0..<0
    }

    /// Gives up writing, because the receiver is too slow.
    ///
    /// - Returns: The number of bytes that were not written, of which the socket holds the last ones.
    mutating func discard(from source: Int32) -> Int {
        var count = waiting.count
        // The client may not have ended, so this reads no more than the socket can hold.
        for _ in 0..<RelayDirection.turns where !hasEnded && !isAbandoned && fill(from: source) {
            count += waiting.count
        }
        abandon()
        return count
    }

    /// Passes bytes on until one side has to be waited for.
    mutating func pass(from source: Int32, to target: Int32) {
        for _ in 0..<RelayDirection.turns {
            if wantsInput, !fill(from: source) { break }
            if isWaiting, !write(to: target) { break }
            guard wantsInput else { break }
        }
        guard hasEnded, waiting.isEmpty, !hasToldEnd, !isAbandoned else { return }
        hasToldEnd = true
        shutdown(target, Int32(SHUT_WR))
    }

    /// - Returns: Whether bytes were read, or the end.
    private mutating func fill(from source: Int32) -> Bool {
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { return false }
            guard count > 0 else {
                (hasEnded, waiting) = (true, 0..<0)
                hasFailed = count < 0
                return true
            }
            waiting = 0..<count
            return true
        }
    }

    /// - Returns: Whether all waiting bytes were written.
    private mutating func write(to target: Int32) -> Bool {
        while isWaiting {
            let count = buffer[waiting].withUnsafeBytes { StreamSocket.send($0, on: target) }
            if count < 0 && errno == EINTR { continue }
            if count < 0 && errno == EAGAIN { return false }
            guard count > 0 else {
                abandon()
                return false
            }
            waiting = (waiting.lowerBound + count)..<waiting.upperBound
        }
        return true
    }
}
