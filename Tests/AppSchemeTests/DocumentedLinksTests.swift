import AppScheme
import Foundation
import SignalboxCore
import SignalboxRoutes
import Testing

/// What `docs/links.md` says becomes of links is what becomes of them.
@Suite(.timeLimit(.minutes(10))) struct DocumentedLinksTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let pattern, action, link, result: String

        var testDescription: String { "\(pattern) \(link)" }
    }

    private static func rows() throws -> [Row] {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        let text = try String(contentsOf: folder.appendingPathComponent("docs/links.md"), encoding: .utf8)
        let section = text.components(separatedBy: "## What a link becomes")[1].components(separatedBy: "\n## ")[0]
        return section.components(separatedBy: "\n").filter { $0.hasPrefix("| `") }.map { line in
            let cells = line.components(separatedBy: "|").dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
            let plain = cells.map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "`")) }
            return Row(pattern: plain[0], action: plain[1], link: plain[2], result: cells[3])
        }
    }

    private static func sentence(_ settled: LinkTrial.Settled) -> String {
        guard let action = settled.action else { return "rejected: `\(settled.outcome.code)`" }
        let id = action.idKey == .id ? ", id `\(action.id)`" : ""
        return "`\(action.name)`\(id), body `\(settled.body ?? "")`"
    }

    @Test func eachRowOfTheTableHolds() async throws {
        let rows = try Self.rows()
        #expect(rows.count >= 20)
        for row in rows {
            let action = row.action.isEmpty ? nil : try ActionName(row.action)
            let settled = try await LinkTrial(try AppRoutes(row.pattern, action)).deliver(row.link)
            #expect(Self.sentence(settled) == row.result, "\(row.pattern) and \(row.link)")
        }
    }
}
