import Foundation

/// The table of docs/delivery.md, between its two marks.
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

    /// The line that the page has for a row.
    static func written(_ row: CrashRow) throws -> String? {
        let begins = "| " + row.cells.joined(separator: " | ") + " |"
        return try parts().table.split(separator: "\n").map(String.init).first { $0.hasPrefix(begins) }
    }

    /// Writes the table anew.
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
