import Foundation

/// A table in a document of `docs/`.
struct DocumentTable {
    /// The cells of each row, without the header and its rule.
    let rows: [[String]]

    /// - Parameters:
    ///   - heading: The heading above the table, without its number signs.
    ///   - name: The file's name in `docs/`.
    /// - Throws: ``Missing`` if there is no such table.
    init(under heading: String, in name: String) throws {
        let lines = try String(contentsOf: DocumentTable.file(name), encoding: .utf8).components(separatedBy: "\n")
        let begin = try Missing.unwrap(lines.firstIndex { $0.hasPrefix("#") && $0.hasSuffix(" \(heading)") })
        let section = lines[(begin + 1)...].prefix { !$0.hasPrefix("#") }
        rows = section.filter { $0.hasPrefix("|") }.dropFirst(2).map(DocumentTable.cells)
        guard !rows.isEmpty else { throw Missing() }
    }

    static func file(_ name: String) -> URL {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { folder.deleteLastPathComponent() }
        return folder.appendingPathComponent("docs").appendingPathComponent(name)
    }

    private static func cells(_ line: String) -> [String] {
        line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
