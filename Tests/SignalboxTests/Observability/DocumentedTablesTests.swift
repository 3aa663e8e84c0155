import Foundation
import Testing

@testable import Signalbox

@Suite struct DocumentedTablesTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("docs")

    /// With `SIGNALBOX_WRITE_DOCS` set, the test writes the tables before it compares them.
    @Test(arguments: ObservabilityTables.pages)
    func documentedTablesMatchTheCode(_ page: ObservabilityTables.Page) throws {
        let file = Self.folder.appendingPathComponent(page.name)
        var lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
        if ProcessInfo.processInfo.environment["SIGNALBOX_WRITE_DOCS"] != nil {
            for (heading, table) in page.tables {
                lines.replaceSubrange(try tableRange(heading, lines), with: table)
            }
            try lines.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
        }
        for (heading, table) in page.tables {
            let documented = Array(lines[try tableRange(heading, lines)])
            #expect(
                documented == table,
                """
                The table under "\(heading)" in docs/\(page.name) differs from the code. SIGNALBOX_WRITE_DOCS=1 writes:
                \(table.joined(separator: "\n"))
                """
            )
        }
    }

    /// Returns the range of the lines of the first table under a heading.
    private func tableRange(_ heading: String, _ lines: [String]) throws -> Range<Int> {
        let title = try #require(lines.firstIndex { $0.hasPrefix("#") && $0.hasSuffix(" \(heading)") })
        let begin = try #require(lines[title...].firstIndex { $0.hasPrefix("|") })
        return begin..<(lines[begin...].firstIndex { !$0.hasPrefix("|") } ?? lines.endIndex)
    }
}

/// The tables of the pages about observability with their headings, generated from the code.
enum ObservabilityTables {
    struct Page: Sendable {
        /// The file's name in `docs/`.
        let name: String
        let tables: [(heading: String, lines: [String])]
    }

    static var pages: [Page] {
        [
            Page(
                name: "observability.md",
                tables: [("Metrics", metrics), ("Labels", labels), ("Span attributes", attributes)]
            ),
            Page(name: "log-lines.md", tables: [("Lines", lines), ("Fields", fields)]),
        ]
    }

    private static var metrics: [String] {
        table(
            ["Name", "Kind", "Unit", "Labels", "Meaning"],
            MetricName.allCases.map {
                [
                    code($0.rawValue), $0.kind.rawValue, $0.unit,
                    $0.labels.map { code($0.rawValue) }.joined(separator: ", "), $0.meaning,
                ]
            }
        )
    }

    private static var labels: [String] {
        table(["Label", "Value"], MetricLabel.allCases.map { [code($0.rawValue), $0.meaning] })
    }

    private static var attributes: [String] {
        table(["Attribute", "Value"], SpanField.allCases.map { [code($0.rawValue), $0.meaning] })
    }

    private static var lines: [String] {
        table(
            ["Level", "Begins with", "At most", "Fields beside `source`"],
            LogKind.allCases.map {
                [
                    code("\($0.level)"), $0.text, $0.frequency,
                    $0.fields.map { code($0.rawValue) }.joined(separator: ", "),
                ]
            }
        )
    }

    private static var fields: [String] {
        table(["Field", "Value"], LogField.allCases.map { [code($0.rawValue), $0.meaning] })
    }

    private static func code(_ text: String) -> String { "`\(text)`" }

    private static func table(_ head: [String], _ rows: [[String]]) -> [String] {
        [row(head), row(head.map { _ in "---" })] + rows.map(row)
    }

    private static func row(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
}
