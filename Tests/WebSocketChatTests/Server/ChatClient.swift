import SignalboxTesting
import Testing

@testable import WebSocketChat

/// Clients on one transport.
struct ChatClients: Sendable {
    let transport: LibraryTransport
    let events = EventList<TransportEvent>()

    /// Runs `body` with clients, whose transport ends with it.
    static func with<Result>(
        _ limits: TransportLimits = TransportLimits(),
        _ body: (ChatClients) async throws -> Result
    ) async throws -> Result {
        let clients = try await ChatClients(limits)
        do {
            let result = try await body(clients)
            await clients.stop()
            return result
        } catch {
            await clients.stop()
            throw error
        }
    }

    private init(_ limits: TransportLimits) async throws {
        let events = events
        transport = try await LibraryTransport.client(limits: limits) { _ in ClientReceiver(events) }
    }

    private func stop() async {
        transport.stop()
        await transport.stopped()
    }

    /// Connects, to the path `/`, and waits until the connection is open.
    func open(_ port: UInt16, _ change: (inout ClientTarget) -> Void = { _ in }) async throws -> ChatClient {
        let client = ChatClient(id: transport.connect(to: .root(port, change)), clients: self)
        guard let first = await client.firstEvent(), case .opened = first else {
            throw UnexpectedEvent(await client.firstEvent())
        }
        return client
    }

    /// How an attempt to connect ends that is refused.
    func refusal(_ port: UInt16, _ change: (inout ClientTarget) -> Void = { _ in }) async -> TransportEvent? {
        let client = ChatClient(id: transport.connect(to: .root(port, change)), clients: self)
        return await client.firstEvent()
    }
}

/// One client's connection.
struct ChatClient: Sendable {
    let id: ConnectionID
    let clients: ChatClients

    func send(_ text: String) {
        #expect(clients.transport.send(Array(text.utf8), .text, on: id) == .accepted)
    }

    /// The texts that came, once there are so many.
    @discardableResult
    func texts(_ count: Int) async -> [String] {
        let id = id
        return Self.texts(of: id, in: await clients.events.wait { Self.texts(of: id, in: $0).count >= count })
    }

    /// The texts that have come.
    var textsSoFar: [String] { Self.texts(of: id, in: clients.events.all) }

    /// How the connection ended.
    func ended() async -> ConnectionEnd? {
        let id = id
        let events = await clients.events.wait { events in events.contains { Self.end(of: id, $0) != nil } }
        return events.lazy.compactMap { Self.end(of: id, $0) }.first
    }

    var subprotocol: String? {
        for case .opened(id, let handshake) in clients.events.all { return handshake.subprotocol }
        return nil
    }

    func close() {
        clients.transport.perform(.close(.normal, reason: "done"), on: id)
    }

    fileprivate func firstEvent() async -> TransportEvent? {
        let id = id
        return await clients.events.wait { $0.contains { $0.connection == id } }.first { $0.connection == id }
    }

    private static func texts(of id: ConnectionID, in events: [TransportEvent]) -> [String] {
        events.compactMap { event in
            guard case .message(id, let bytes, _) = event else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private static func end(of id: ConnectionID, _ event: TransportEvent) -> ConnectionEnd? {
        if case .closed(id, let end) = event { end } else { nil }
    }
}

private final class ClientReceiver: FrameReceiver {
    private let events: EventList<TransportEvent>
    private var messages: [ConnectionID: [UInt8]] = [:]

    init(_ events: EventList<TransportEvent>) {
        self.events = events
    }

    func opened(_ connection: ConnectionID, _ handshake: Handshake) {
        events.append(.opened(connection, handshake))
    }

    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict {
        messages[connection, default: []].append(contentsOf: piece.bytes)
        if piece.isFinal, let message = messages.removeValue(forKey: connection) {
            events.append(.message(connection, message, isBinary: piece.isBinary))
        }
        return .proceed
    }

    func closed(_ connection: ConnectionID, _ end: ConnectionEnd) {
        events.append(.closed(connection, end))
    }

    func ponged(_ connection: ConnectionID) {}
    func drained(_ connection: ConnectionID) {}
    func passEnded() {}
    func ticked() {}
}

extension ClientTarget {
    static func root(_ port: UInt16, _ change: (inout ClientTarget) -> Void = { _ in }) -> ClientTarget {
        var target = ClientTarget(address: "127.0.0.1", port: port, host: "localhost:\(port)", path: "/")
        change(&target)
        return target
    }
}

extension TransportEvent {
    var connection: ConnectionID? {
        switch self {
        case .opened(let id, _), .message(let id, _, _), .ponged(let id), .drained(let id), .closed(let id, _): id
        case .passEnded, .ticked, .refused, .pieces: nil
        }
    }
}
