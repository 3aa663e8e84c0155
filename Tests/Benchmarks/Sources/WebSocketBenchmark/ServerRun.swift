import Foundation
import Logging
import Signalbox
import SignalboxCore
import WebSocketChat

/// The server as it is shipped, with an intake that only counts, or with a supervisor and a typed plugin.
struct ServerRun {
    private static let source: SourceName = "chat"
    private static let tag = "all"

    let meter: Meter
    /// Whether an action that has an id is answered with its outcome, which is the default.
    let answers: Bool

    func withoutSupervisor() async throws {
        let server = try makeServer()
        let run = Task { try await server.run(into: CountingIntake(meter: meter)) }
        await tellPort(of: server)
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    func supervised(_ reading: Reading) async throws {
        let supervisor = Supervisor(logger: .silent)
        let server = try makeServer()
        try supervisor.add(server)
        try reading.register(with: supervisor, source: ServerRun.source, meter: meter)
        let run = Task { try await supervisor.run() }
        await tellPort(of: server)
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    /// Answers each payment with itself, until the process is ended.
    func echo() async throws {
        let supervisor = Supervisor(logger: .silent)
        let server = try makeServer()
        try supervisor.add(server)
        try supervisor.register("payment", as: Payment.self, from: .source(ServerRun.source)) { payment, _ in payment }
        async let run: Void = supervisor.run()
        await tellPort(of: server)
        try await run
    }

    /// Sends each payment to every connection, until the process is ended.
    func broadcast() async throws {
        let supervisor = Supervisor(logger: .silent)
        let server = try makeServer(announces: true)
        try supervisor.add(server)
        let rule = AccessRule.source(ServerRun.source)
        try supervisor.register(.chatConnected, as: RawBody.self, from: rule) { _, context in
            precondition(context.chat?.join(ServerRun.tag) == true, "a new connection has no tag")
        }
        try supervisor.register("payment", as: RawBody.self, from: rule) { payment, context in
            _ = context.chat?.broadcast("payment", payment.bytes, to: ServerRun.tag)
        }
        async let run: Void = supervisor.run()
        await tellPort(of: server)
        try await run
    }

    private func makeServer(announces: Bool = false) throws -> WebSocketServer {
        var configuration = WebSocketServerConfiguration(source: ServerRun.source, port: 0)
        configuration.absentOrigin = .allowed
        configuration.answers = answers
        configuration.announcesConnections = announces
        configuration.connections = 15_000
        return try WebSocketServer(configuration, logger: .silent)
    }

    private func tellPort(of server: WebSocketServer) async {
        guard let port = await server.port() else { exit(2) }
        print(port)
        fflush(nil)
    }
}
