import Testing

@testable import WebSocketChat

/// A transport with what its receiver is told. One test task uses it.
struct Party {
    let transport: LibraryTransport
    private var events: AsyncStream<TransportEvent>.Iterator

    static func client(
        _ manners: RecordingReceiver.Manners = .init(),
        limits: TransportLimits = TransportLimits()
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

    mutating func next() async -> TransportEvent? {
        await events.next()
    }

    /// The next event.
    ///
    /// - Throws: ``UnexpectedEvent`` when the task was cancelled, as by a test's time limit.
    mutating func some() async throws -> TransportEvent {
        guard let event = await next() else { throw UnexpectedEvent(nil) }
        return event
    }

    mutating func opened(passingOver other: TransportEvent? = nil) async throws -> (ConnectionID, Handshake) {
        var event = await next()
        while let other, event == other { event = await next() }
        guard case .opened(let id, let handshake) = event else { throw UnexpectedEvent(event) }
        return (id, handshake)
    }

    mutating func message() async throws -> [UInt8] {
        let event = await next()
        guard case .message(_, let bytes, _) = event else { throw UnexpectedEvent(event) }
        return bytes
    }

    mutating func ended(passingOver other: TransportEvent? = nil) async throws -> ConnectionEnd {
        var event = await next()
        while let other, event == other { event = await next() }
        guard case .closed(_, let end) = event else { throw UnexpectedEvent(event) }
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

extension ClientTarget {
    static func local(_ port: UInt16, _ change: (inout ClientTarget) -> Void = { _ in }) -> ClientTarget {
        var target = ClientTarget(address: "127.0.0.1", port: port, host: "localhost:\(port)", path: "/chat")
        change(&target)
        return target
    }
}
