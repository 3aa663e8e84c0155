@testable import Signalbox

/// The tables of docs/observability.md, made from the code, by their headings.
enum ObservabilityTables {
    static var all: [(heading: String, lines: [String])] {
        [
            ("Metrics", metrics), ("Labels", labels), ("Span attributes", attributes), ("Lines", lines),
            ("Fields", fields),
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
