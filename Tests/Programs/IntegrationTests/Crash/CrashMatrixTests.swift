import Foundation
import Testing

@Suite struct CrashMatrixTests {
    private static let wanted = ProcessInfo.processInfo.environment["SIGNALBOX_CRASH_MATRIX"]

    /// The row with the strongest promise and the one with the weakest.
    private static let sample = [
        CrashRow(quality: 1, version: "5", transport: .tls, point: .betweenBatchAndFlush, session: .kept),
        CrashRow(quality: 0, version: "3.1.1", transport: .plain, point: .duringReconnect, session: .lost),
    ]

    /// What `make heavy-crash` runs.
    @Test(.enabled(if: wanted == "sample"), .timeLimit(.minutes(10)), arguments: sample)
    func aRowComesOutAsTheTableSays(_ row: CrashRow) async throws {
        let result = try await CrashTrial.run(row)
        #expect(result.isKept)
        #expect(try CrashTable.written(row) == CrashTable.line(row, result), "run 'make crash-matrix'")
    }

    @Test func theTableHasEveryRow() throws {
        for row in CrashRow.all { #expect(try CrashTable.written(row) != nil, "\(row)") }
    }

    /// What `make crash-matrix` runs: the table is written when every promise was kept.
    @Test(.enabled(if: wanted == "write"), .timeLimit(.minutes(60)))
    func allRowsAreWritten() async throws {
        var lines: [String] = []
        for row in CrashRow.all {
            let result = try await CrashTrial.run(row)
            try #require(result.isKept, "\(row): \(result)")
            lines.append(CrashTable.line(row, result))
            print(CrashTable.line(row, result), "lost \(result.lost), again \(result.repeated)")
        }
        try CrashTable.write(lines)
    }
}
