import SecureTransport
import SignalboxTesting
import Testing

@testable import WebSocketChat

/// A transport that tests start and stop.
protocol StoppableTransport: FrameSender {
    func stop()
    func stopped() async
}

extension ClientTransport: StoppableTransport {}
extension LibraryTransport: StoppableTransport {}

extension TransportTrial where Transport == ClientTransport {
    static func client(
        _ behavior: RecordingReceiver.Behavior = .init(),
        limits: TransportLimits = .unhurried
    ) async throws -> TransportTrial {
        let (stream, continuation) = AsyncStream<TransportEvent>.makeStream()
        let transport = try await ClientTransport.start(limits: limits) { sender in
            RecordingReceiver(behavior, sender: sender, events: continuation)
        }
        return TransportTrial(transport: transport, events: stream.makeAsyncIterator())
    }

    /// Connects to a local port and waits until the connection is open.
    mutating func open(_ port: UInt16, _ change: (inout ClientTarget) -> Void = { _ in }) async throws -> ConnectionID {
        let id = transport.connect(to: .local(port, change))
        #expect(try await opened().0 == id)
        return id
    }
}

extension TransportTrial where Transport == LibraryTransport {
    static func server(
        _ behavior: RecordingReceiver.Behavior = .init(),
        endpoint: ServerEndpoint = ServerEndpoint(),
        limits: TransportLimits = .patient
    ) async throws -> TransportTrial {
        let (stream, continuation) = AsyncStream<TransportEvent>.makeStream()
        let transport = try await LibraryTransport.server(endpoint, limits: limits) { sender in
            RecordingReceiver(behavior, sender: sender, events: continuation)
        }
        return TransportTrial(transport: transport, events: stream.makeAsyncIterator())
    }
}

/// A transport and the events that its receiver reports. Only one test task may use it.
struct TransportTrial<Transport> {
    let transport: Transport
    private let stoppable: any StoppableTransport
    private var events: AsyncStream<TransportEvent>.Iterator

    fileprivate init(transport: Transport, events: AsyncStream<TransportEvent>.Iterator)
    where Transport: StoppableTransport {
        self.init(transport, transport, events)
    }

    private init(
        _ transport: Transport,
        _ stoppable: any StoppableTransport,
        _ events: AsyncStream<TransportEvent>.Iterator
    ) {
        self.transport = transport
        self.stoppable = stoppable
        self.events = events
    }

    /// The trial of a client or a server.
    var erased: TransportTrial<any StoppableTransport> {
        TransportTrial<any StoppableTransport>(stoppable, stoppable, events)
    }

    mutating func next(file: StaticString = #fileID, line: UInt = #line) async -> TransportEvent? {
        let wait = OpenWaits.begin(OpenWaits.Location(file: file, line: line))
        let event = await events.next()
        OpenWaits.end(wait, wasCancelled: event == nil)
        return event
    }

    /// Returns the next event.
    ///
    /// - Throws: ``UnexpectedEvent`` when the task is cancelled, for example by a test's time limit.
    mutating func nextEvent() async throws -> TransportEvent {
        guard let event = await next() else { throw UnexpectedEvent(nil) }
        return event
    }

    /// Returns the next event other than `other` and pongs, which may arrive in between on a busy machine.
    private mutating func next(passingOver other: TransportEvent?) async -> TransportEvent? {
        while let event = await next() {
            if case .ponged = event { continue }
            if event != other { return event }
        }
        return nil
    }

    mutating func opened(passingOver other: TransportEvent? = nil) async throws -> (ConnectionID, Handshake) {
        let event = await next(passingOver: other)
        guard case .opened(let id, let handshake) = event else { throw UnexpectedEvent(event) }
        return (id, handshake)
    }

    mutating func message(passingOver other: TransportEvent? = nil) async throws -> [UInt8] {
        let event = await next(passingOver: other)
        guard case .message(_, let bytes, _) = event else { throw UnexpectedEvent(event) }
        return bytes
    }

    mutating func ended(
        of connection: ConnectionID? = nil,
        passingOver other: TransportEvent? = nil
    ) async throws -> DisconnectReason {
        let event = await next(passingOver: other)
        guard case .closed(let id, let end) = event, connection == nil || connection == id else {
            throw UnexpectedEvent(event)
        }
        return end
    }

    func stop() async {
        stoppable.stop()
        await stoppable.stopped()
    }
}

struct UnexpectedEvent: Error, CustomStringConvertible {
    let description: String

    init(_ event: TransportEvent?) {
        description = String("unexpected: \(String(describing: event))".prefix(300))
    }
}

