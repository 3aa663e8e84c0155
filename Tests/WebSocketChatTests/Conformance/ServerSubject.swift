import Logging
import SignalboxCore
import SignalboxTesting

@testable import WebSocketChat

/// A chat server, and a client that connects once in each run.
final class ServerSubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound = ArrivalFeeder.batchMessages
    private let server: WebSocketServer
    private let numbered: NumberedAdapter
    private let client: LibraryTransport
    private let far: Watched<FarSide.State>
    /// The connection of each run.
    private let connections = Watched<[Int: ConnectionID]>([:])

    init(_ source: SourceName, answers: Bool) async throws {
        var configuration = WebSocketServerConfiguration(source: source, port: 0)
        configuration.absentOrigin = .allowed
        configuration.path = "/chat"
        configuration.answers = answers
        server = try WebSocketServer(configuration, logger: Logger(label: "chat") { _ in SwiftLogNoOpLogHandler() })
        numbered = NumberedAdapter(adapter: server, runs: Watched(NumberedAdapter.Runs()))
        adapter = numbered
        let far = Watched(FarSide.State())
        client = try await LibraryTransport.client(limits: .conformance) { _ in FarSide(far) }
        self.far = far
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        let connection = try await connection()
        try far.send(messages, on: connection, by: client)
    }

    private func connection() async throws -> ConnectionID {
        while true {
            let run = try await numbered.current()
            if let known = connections.value[run] { return known }
            try Task.checkCancellation()
            // The run may have ended meanwhile, or not have begun to listen.
            guard let port = await server.port() else {
                await Task.yield()
                continue
            }
            let new = client.connect(to: .local(port))
            await far.until { $0.open[new] != nil || $0.ended[new] != nil }
            if far.value.open[new] != nil {
                connections.change { $0[run] = new }
                return new
            }
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        try await far.answer(to: id)
    }

    func end() async {
        client.stop()
        await client.stopped()
    }
}
