import BrokerKit
import Foundation
import Testing

@Suite struct CrashMatrixTests {
    private static let wanted = ProcessInfo.processInfo.environment["SIGNALBOX_CRASH_MATRIX"]

    /// The rows with the strongest and the weakest guarantee.
    private static let sample = [
        CrashRow(qos: 1, version: "5", transport: .tls, point: .beforeAcknowledgement, session: .kept),
        CrashRow(qos: 0, version: "3.1.1", transport: .plain, point: .duringReconnect, session: .lost),
    ]

    /// `make heavy-crash` runs this test.
    @Test(.enabled(if: wanted == "sample"), .timeLimit(.minutes(10)), arguments: sample)
    func aRowMatchesTheTable(_ row: CrashRow) async throws {
        let result = try await CrashTrial.run(row)
        #expect(result.isKept)
        #expect(try CrashTable.written(row) == CrashTable.line(row, result), "run 'make crash-matrix'")
    }

    @Test func theTableHasEveryRow() throws {
        for row in CrashRow.all { #expect(try CrashTable.written(row) != nil, "\(row)") }
    }

    /// `make crash-matrix` runs this test. It writes the table if every guarantee held.
    @Test(.enabled(if: wanted == "write"), .timeLimit(.minutes(60)))
    func allRowsAreWritten() async throws {
        var lines: [String] = []
        for row in CrashRow.all {
            let result = try await CrashTrial.run(row)
            try #require(result.isKept, "\(row): \(result)")
            lines.append(CrashTable.line(row, result))
            print(CrashTable.line(row, result), "lost \(result.lost), handled twice \(result.handledTwice)")
        }
        try CrashTable.write(lines)
    }
}

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
        try first.resume()
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
        return CrashResult(
            acknowledged: try workspace.lines(of: "sent-1.txt"),
            handled: try workspace.lines(of: "handled.txt"),
            row: row
        )
    }

    private func firstWorker() async throws -> CommandProcess {
        var words = arguments + ["--hold-at", "1"]
        switch row.point {
        case .insidePlugin: words += ["--die", "plugin", "--die-at", "\(CrashTrial.deathAt)"]
        case .beforeAcknowledgement: words += ["--die", "settlement", "--die-at", "\(CrashTrial.deathAt)"]
        case .duringReconnect: words += ["--hold-at", "\(CrashTrial.deathAt)"]
        }
        return try await CommandProcess.subscribedWorker(words)
    }

    /// Breaks the connection while messages are held, lets the worker reconnect, and kills it when the broker has
    /// answered but the worker has not received the answer.
    private func killDuringReconnect(_ worker: CommandProcess) async throws {
        try await worker.output.untilLine(containing: "holding \(CrashTrial.deathAt)")
        relay.cut()
        relay.withholdAnswers(afterRecords: row.transport == .tls ? 2 : 0)
        relay.mend()
        try worker.resume()
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
        return trust + [
            "--broker", "\(server):\(relay.port)", "--mqtt", row.version, "--qos", "\(row.qos)", "--window",
            "\(CrashTrial.window)", "--log", workspace.file("handled.txt").path,
        ]
    }

    private func publish(action: String, first: Int, count: Int) throws -> RunningProgram {
        try workspace.publisher(to: "crash/\(action)", first: first, count: count, port: workspace.broker.openPort)
    }
}

/// One row of the crash matrix: what a process was doing when it died.
struct CrashRow: Hashable, Sendable, CustomStringConvertible {
    enum Transport: String, CaseIterable, Sendable { case plain, tls = "TLS" }

    enum Point: String, CaseIterable, Sendable {
        case insidePlugin = "inside the plugin"
        case beforeAcknowledgement = "before the acknowledgement"
        case duringReconnect = "during reconnect"
    }

    enum Session: String, CaseIterable, Sendable { case kept, lost }

    var qos: Int
    var version: String
    var transport: Transport
    var point: Point
    var session: Session

    static let all: [CrashRow] = {
        var rows: [CrashRow] = []
        for qos in [1, 0] {
            for session in Session.allCases {
                for point in Point.allCases {
                    for version in ["5", "3.1.1"] {
                        for transport in Transport.allCases {
                            rows.append(
                                CrashRow(
                                    qos: qos,
                                    version: version,
                                    transport: transport,
                                    point: point,
                                    session: session
                                )
                            )
                        }
                    }
                }
            }
        }
        return rows
    }()

    /// Whether every message that the broker acknowledged must reach the plugin.
    var promisesEverything: Bool { qos == 1 && session == .kept }

    var description: String {
        "QoS \(qos), session \(session), \(point.rawValue), MQTT \(version), \(transport.rawValue)"
    }

    /// The columns that describe the scenario.
    var cells: [String] { ["\(qos)", session.rawValue, point.rawValue, version, transport.rawValue] }
}

/// The content of the logs after a row of the matrix, in words that are the same in each run.
struct CrashResult: Hashable, Sendable {
    let acknowledged: Int
    let lost: Int
    let handledTwice: Int
    let row: CrashRow

    /// - Parameters:
    ///   - acknowledged: The numbers that the broker acknowledged to the publisher.
    ///   - handled: The numbers that the plugin wrote to its log, in order.
    init(acknowledged: [String], handled: [String], row: CrashRow) {
        self.acknowledged = acknowledged.count
        lost = Set(acknowledged).subtracting(handled).count
        handledTwice = handled.count - Set(handled).count
        self.row = row
    }

    /// Whether the guarantee held: nothing was lost or, without redelivery, nothing was handled twice.
    var isKept: Bool { row.promisesEverything ? lost == 0 : handledTwice == 0 }

    /// The columns with the results. How many messages are handled twice is chance; that some may be is not.
    var cells: [String] {
        [
            "\(acknowledged)", row.promisesEverything ? "nothing" : "not promised", lost == 0 ? "0" : "some",
            row.promisesEverything ? "possible" : "\(handledTwice)",
        ]
    }
}

/// The table in docs/delivery.md, between its two markers.
struct CrashTable {
    static let page = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../../../docs/delivery.md").standardizedFileURL
    private static let begin = "<!-- crash-matrix -->\n"
    private static let end = "<!-- crash-matrix end -->\n"
    private static let head = """
        | QoS | session | killed | MQTT | transport | acknowledged by the broker | may be lost | lost | handled twice |
        |---|---|---|---|---|---|---|---|---|

        """

    struct NoTable: Error {}

    static func line(_ row: CrashRow, _ result: CrashResult) -> String {
        "| " + (row.cells + result.cells).joined(separator: " | ") + " |"
    }

    /// Returns the line of the page for a row.
    static func written(_ row: CrashRow) throws -> String? {
        let begins = "| " + row.cells.joined(separator: " | ") + " |"
        return try parts().table.split(separator: "\n").map(String.init).first { $0.hasPrefix(begins) }
    }

    /// Replaces the table.
    static func write(_ lines: [String]) throws {
        let (before, _, after) = try parts()
        let table = head + lines.joined(separator: "\n") + "\n"
        try (before + begin + table + end + after).write(to: page, atomically: true, encoding: .utf8)
    }

    private static func parts() throws -> (before: String, table: String, after: String) {
        let text = try String(contentsOf: page, encoding: .utf8)
        guard let first = text.range(of: begin), let last = text.range(of: end, range: first.upperBound..<text.endIndex)
        else { throw NoTable() }
        return (
            String(text[..<first.lowerBound]), String(text[first.upperBound..<last.lowerBound]),
            String(text[last.upperBound...])
        )
    }
}
