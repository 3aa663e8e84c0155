import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing

@testable import BrokerKit
@testable import WebSocketChat

/// A chat server while a test uses it.
struct ServerTrial: Sendable {
    let server: WebSocketServer
    let port: UInt16
    let log: EventList<String>

    /// A server of this machine that lets in whoever names no origin and has patience with who is slow, unless the test says
    /// otherwise.
    static func configuration(
        _ change: (inout WebSocketServerConfiguration) -> Void = { _ in }
    ) -> WebSocketServerConfiguration {
        var configuration = WebSocketServerConfiguration(source: "chat", port: 0)
        configuration.absentOrigin = .allowed
        // A raw client that waits for its turn on a busy machine answers no ping, and finishes its request late.
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
                // The run waits for outcomes that nobody would give any more.
                (intake as? FakeIntake)?.giveUp()
                throw error
            }
            group.cancelAll()
            try await group.waitForAll()
            return result
        }
    }

    /// Runs a server behind a supervisor with the plugins that `register` gives it.
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

    /// What the server answers a request that is written as it is: the status, and all that came until the other side
    /// closed or the head was there.
    func answer(to request: String) async -> (status: Int, text: String) {
        guard let peer = RawPeer(port: port) else { return (0, "") }
        peer.write(request)
        let bytes = await peer.read { String(decoding: $0, as: UTF8.self).contains("\r\n\r\n") }
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.split(separator: " ", maxSplits: 2)
        return (words.count > 1 ? Int(words[1]) ?? 0 : 0, text)
    }

    /// A socket on which WebSocket is spoken from now on.
    func rawPeer() async throws -> RawPeer {
        let peer = try #require(RawPeer(port: port))
        peer.write(ServerTrial.upgrade())
        let answer = await peer.read { $0.suffix(4).elementsEqual("\r\n\r\n".utf8) }
        try #require(answer.starts(with: Array("HTTP/1.1 101 ".utf8)))
        return peer
    }

    /// The status with which an upgrade is answered.
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
