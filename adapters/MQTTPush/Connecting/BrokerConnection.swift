#if MQTT
import AdapterSupport
import SecureTransport
import SignalboxCore

/// A single connection to a broker, from its dial until its end. Only one thread may use it.
///
/// In each turn, the connection reads what has arrived, hands it to its role, and writes what the role has added. It never
/// blocks except to wait, and a signal ends that wait.
final class BrokerConnection {
    /// The largest number of bytes read in one turn. Stops, pings and acknowledgements therefore never wait for long.
    static let bytesPerTurn = 1_048_576
    /// The number of bytes that may wait to be written before the connection stops reading.
    private static let outputLimit = 65_536

    let bridge: ThreadBridge<MQTTPushError>
    let settings: any BrokerSettings
    /// The packets that wait to be written.
    var output = PacketOutput()
    /// Checks the broker's packets, and knows which answers it may send.
    var checker: PacketChecker
    /// The identifiers of this client's packets.
    var identifiers = PacketIdentifiers()
    /// What the broker announced when it accepted the connection.
    private(set) var server = Connack.default
    /// Whether the broker has accepted the connection.
    private(set) var isOpen = false
    /// When the broker accepted the connection, or `nil` if it has not.
    private(set) var openedAt: ContinuousClock.Instant?
    /// The broker's reference to another server, with which it has refused or closed the connection.
    private(set) var serverReference: String?

    let role: any BrokerRole
    private let stop: StopLimit
    let limits: ClientLimits
    private let cleanStart: Bool
    var splitter: PacketSplitter
    private var keepalive: KeepaliveClock
    private var coalescer: Coalescer
    /// When the broker must have accepted the connection.
    private var deadline = ContinuousClock.now
    /// Whether the turn has read all that it may, and left the rest to the next one.
    private var isStarved = false
    /// When the link last stopped to accept bytes, or `nil` if it has accepted all of them since.
    private var blockedSince: ContinuousClock.Instant?
    /// Whether there may be whole packets that were read but not handled, because the role did not take them.
    private var holdsPackets = false
    /// The enhanced authentication, until the broker has accepted the connection.
    var exchange: AuthenticationExchange?
    /// The broker's request for a client certificate.
    private var certificateRequest: CertificateRequest?

    /// - Parameters:
    ///   - cleanStart: Whether the broker should discard the client id's session.
    ///   - coalescing: The most by which a message may be delayed under load, or `nil` for no delay.
    init(
        _ settings: any BrokerSettings,
        limits: ClientLimits,
        cleanStart: Bool,
        bridge: ThreadBridge<MQTTPushError>,
        stop: StopLimit,
        role: any BrokerRole,
        coalescing: Duration?
    ) {
        self.settings = settings
        self.limits = limits
        self.cleanStart = cleanStart
        self.bridge = bridge
        self.stop = stop
        self.role = role
        splitter = PacketSplitter(packetLimit: Int(limits.packetBytes))
        let aliases = settings.version == .v5 ? limits.topicAliases : 0
        checker = PacketChecker(version: settings.version, aliasMaximum: aliases, authMethod: nil)
        keepalive = KeepaliveClock(keepalive: settings.keepalive, at: .now)
        coalescer = Coalescer(coalescing)
    }

    /// The largest packet that the broker accepts, in bytes.
    var packetLimit: UInt32 { server.maximumPacketSize ?? .max }

    /// Takes note of acknowledgements that were added to the output.
    func acknowledged(_ count: Int) {
        coalescer.flushed(count)
    }

    /// Connects, then serves the connection until it ends or the thread is stopped. Returns how the connection ended.
    func run() -> BrokerDisconnectReason {
        // A CONNECT with a password may be left.
        defer { output.resetBytes() }
        do throws(LinkError) {
            return try serve()
        } catch {
            return BrokerDisconnectReason(error, settings, isOpen: isOpen, request: certificateRequest)
        }
    }

