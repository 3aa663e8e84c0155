import Logging
import SignalboxCore
import Synchronization
import WebSocketChat

/// Tells on stderr where the chats of a program listen, as soon as they do.
final class ListeningNotes: Sendable {
    private struct Expected {
        let server: WebSocketServer
        let isFirst: Bool
    }

    /// Yields when one of the first chats has ended without listening.
    let failures: AsyncStream<Void>
    private let failing: AsyncStream<Void>.Continuation
    private let servers: AsyncStream<Expected>
    private let expecting: AsyncStream<Expected>.Continuation
    private let hasBegun = Atomic(false)
    private let level: Logger.Level

    /// - Parameter level: what is less severe is not logged.
    init(level: Logger.Level) {
        self.level = level
        (failures, failing) = AsyncStream.makeStream()
        (servers, expecting) = AsyncStream.makeStream()
    }

    /// A chat that is about to begin.
    func expect(_ server: WebSocketServer) {
        expecting.yield(Expected(server: server, isFirst: !hasBegun.load(ordering: .relaxed)))
    }

    /// All chats of the first configuration are expected; those that come later may fail alone.
    func begin() {
        hasBegun.store(true, ordering: .relaxed)
    }

    /// Tells of each chat until the task is cancelled.
    func serve() async {
        await withDiscardingTaskGroup { group in
            for await expected in servers {
                group.addTask { await self.tell(of: expected) }
            }
        }
    }

    private func tell(of expected: Expected) async {
        let server = expected.server
        guard let port = await server.port() else {
            if expected.isFirst { failing.yield() }
            return
        }
        // The chat says the same to the log.
        guard level > .info else { return }
        let place = ListeningNotes.url(of: server.configuration, port: port)
        DiagnosticOutput.shared.tell("source \(server.source): listening on \(place)")
    }

    private static func url(of configuration: WebSocketServerConfiguration, port: UInt16) -> String {
        let address = configuration.address
        let host = address.contains(":") ? "[\(address)]" : address
        return "\(configuration.identity == nil ? "ws" : "wss")://\(host):\(port)\(configuration.path)"
    }
}
