import Foundation
import Logging
import Signalbox
import SignalboxCore
import WebSocketChat

/// The client as shipped, either with an intake that only counts, or with a supervisor and a typed plugin.
struct FeedRun {
    private static let source: SourceName = "feed"

    let port: UInt16
    let meter: Meter

    func withoutSupervisor() async throws {
        let feed = try makeFeed()
        let run = Task { try await feed.run(into: CountingIntake(meter: meter)) }
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    func supervised(_ reading: Reading, runsInline: Bool = false) async throws {
        let supervisor = Supervisor(logger: .silent)
        try supervisor.add(makeFeed())
        try reading.register(with: supervisor, source: FeedRun.source, meter: meter, runsInline: runsInline)
        let run = Task { try await supervisor.run() }
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    private func makeFeed() throws -> WebSocketFeed {
        var configuration = WebSocketFeedConfiguration(
            source: FeedRun.source,
            url: try WebSocketURL("ws://127.0.0.1:\(port)/")
        )
        configuration.reconnect = nil
        configuration.firstConnectionMustSucceed = true
        return try WebSocketFeed(configuration, logger: .silent)
    }
}

extension Logger {
    /// A logger that discards everything.
    static var silent: Logger { Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() } }
}

/// The server as shipped, either with an intake that only counts, or with a supervisor and a typed plugin.
struct ServerRun {
    private static let source: SourceName = "chat"
    private static let tag = "all"

    let meter: Meter
    /// Whether the server answers an action that has an id with its outcome, as it does by default.
    let answers: Bool

    func withoutSupervisor() async throws {
        let server = try makeServer()
        let run = Task { try await server.run(into: CountingIntake(meter: meter)) }
        await tellPort(of: server)
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    func supervised(_ reading: Reading, runsInline: Bool = false) async throws {
        let supervisor = Supervisor(logger: .silent)
        let server = try makeServer()
        try supervisor.add(server)
        try reading.register(with: supervisor, source: ServerRun.source, meter: meter, runsInline: runsInline)
        let run = Task { try await supervisor.run() }
        await tellPort(of: server)
        await meter.untilDone()
        run.cancel()
        try await run.value
    }

    /// Replies to each payment with the same payment, until the process ends.
    func echo(runsInline: Bool) async throws {
        let supervisor = Supervisor(logger: .silent)
        let server = try makeServer()
        try supervisor.add(server)
        try supervisor.register(
            Registration(
                "payment",
                as: Payment.self,
                from: .source(ServerRun.source),
                options: PluginOptions(runsInline: runsInline)
            ) { payment, _ in payment }
        )
        async let run: Void = supervisor.run()
        await tellPort(of: server)
        try await run
    }

    /// Sends each payment to every connection, until the process ends.
    func broadcast() async throws {
        let supervisor = Supervisor(logger: .silent)
        let server = try makeServer(announces: true)
        try supervisor.add(server)
        let rule = AccessRule.source(ServerRun.source)
        try supervisor.register(
            Registration(.chatConnected, as: RawBody.self, from: rule) { _, context in
                precondition(context.chat?.join(ServerRun.tag) == true, "a new connection has no tag")
            }
        )
        try supervisor.register(
            Registration("payment", as: RawBody.self, from: rule) { payment, context in
                _ = context.chat?.broadcast("payment", payment.bytes, to: ServerRun.tag)
            }
        )
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

/// Settles every arrival immediately, on the adapter's thread.
struct CountingIntake: Intake {
    let meter: Meter

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        for arrival in batch {
            _ = meter.count()
            sink.mayAcknowledge(arrival.token)
            sink.settle(arrival.token, .handled(reply: nil))
        }
        return batch.count
    }

    func room() async throws(SourceClosed) {}
}

/// The body type with a synthesised `Decodable` conformance.
struct Payment: Codable, Sendable {
    let amount: Int
    let transactionId: String
    let paymentId: String
    let paymentGoodsName: String
}

/// The same body type with a hand-written reader.
struct HandReadPayment: BodyReadable, Sendable {
    let amount: Int
    let transactionId: String
    let paymentId: String
    let paymentGoodsName: String

    init(reading body: borrowing BodyReader) throws(BodyError) {
        amount = try body.int("amount")
        transactionId = try body.string("transactionId")
        paymentId = try body.string("paymentId")
        paymentGoodsName = try body.string("paymentGoodsName")
    }
}

/// The decoding of the plugin's body.
enum Reading {
    case codable
    case byHand

    /// Registers a plugin that checks one member and counts.
    func register(with supervisor: Supervisor, source: SourceName, meter: Meter, runsInline: Bool) throws {
        switch self {
        case .codable:
            try supervisor.register(
                Registration(
                    "payment",
                    as: Payment.self,
                    from: .source(source),
                    options: PluginOptions(runsInline: runsInline)
                ) { payment, _ in
                    precondition(payment.amount > 0, "invalid payment")
                    _ = meter.count()
                }
            )
        case .byHand:
            try supervisor.register(
                Registration(
                    "payment",
                    as: HandReadPayment.self,
                    from: .source(source),
                    options: PluginOptions(runsInline: runsInline)
                ) {
                    payment,
                    _ in
                    precondition(payment.amount > 0, "invalid payment")
                    _ = meter.count()
                }
            )
        }
    }
}