    private func serve() throws(LinkError) -> BrokerDisconnectReason {
        let destination: Destination
        do throws(MQTTPushError) {
            guard let found = try prepare() else { return .stopped }
            destination = found
        } catch {
            return .setupFailed(error)
        }
        // Reading secrets and files does not count.
        deadline = .now + settings.connectTimeout
        let (stop, end) = (stop, deadline)
        let opened = try Dialer.open(destination, wake: bridge.wake, isStopping: { stop.isDue }, until: end)
        guard let link = opened else { return .stopped }
        // Without traffic, the system would notice after many minutes that the broker is gone.
        if settings.keepalive > .zero { link.limitUnacknowledged(to: settings.keepalive * 3 / 2 + .seconds(10)) }
        while try !advance(link) {
            guard !stop.isDue else { return .stopped }
            guard .now < deadline else { return .attemptTimedOut(.handshake) }
            // The link does not accept the output yet.
            wait(on: link, isReading: true, hasOutput: false, until: min(deadline, stop.deadline ?? deadline))
        }
        keepalive = KeepaliveClock(keepalive: settings.keepalive, at: .now)
        while true {
            do throws(LinkError) {
                if let reason = try turn(link) { return try close(link, reason) }
            } catch {
                if let reason = lastReason(link) { return reason }
                throw error
            }
        }
    }

    /// Reads secrets and files, and adds CONNECT to the output.
    ///
    /// - Returns: The way to the broker, or `nil` if the thread must stop.
    private func prepare() throws(MQTTPushError) -> Destination? {
        let make = { [settings, limits, cleanStart] in
            Result { () throws(MQTTPushError) in
                let prepared = try ConnectPreparation(settings, limits: limits, cleanStart: cleanStart)
                return (prepared, try settings.authentication?.begin())
            }
        }
        guard !stop.isDue else { return nil }
        var prepared: ConnectPreparation
        (prepared, exchange) = try blocking(make)
        defer { prepared.forgetPassword() }
        prepared.request.use(exchange)
        checker.authenticationMethod = exchange?.method
        do throws(PacketEncodingError) {
            try output.add(prepared.request)
        } catch {
            throw .invalid("CONNECT: \(error)")
        }
        return prepared.destination
    }

    /// Continues the handshakes, and keeps what explains their failure.
    private func advance(_ link: any Link) throws(LinkError) -> Bool {
        defer { certificateRequest = link.certificateRequest }
        return try link.advance()
    }

    // MARK: - Turns

    private func turn(_ link: any Link) throws(LinkError) -> BrokerDisconnectReason? {
        if isOpen, bridge.isStopping, let reason = role.stop(self) { return reason }
        if !isOpen, stop.isDue { return .stopped }
        if let reason = try receive(link) { return reason }
        if isOpen, let reason = role.prepare(self) { return reason }
        try write(link)
        return try checkTime(link) ?? waitForWork(link)
    }

    /// Whether packets are taken, as the output and, after CONNACK, the role allow.
    private var mayReceive: Bool { (!isOpen || role.mayReceive) && output.count < BrokerConnection.outputLimit }

    /// How the attempt to connect ends if it must end now, or `nil`.
    var attemptEnd: BrokerDisconnectReason? {
        if stop.isDue { return .stopped }
        return .now < deadline ? nil : .attemptTimedOut(.acceptance)
    }

    private func receive(_ link: any Link) throws(LinkError) -> BrokerDisconnectReason? {
        var budget = BrokerConnection.bytesPerTurn
        var mayHaveMore = true
        isStarved = false
        while true {
            if let reason = dispatch() { return reason }
            keepalive.setReading(mayReceive && splitter.hasSpace, at: .now)
            guard keepalive.isReading, mayHaveMore else { return nil }
            guard budget > 0 else {
                isStarved = true
                return nil
            }
            let count = try splitter.fill { (buffer) throws(LinkError) in try link.read(into: buffer) }
            guard count > 0 else { return nil }
            keepalive.read(at: .now)
            mayHaveMore = link.mayHaveMore
            budget -= count
        }
    }

    /// Hands the received packets to the role, as long as it takes some.
    private func dispatch() -> BrokerDisconnectReason? {
        while mayReceive {
            do throws(PacketViolation) {
                guard let frame = try splitter.next() else {
                    holdsPackets = false
                    return nil
                }
                let reason = try splitter.withBytes { (bytes) throws(PacketViolation) in
                    try handle(checker.check(frame, in: bytes), frame, bytes)
                }
                if let reason { return reason }
            } catch {
                return .violated(error)
            }
        }
        holdsPackets = true
        return nil
    }

