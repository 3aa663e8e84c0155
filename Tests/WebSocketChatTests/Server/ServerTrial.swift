import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import BrokerKit
@testable import WebSocketChat

/// A running chat server.
struct ServerTrial: Sendable {
    let server: WebSocketServer
    let port: UInt16
    let log: EventList<String>

    /// Returns the configuration of a local server. Unless `change` overrides it, the server admits clients without an
    /// origin and tolerates slow ones.
    static func configuration(
        _ change: (inout WebSocketServerConfiguration) -> Void = { _ in }
    ) -> WebSocketServerConfiguration {
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        configuration.absentOrigin = .allowed
        // On a busy machine, a raw client may answer no pings and finish its request late.
        configuration.handshakeTimeout = .seconds(300)
        configuration.pingAfter = .seconds(3_600)
        configuration.messageTimeout = .seconds(3_600)
        configuration.silenceLimit = .seconds(7_200)
        change(&configuration)
        return configuration
    }

    static func make(
        _ configuration: WebSocketServerConfiguration
    ) throws -> (server: WebSocketServer, log: EventList<String>) {
        let log = EventList<String>()
        let logger = Logger(label: "test") { _ in RecordingLog(log) }
        return (try WebSocketServer(configuration, logger: logger), log)
    }

    /// Runs a server into the intake while `body` works, then stops it gracefully.
    @discardableResult
    static func with<Result: Sendable>(
        intake: any Intake = FakeIntake.handling(),
        _ change: (inout WebSocketServerConfiguration) -> Void = { _ in },
        _ body: (ServerTrial) async throws -> Result
    ) async throws -> Result {
        let (server, log) = try make(configuration(change))
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run(into: intake) }
            guard let port = await server.port() else {
                try await group.next()
                throw NeverListened()
            }
            let result: Result
            do {
                result = try await body(ServerTrial(server: server, port: port, log: log))
            } catch {
                // The run would wait for outcomes that can no longer arrive.
                (intake as? FakeIntake)?.settleAll()
                throw error
            }
            group.cancelAll()
            try await group.waitForAll()
            return result
        }
    }

    /// Runs a server behind a supervisor with the plugins that `register` adds.
    static func supervised(
        _ change: (inout WebSocketServerConfiguration) -> Void = { _ in },
        register: (Supervisor) throws -> Void,
        _ body: (ServerTrial, Supervisor) async throws -> Void
    ) async throws {
        let (server, log) = try make(configuration(change))
        let supervisor = Supervisor(
            configuration: .patient,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try register(supervisor)
        try supervisor.add(server)
        try await supervisor.whileRunning {
            guard let port = await server.port() else { throw NeverListened() }
            try await body(ServerTrial(server: server, port: port, log: log), supervisor)
        }
    }

    /// Returns the server's answer to a verbatim request: the status, and all bytes up to the end of the head or of the
    /// connection.
    func answer(to request: String) async -> (status: Int, text: String) {
        guard let peer = RawPeer(port: port) else { return (0, "") }
        peer.write(request)
        let bytes = await peer.read { String(decoding: $0, as: UTF8.self).contains("\r\n\r\n") }
        let text = String(decoding: bytes, as: UTF8.self)
        let fields = text.split(separator: " ", maxSplits: 2)
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0, text)
    }

    /// Returns a socket with an established WebSocket connection.
    func rawPeer() async throws -> RawPeer {
        let peer = try #require(RawPeer(port: port))
        peer.write(ServerTrial.upgrade())
        let answer = await peer.read { $0.suffix(4).elementsEqual("\r\n\r\n".utf8) }
        try #require(answer.starts(with: Array("HTTP/1.1 101 ".utf8)))
        return peer
    }

    /// Returns the status of the answer to an upgrade.
    func upgrade(_ path: String = "/", _ headers: [String] = []) async -> Int {
        await answer(to: ServerTrial.upgrade(path, headers)).status
    }

    static func upgrade(_ path: String = "/", _ headers: [String] = []) -> String {
        "GET \(path) HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            + headers.map { $0 + "\r\n" }.joined() + "\r\n"
    }
}

struct NeverListened: Error {}

/// Clients on one transport.
struct ChatClients: Sendable {
    let transport: ClientTransport
    let events = EventList<TransportEvent>()

    /// Runs `body` with clients and then stops their transport.
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
        transport = try await ClientTransport.start(limits: limits) { _ in ClientReceiver(events) }
    }

    private func stop() async {
        transport.stop()
        await transport.stopped()
    }

    /// Connects to the path `/` and waits until the connection is open.
    func open(_ port: UInt16, _ change: (inout ClientTarget) -> Void = { _ in }) async throws -> ChatClient {
        let client = ChatClient(id: transport.connect(to: .root(port, change)), clients: self)
        guard let first = await client.firstEvent(), case .opened = first else {
            throw UnexpectedEvent(await client.firstEvent())
        }
        return client
    }

    /// Returns the end of an attempt to connect that is refused.
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

    /// Waits until `count` texts have arrived, and returns them.
    @discardableResult
    func texts(_ count: Int) async -> [String] {
        let id = id
        return Self.texts(of: id, in: await clients.events.wait { Self.texts(of: id, in: $0).count >= count })
    }

    /// The texts received so far.
    var textsSoFar: [String] { Self.texts(of: id, in: clients.events.all) }

    /// Waits for the end of the connection and returns it.
    func ended() async -> DisconnectReason? {
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

    private static func end(of id: ConnectionID, _ event: TransportEvent) -> DisconnectReason? {
        if case .closed(id, let end) = event { end } else { nil }
    }
}

private final class ClientReceiver: ClientFrameReceiver {
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

    func closed(_ connection: ConnectionID, _ end: DisconnectReason) {
        events.append(.closed(connection, end))
    }

    func ponged(_ connection: ConnectionID) {}
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
        case .opened(let id, _), .message(let id, _, _), .ponged(let id), .closed(let id, _): id
        case .passEnded, .ticked, .refused, .pieces: nil
        }
    }
}
