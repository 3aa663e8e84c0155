import SignalboxTesting
import Testing

@testable import WebSocketChat

/// A transport with what its receiver is told. One test task uses it.
struct Party {
    let transport: LibraryTransport
    private var events: AsyncStream<TransportEvent>.Iterator

    static func client(
        _ manners: RecordingReceiver.Manners = .init(),
        limits: TransportLimits = .unhurried
    ) async throws -> Party {
        let (stream, told) = AsyncStream<TransportEvent>.makeStream()
        let transport = try await LibraryTransport.client(limits: limits) { sender in
            RecordingReceiver(manners, sender: sender, told: told)
        }
        return Party(transport: transport, events: stream.makeAsyncIterator())
    }

    static func server(
        _ manners: RecordingReceiver.Manners = .init(),
        place: ServerPlace = ServerPlace(),
        limits: TransportLimits = TransportLimits()
    ) async throws -> Party {
        let (stream, told) = AsyncStream<TransportEvent>.makeStream()
        let transport = try await LibraryTransport.server(place, limits: limits) { sender in
            RecordingReceiver(manners, sender: sender, told: told)
        }
        return Party(transport: transport, events: stream.makeAsyncIterator())
    }

    mutating func next(file: StaticString = #fileID, line: UInt = #line) async -> TransportEvent? {
        let wait = OpenWaits.begin(OpenWaits.Place(file: file, line: line))
        let event = await events.next()
        OpenWaits.end(wait, wasCancelled: event == nil)
        return event
    }

    /// The next event.
    ///
    /// - Throws: ``UnexpectedEvent`` when the task was cancelled, as by a test's time limit.
    mutating func some() async throws -> TransportEvent {
        guard let event = await next() else { throw UnexpectedEvent(nil) }
        return event
    }

    /// The next event that is neither `other` nor a pong: on a busy machine any of them may have come meanwhile.
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
    ) async throws -> ConnectionEnd {
        let event = await next(passingOver: other)
        guard case .closed(let id, let end) = event, connection == nil || connection == id else {
            throw UnexpectedEvent(event)
        }
        return end
    }

    /// Connects to a port of this machine and waits until the connection is open.
    mutating func open(_ port: UInt16, _ change: (inout ClientTarget) -> Void = { _ in }) async throws -> ConnectionID {
        let id = transport.connect(to: .local(port, change))
        #expect(try await opened().0 == id)
        return id
    }

    func stop() async {
        transport.stop()
        await transport.stopped()
    }
}

struct UnexpectedEvent: Error, CustomStringConvertible {
    let description: String

    init(_ event: TransportEvent?) {
        description = String("unexpected: \(String(describing: event))".prefix(300))
    }
}

extension TransportLimits {
    /// The defaults, but a test that answers by hand may take its time.
    static var unhurried: TransportLimits {
        var limits = TransportLimits()
        limits.connectWithin = 300
        return limits
    }
}

extension ClientTarget {
    static func local(_ port: UInt16, _ change: (inout ClientTarget) -> Void = { _ in }) -> ClientTarget {
        var target = ClientTarget(address: "127.0.0.1", port: port, host: "localhost:\(port)", path: "/chat")
        change(&target)
        return target
    }
}