    private func handle(
        _ packet: InboundPacket,
        _ frame: PacketFrame,
        _ bytes: UnsafeRawBufferPointer
    ) throws(PacketViolation) -> BrokerDisconnectReason? {
        switch packet {
        case .publish, .oversized: coalescer.received(1)
        default: break
        }
        switch packet {
        case .publish(let publish): try deliver(publish, length: publish.payload.count, frame, bytes)
        case .oversized(let publish, let length): try deliver(publish, length: length, frame, bytes)
        case .puback, .suback, .unsuback: role.answered(packet)
        case .connack(let connack): return open(connack, connack.authenticationData.map { Array(bytes[$0]) })
        case .auth(_, _, let data): return authenticate(data.map { Array(bytes[$0]) } ?? [])
        case .disconnect(let code, let reference): return closed(code, reference)
        case .pong, .ignored: break
        }
        return nil
    }

    /// The reason of the broker's DISCONNECT.
    func closed(_ code: ReasonCode, _ reference: String?) -> BrokerDisconnectReason {
        if code.namesServer { serverReference = reference }
        guard !code.isFailure else { return .closed(code) }
        return .lost("closed by the broker" + (code.reason.map { ": \"\($0)\"" } ?? ""))
    }

    private func open(_ connack: Connack, _ authenticationData: [UInt8]?) -> BrokerDisconnectReason? {
        guard !connack.code.isFailure else {
            if connack.code.namesServer { serverReference = connack.serverReference }
            return .refused(connack.code)
        }
        if let reason = finishAuthentication(authenticationData) { return reason }
        server = connack
        (isOpen, openedAt) = (true, .now)
        if let seconds = connack.serverKeepAlive { keepalive.use(serverKeepalive: seconds) }
        return role.opened(self, connack)
    }

    /// Writes as much of the output as the link accepts.
    func write(_ link: any Link) throws(LinkError) {
        while !output.isEmpty {
            let count = try output.withBytes { (bytes) throws(LinkError) in try link.write(bytes) }
            let now = ContinuousClock.now
            guard count > 0 else {
                blockedSince = blockedSince ?? now
                return
            }
            blockedSince = nil
            output.removeFirst(count)
            keepalive.written(at: now)
        }
        if isOpen { role.written() }
    }

    /// Whether a missing answer means that the broker has not sent it: the request has left, everything that has arrived
    /// was read, and reading has not just resumed.
    private func mayMissAnswer(at now: ContinuousClock.Instant) -> Bool {
        keepalive.isReading && !isStarved && !splitter.hasBytes && output.isEmpty
            && now - keepalive.readingSince >= settings.answerTimeout
    }

    private func checkTime(_ link: any Link) throws(LinkError) -> BrokerDisconnectReason? {
        let now = ContinuousClock.now
        guard isOpen else { return attemptEnd }
        if mayMissAnswer(at: now), role.expectsAnswer, role.isOverdue(at: now) { return .timedOut }
        if let blockedSince, now - blockedSince >= settings.answerTimeout { return .timedOut }
        switch keepalive.check(at: now) {
        case .none: return nil
        case .dead: return .timedOut
        case .ping:
            checker.expectPingResponse()
            output.ping()
            try write(link)
            return nil
        }
    }
}

extension BrokerConnection {
    // MARK: - Waiting

    /// Waits until there is something to read, to write or to do.
    ///
    /// - Returns: How the connection ended, if the broker has ended it while this side does not read.
    private func waitForWork(_ link: any Link) -> BrokerDisconnectReason? {
        let isReading = mayReceive && splitter.hasSpace
        // The turn may have made room for packets whose arrival nothing announces again.
        let hasMore = holdsPackets && mayReceive || isReading && (isStarved || link.mayHaveMore)
        let isDrained = !hasMore && output.isEmpty && !bridge.isStopping
        let nap = coalescer.nap(at: .now, isDrained: isDrained && isReading)
        if hasMore { return nil }
        if let nap {
            nap.sleep()
            return nil
        }
        // Unread bytes may also wait in the socket, so the role must say when it may receive again.
        guard role.beginWaiting(isBlocked: isOpen && !role.mayReceive) else { return nil }
        var limit = isOpen ? keepalive.nextCheck ?? .now + .seconds(60) : deadline
        if role.expectsAnswer || blockedSince != nil || bridge.isStopping { limit = min(limit, .now + .seconds(1)) }
        if isOpen, let turn = role.nextTurn { limit = min(limit, turn) }
        let isClosed = wait(on: link, isReading: isReading, hasOutput: !output.isEmpty, until: limit)
        role.endWaiting()
        // While it reads, this side learns from the read why the connection has ended.
        return isClosed && !isReading ? .lost("closed or reset by peer") : nil
    }
}
#endif