extension TransportLimits {
    /// The default limits of a server that cuts no client that is slow because the machine is.
    static var patient: TransportLimits {
        var limits = TransportLimits()
        limits.pingAfter = 300
        limits.cutAfter = 600
        return limits
    }

    /// The default limits, with enough time for a test that answers by hand.
    static var unhurried: TransportLimits {
        var limits = TransportLimits()
        limits.connectWithin = 300
        return limits
    }
}

extension ClientTarget {
    /// Uses TLS. The files must be usable.
    mutating func secure(_ trust: WebSocketTrust, _ identity: WebSocketIdentity? = nil) {
        do throws(DisconnectReason) { tls = try TLSContext(trust, identity) } catch { Issue.record(error) }
    }

    static func local(_ port: UInt16, _ change: (inout ClientTarget) -> Void = { _ in }) -> ClientTarget {
        var target = ClientTarget(address: "127.0.0.1", port: port, host: "localhost:\(port)", path: "/chat")
        change(&target)
        return target
    }
}

/// Reassembles messages, follows its behavior and reports events to a test.
final class RecordingReceiver: ServerFrameReceiver, ClientFrameReceiver {
    struct Behavior: Sendable {
        var echoes = false
        var limit = 64 << 20
        var refusesBinary = false
        /// Pauses a connection with the piece that reaches this total number of bytes.
        var pausesAt = Int.max
        var reportsPasses = false
        var reportsTicks = false
        /// Reports the length of the longest piece and the total number of bytes with each end.
        var reportsPieces = false
        var decide: @Sendable (UpgradeRequest) -> HTTPRefusal? = { _ in nil }
    }

    private let behavior: Behavior
    private let sender: any FrameSender
    private let events: AsyncStream<TransportEvent>.Continuation
    private var messages: [ConnectionID: [UInt8]] = [:]
    private var bytes = 0
    private var passBytes = 0
    private var longestPiece = 0

    init(_ behavior: Behavior, sender: any FrameSender, events: AsyncStream<TransportEvent>.Continuation) {
        self.behavior = behavior
        self.sender = sender
        self.events = events
    }

    func refusal(of request: UpgradeRequest, for connection: ConnectionID) -> HTTPRefusal? {
        behavior.decide(request)
    }

    func opened(_ connection: ConnectionID, _ handshake: Handshake) {
        events.yield(.opened(connection, handshake))
    }

    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict {
        if piece.isBinary && behavior.refusesBinary { return .close(.unacceptableData, reason: "text only") }
        precondition(piece.isFirst == (messages[connection] == nil))
        messages[connection, default: []].append(contentsOf: piece.bytes)
        passBytes += piece.bytes.count
        longestPiece = max(longestPiece, piece.bytes.count)
        if messages[connection, default: []].count > behavior.limit {
            bytes += piece.bytes.count
            return .close(.messageTooBig, reason: "too long")
        }
        if piece.isFinal, let message = messages.removeValue(forKey: connection) {
            if behavior.echoes { precondition(sender.send(message, .text, on: connection) == .accepted) }
            events.yield(.message(connection, message, isBinary: piece.isBinary))
        }
        let before = bytes
        bytes += piece.bytes.count
        return before < behavior.pausesAt && bytes >= behavior.pausesAt ? .pause : .proceed
    }

    func ponged(_ connection: ConnectionID) {
        events.yield(.ponged(connection))
    }

    func closed(_ connection: ConnectionID, _ end: DisconnectReason) {
        if behavior.reportsPieces { events.yield(.pieces(longest: longestPiece, all: bytes)) }
        events.yield(.closed(connection, end))
    }

    func refused(status: Int, from address: String) {
        events.yield(.refused(status: status, from: address))
    }

    func ticked() {
        if behavior.reportsTicks { events.yield(.ticked) }
    }

    func passEnded() {
        if behavior.reportsPasses { events.yield(.passEnded(bytes: passBytes)) }
        passBytes = 0
    }
}

extension ClientFrameReceiver {
    func perform(_ command: FeedCommand) {}
}

extension ServerFrameReceiver {
    func listens(on port: UInt16) {}
    func refused(status: Int, from address: String) {}
    func descriptorsExhausted() {}
    func evicted() {}
    func limitReached() {}
}

/// An event that the tests' receiver reports.
enum TransportEvent: Equatable, Sendable {
    case opened(ConnectionID, Handshake)
    case message(ConnectionID, [UInt8], isBinary: Bool)
    case ponged(ConnectionID)
    case closed(ConnectionID, DisconnectReason)
    /// A pass has ended in which pieces of this many bytes arrived.
    case passEnded(bytes: Int)
    case ticked
    case refused(status: Int, from: String)
    case pieces(longest: Int, all: Int)
}
