import BrokerKit
import Foundation
import SignalboxStore
import Testing

/// Runs one row of the matrix: one worker dies, a second takes over, and the logs of both and of the publisher are
/// compared.
struct CrashTrial {
    private static let messages = 120
    private static let window = 20
    /// In the middle of the messages, when the window has been full before.
    private static let deathAt = 60

    let row: CrashRow
    private let workspace: Workspace
    private let relay: Relay
    private let authority: TestAuthority?

    static func run(_ row: CrashRow) async throws -> CrashResult {
        let authority = row.transport == .tls ? try await TestAuthority() : nil
        defer { authority?.remove() }
        var options = BrokerOptions()
        if let authority { options.security = .tls(authority) }
        var result: CrashResult?
        try await Workspace.with(options) { workspace in
            let relay = try Relay()
            defer { relay.close() }
            relay.forward(to: UInt16(workspace.broker.port))
            result = try await CrashTrial(row: row, workspace: workspace, relay: relay, authority: authority).run()
        }
        return try #require(result)
    }

    private func run() async throws -> CrashResult {
        let first = try await firstWorker()
        let publisher = try publish(action: "log", first: 1, count: CrashTrial.messages)
        // While the worker holds the first message, others arrive, until the window is full.
        try await first.output.untilLine(containing: "holding 1")
        #expect(await publisher.status() == 0)
        if row.isJournaled { try await untilTaken(first) }
        if !diesWhileHolding { try first.resume() }
        if row.point == .duringReconnect { try await killDuringReconnect(first) }
        #expect(await first.status() == -SIGKILL)
        if row.session == .lost { try await wipe() }
        relay.letAnswersThrough()
        let second = try await CommandProcess.subscribedWorker(arguments)
        let session = row.session == .kept ? "session resumed" : "new session"
        try await second.errors.untilLine(containing: session)
        // The broker sends in order: when this message arrives, the others have arrived, and a stop waits for them.
        #expect(try await publish(action: "marker", first: 0, count: 1).status() == 0)
        #expect(await second.status() == 0)
        if row.isJournaled { try expectEmptyJournal() }
        return CrashResult(
            acknowledged: try workspace.lines(of: "sent-1.txt"),
            handled: try workspace.lines(of: "handled.txt"),
            row: row
        )
    }

    private func firstWorker() async throws -> CommandProcess {
        var words = arguments + ["--hold-at", "1"]
        if row.isJournaled { words += ["--report-taken", "\(taken)"] }
        switch row.point {
        case .insidePlugin: words += ["--die", "plugin", "--die-at", "\(CrashTrial.deathAt)"]
        case .beforeOutcome: words += ["--die", "logged", "--die-at", "\(CrashTrial.deathAt)"]
        case .beforeAcknowledgement:
            let number = diesWhileHolding ? CrashTrial.messages : CrashTrial.deathAt
            words += ["--die", "settlement", "--die-at", "\(number)"]
        case .duringReconnect: words += ["--hold-at", "\(CrashTrial.deathAt)"]
        }
        return try await CommandProcess.subscribedWorker(words)
    }

    /// Whether the process dies while the plugin holds the first message: with a journal no acknowledgement waits for it.
    private var diesWhileHolding: Bool { row.isJournaled && row.point == .beforeAcknowledgement }

    /// The number of acknowledgements that a process with a journal reports.
    private var taken: Int { diesWhileHolding ? CrashTrial.messages - 1 : CrashTrial.messages }

    /// Waits until the messages are on disk. If some still waited at the broker, they would be lost with its session.
    private func untilTaken(_ worker: CommandProcess) async throws {
        try await worker.output.untilLine(containing: "taken \(taken)")
    }

    private func expectEmptyJournal() throws {
        let store = try StoreAdministration(path: store)
        #expect(try store.info().journal.isEmpty)
        #expect(try store.check() == [])
    }

    /// Breaks the connection while messages are held, lets the worker reconnect, and kills it when the broker has
    /// answered but the worker has not received the answer.
    private func killDuringReconnect(_ worker: CommandProcess) async throws {
        try await worker.output.untilLine(containing: "holding \(CrashTrial.deathAt)")
        relay.cut()
        relay.withholdAnswers(afterRecords: row.transport == .tls ? 2 : 0)
        relay.mend()
        // Without a journal, the worker reconnects only when nothing is in progress.
        if !row.isJournaled { try worker.resume() }
        try await relay.untilAnswerIsWithheld()
        worker.signal(SIGKILL)
    }

    private func wipe() async throws {
        await workspace.broker.kill()
        try workspace.broker.forget()
        try await workspace.broker.restart()
    }

    private var arguments: [String] {
        let server = authority == nil ? "mqtt://127.0.0.1" : "mqtts://localhost"
        let trust = authority.map { ["--ca", $0.authorityFile] } ?? []
        let journal = row.isJournaled ? ["--store", store] : []
        return trust + journal + [
            "--broker", "\(server):\(relay.port)", "--mqtt", row.version, "--qos", "\(row.qos)", "--window",
            "\(CrashTrial.window)", "--log", workspace.file("handled.txt").path,
        ]
    }

    private var store: String { workspace.file("messages.db").path }

    private func publish(action: String, first: Int, count: Int) throws -> RunningProgram {
        try workspace.publisher(to: "crash/\(action)", first: first, count: count, port: workspace.broker.openPort)
    }
}
