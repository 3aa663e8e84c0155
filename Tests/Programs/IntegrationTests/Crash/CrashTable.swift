import Foundation

/// One row of a crash matrix: what a process was doing when it died.
struct CrashRow: Hashable, Sendable, CustomStringConvertible {
    enum Transport: String, CaseIterable, Sendable { case plain, tls = "TLS" }

    enum Point: String, Sendable {
        case insidePlugin = "inside the plugin"
        case beforeOutcome = "before the outcome is on disk"
        case beforeAcknowledgement = "before the acknowledgement"
        case duringReconnect = "during reconnect"
    }

    enum Session: String, CaseIterable, Sendable { case kept, lost }

    var qos: Int
    var version = "5"
    var transport = Transport.plain
    var point: Point
    var session: Session
    /// Whether the source has a journal.
    var isJournaled = false

    /// The rows without a journal, for each version and transport.
    static let withoutJournal: [CrashRow] = {
        var rows: [CrashRow] = []
        for qos in [1, 0] {
            for session in Session.allCases {
                for point in [Point.insidePlugin, .beforeAcknowledgement, .duringReconnect] {
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

    /// The rows with a journal. Version and transport make no difference to it.
    static let withJournal: [CrashRow] = {
        var rows: [CrashRow] = []
        for qos in [1, 0] {
            // QoS 0 has no acknowledgements.
            let last: [Point] = qos == 1 ? [.beforeAcknowledgement, .duringReconnect] : [.duringReconnect]
            for session in Session.allCases {
                for point in [Point.insidePlugin, .beforeOutcome] + last {
                    rows.append(CrashRow(qos: qos, point: point, session: session, isJournaled: true))
                }
            }
        }
        return rows
    }()

    /// Whether every message that the broker acknowledged must reach the plugin. In the rows with a journal, the process
    /// has taken all messages before it dies.
    var promisesEverything: Bool { isJournaled || qos == 1 && session == .kept }

    var description: String {
        let journal = isJournaled ? ", journal" : ""
        return "QoS \(qos), session \(session), \(point.rawValue), MQTT \(version), \(transport.rawValue)\(journal)"
    }

    /// The table that contains the row.
    var table: CrashTable { isJournaled ? .durability : .delivery }

    /// The columns that describe the scenario.
    var cells: [String] {
        ["\(qos)", session.rawValue, point.rawValue] + (isJournaled ? [] : [version, transport.rawValue])
    }
}

/// The content of the logs after a row of a matrix, in words that are the same in each run.
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

/// A table in a page, between two markers.
struct CrashTable: Sendable, CustomStringConvertible {
    /// The page's name in the folder `docs`, without its extension.
    let name: String
    let rows: [CrashRow]
    /// The columns that describe the scenario.
    private let columns: [String]

    static let delivery = CrashTable(
        name: "delivery",
        rows: CrashRow.withoutJournal,
        columns: ["QoS", "session", "killed", "MQTT", "transport"]
    )
    static let durability = CrashTable(
        name: "durability",
        rows: CrashRow.withJournal,
        columns: ["QoS", "session", "killed"]
    )
    static let all = [delivery, durability]

    private static let begin = "<!-- crash-matrix -->\n"
    private static let end = "<!-- crash-matrix end -->\n"
    private static let results = ["acknowledged by the broker", "may be lost", "lost", "handled twice"]

    struct NoTable: Error {}

    var description: String { "docs/\(name).md" }

    func line(_ row: CrashRow, _ result: CrashResult) -> String { CrashTable.line(row.cells + result.cells) }

    /// Returns the line of the page for a row.
    func written(_ row: CrashRow) throws -> String? {
        let begins = CrashTable.line(row.cells)
        return try parts().table.split(separator: "\n").map(String.init).first { $0.hasPrefix(begins) }
    }

    /// Replaces the table.
    func write(_ lines: [String]) throws {
        let (before, _, after) = try parts()
        let names = columns + CrashTable.results
        let rule = "|" + String(repeating: "---|", count: names.count)
        let table = ([CrashTable.line(names), rule] + lines).joined(separator: "\n") + "\n"
        try (before + CrashTable.begin + table + CrashTable.end + after)
            .write(to: page, atomically: true, encoding: .utf8)
    }

    private static func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }

    private var page: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../../docs/\(name).md").standardizedFileURL
    }

    private func parts() throws -> (before: String, table: String, after: String) {
        let text = try String(contentsOf: page, encoding: .utf8)
        guard let first = text.range(of: CrashTable.begin),
            let last = text.range(of: CrashTable.end, range: first.upperBound..<text.endIndex)
        else { throw NoTable() }
        return (
            String(text[..<first.lowerBound]), String(text[first.upperBound..<last.lowerBound]),
            String(text[last.upperBound...])
        )
    }
}
