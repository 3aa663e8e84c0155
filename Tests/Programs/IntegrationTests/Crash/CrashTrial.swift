import BrokerKit
import Foundation
import Testing

/// Runs one row of the matrix: a worker that dies, a second one that takes over, and the ledgers of both and of the
/// publisher.
struct CrashTrial {
    private static let messages = 120
    private static let window = 20
    /// In the middle of a batch: until there batches grow from one message to ``window``.
    private static let deathAt = 60

    let row: CrashRow
    private let place: Workplace
    private let relay: Relay
    private let authority: TestAuthority?

    static func run(_ row: CrashRow) async throws -> CrashResult {
        let authority = row.transport == .tls ? try await TestAuthority() : nil
        defer { authority?.remove() }
        var options = BrokerOptions()
        if let authority { options.security = .tls(authority) }
        var result: CrashResult?
        try await Workplace.with(options) { place in
            let relay = try Relay()
            defer { relay.close() }
            relay.forward(to: UInt16(place.broker.port))
            result = try await CrashTrial(row: row, place: place, relay: relay, authority: authority).run()
        }
        return try #require(result)
    }

    private func run() async throws -> CrashResult {
        let first = try await firstWorker()
        let publisher = try publish(action: "log", first: 1, count: CrashTrial.messages)
        // Held at the first message, it has the others before it when it goes on, so that batches are full.
        try await first.output.untilLine(containing: "holding 1")
        #expect(await publisher.status() == 0)
        try first.goOn()
        if row.point == .duringReconnect { try await killDuringReconnect(first) }
        #expect(await first.status() == -SIGKILL)
        if row.session == .lost { try await wipe() }
        relay.letAnswersThrough()
        let second = try await WorkerRun.subscribed(arguments)
        let session = row.session == .kept ? "the session was kept" : "with a new session"
        try await second.diagnostics.untilLine(containing: session)
        // The broker sends in order: when this one is handled, the others are, or are in its batch.
        #expect(try await publish(action: "marker", first: 0, count: 1).status() == 0)
        #expect(await second.status() == 0)
        return CrashResult(
            acknowledged: try place.lines(of: "sent-1.txt"),
            handled: try place.lines(of: "handled.txt"),
            row: row
        )
    }

    private func firstWorker() async throws -> WorkerRun {
        var words = arguments + ["--hold-at", "1"]
        switch row.point {
        case .insidePlugin: words += ["--die", "plugin", "--die-at", "\(CrashTrial.deathAt)"]
        case .betweenBatchAndFlush: words += ["--die", "flush", "--die-at", "\(CrashTrial.deathAt)"]
        case .duringReconnect: words += ["--hold-at", "\(CrashTrial.deathAt)"]
        }
        return try await WorkerRun.subscribed(words)
    }

    /// Breaks the connection while a batch is held, lets the worker connect again, and kills it when the broker has answered
    /// that and the worker has not heard it.
    private func killDuringReconnect(_ worker: WorkerRun) async throws {
        try await worker.output.untilLine(containing: "holding \(CrashTrial.deathAt)")
        relay.cut()
        relay.withholdAnswers(afterRecords: row.transport == .tls ? 2 : 0)
        relay.mend()
        try worker.goOn()
        try await relay.untilAnswerIsWithheld()
        worker.signal(SIGKILL)
    }

    private func wipe() async throws {
        await place.broker.kill()
        try place.broker.forget()
        try await place.broker.restart()
    }

    private var arguments: [String] {
        let server = authority == nil ? "mqtt://127.0.0.1" : "mqtts://localhost"
        let trust = authority.map { ["--ca", $0.authorityFile] } ?? []
        return trust + [
            "--broker", "\(server):\(relay.port)", "--mqtt", row.version, "--qos", "\(row.quality)", "--window",
            "\(CrashTrial.window)", "--ledger", place.file("handled.txt").path,
        ]
    }

    private func publish(action: String, first: Int, count: Int) throws -> RunningProgram {
        try RunningProgram(
            BuiltProgram.path("LedgerPublisher"),
            [
                "--port", "\(place.broker.openPort)", "--topic", "crash/\(action)", "--payload", #"{"n":{n}}"#,
                "--first",
                "\(first)", "--count", "\(count)", "--ledger", place.file("sent-\(first).txt").path,
            ]
        )
    }
}
