import Foundation

/// A table in a program's output, which `bench.py` shows and writes into a page of the documentation.
package struct MarkdownTable {
    private let name: String
    private var lines: [String]

    package init(_ name: String, columns: [String]) {
        self.name = name
        lines = [MarkdownTable.line(columns), "|" + String(repeating: "---|", count: columns.count)]
    }

    package mutating func add(_ cells: [String]) {
        lines.append(MarkdownTable.line(cells))
    }

    package func print() {
        // The markers of tables.py.
        Swift.print("<!-- table \(name) -->\n\(lines.joined(separator: "\n"))\n<!-- end of table \(name) -->")
    }

    private static func line(_ cells: [String]) -> String {
        "| " + cells.joined(separator: " | ") + " |"
    }
}

/// The numbers of a table.
package enum Figure {
    /// Returns the number without decimals, in groups of three digits.
    package static func whole(_ value: Double) -> String {
        guard value.isFinite else { return "" }
        var digits = Substring(String(Int(value.rounded())))
        var groups: [Substring] = []
        while digits.count > 3 {
            groups.insert(digits.suffix(3), at: 0)
            digits = digits.dropLast(3)
        }
        return ([digits] + groups).joined(separator: ",")
    }

    /// Returns the number with two decimals, or one from 10 on, or none from 100 on.
    package static func ratio(_ value: Double) -> String {
        if value >= 100 { return whole(value) }
        return String(format: value >= 10 ? "%.1f" : "%.2f", value)
    }

    /// Returns the bar and whether the value meets it, for instance `1.25: met`.
    package static func verdict(_ isMet: Bool, bar: Double) -> String {
        let shown = bar == bar.rounded() ? String(Int(bar)) : String(bar)
        return "\(shown): \(isMet ? "met" : "missed")"
    }

    package static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
    }
}
