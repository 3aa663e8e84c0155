import Foundation
import Testing

@Suite struct DocumentedTablesTests {
    private static let file = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("docs/observability.md")

    /// With `SIGNALBOX_WRITE_DOCS` set, the tables are written before they are compared.
    @Test func theTablesOfTheDocumentAreThoseOfTheCode() throws {
        var lines = try String(contentsOf: Self.file, encoding: .utf8).components(separatedBy: "\n")
        if ProcessInfo.processInfo.environment["SIGNALBOX_WRITE_DOCS"] != nil {
            for (heading, table) in ObservabilityTables.all {
                lines.replaceSubrange(try place(heading, lines), with: table)
            }
            try lines.joined(separator: "\n").write(to: Self.file, atomically: true, encoding: .utf8)
        }
        for (heading, table) in ObservabilityTables.all {
            let documented = Array(lines[try place(heading, lines)])
            #expect(
                documented == table,
                """
                The table under "\(heading)" of docs/observability.md should be, and SIGNALBOX_WRITE_DOCS=1 writes it:
                \(table.joined(separator: "\n"))
                """
            )
        }
    }

    /// The lines of the first table under a heading.
    private func place(_ heading: String, _ lines: [String]) throws -> Range<Int> {
        let title = try #require(lines.firstIndex { $0.hasPrefix("#") && $0.hasSuffix(" \(heading)") })
        let begin = try #require(lines[title...].firstIndex { $0.hasPrefix("|") })
        return begin..<(lines[begin...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex)
    }
}
