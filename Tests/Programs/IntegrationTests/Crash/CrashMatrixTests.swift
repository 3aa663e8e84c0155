import BrokerKit
import Foundation
import Testing

/// Serialized, so that the tables are compared after they are written.
@Suite(.serialized) struct CrashMatrixTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let wanted = environment["SIGNALBOX_CRASH_MATRIX"]
    /// The tables to write: all, unless SIGNALBOX_CRASH_TABLE names one.
    private static let tables = CrashTable.all.filter { [nil, $0.name].contains(environment["SIGNALBOX_CRASH_TABLE"]) }

    /// The rows with the strongest and the weakest guarantee, and the one that only a journal promises.
    private static let sample = [
        CrashRow(qos: 1, version: "5", transport: .tls, point: .beforeAcknowledgement, session: .kept),
        CrashRow(qos: 0, version: "3.1.1", transport: .plain, point: .duringReconnect, session: .lost),
        CrashRow(qos: 1, point: .insidePlugin, session: .lost, isJournaled: true),
    ]

    /// `make heavy-crash` runs this test.
    @Test(.enabled(if: wanted == "sample"), .timeLimit(.minutes(10)), arguments: sample)
    func aRowMatchesTheTable(_ row: CrashRow) async throws {
        let result = try await CrashTrial.run(row)
        #expect(result.isKept)
        #expect(try row.table.written(row) == row.table.line(row, result), "run 'make crash-matrix'")
    }

    /// `make crash-matrix` runs this test. It writes a table if every guarantee held.
    @Test(.enabled(if: wanted == "write"), .timeLimit(.minutes(60)), arguments: tables)
    func allRowsAreWritten(_ table: CrashTable) async throws {
        var lines: [String] = []
        for row in table.rows {
            let result = try await CrashTrial.run(row)
            try #require(result.isKept, "\(row): \(result)")
            lines.append(table.line(row, result))
            print(table.line(row, result), "lost \(result.lost), handled twice \(result.handledTwice)")
        }
        try table.write(lines)
    }

    @Test(arguments: CrashTable.all) func theTableHasEveryRow(_ table: CrashTable) throws {
        for row in table.rows { #expect(try table.written(row) != nil, "\(row)") }
    }
}
