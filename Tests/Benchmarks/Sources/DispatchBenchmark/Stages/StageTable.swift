import Foundation

/// Times each row and the row that it is compared with one after the other, round by round, and prints medians of the
/// ratios. It counts the process's own processor time, as others may use the machine.
enum StageTable {
    private static let messages = 256 * 20

    private struct Times {
        var own: [Double] = []
        var ratios: [Double] = []
    }

    static func print(rounds: Int, only prefix: String) async throws {
        let rows = StageRow.all.filter { $0.name.hasPrefix(prefix) }
        var ways: [String: StageWay] = [:]
        for row in StageRow.all where rows.contains(where: { $0.name == row.name || $0.base == row.name }) {
            ways[row.name] = try StageWay(row)
        }
        var times: [String: Times] = [:]
        for round in 0...rounds {
            for row in rows {
                guard let way = ways[row.name], let base = ways[row.base] else { continue }
                let before = try await time(base)
                let own = try await time(way)
                let after = try await time(base)
                guard round > 0 else { continue }
                times[row.name, default: Times()].own.append(own)
                times[row.name, default: Times()].ratios.append(own * 2 / (before + after))
            }
        }
        for way in ways.values { await way.stop() }
        Swift.print("stages and lanes, batch 256, \(rounds) rounds of \(messages) messages")
        Swift.print(line("row", "ns a message", "times", "compared with", "bar"))
        for row in rows { show(row, times[row.name] ?? Times()) }
    }

    private static func time(_ way: StageWay) async throws -> Double {
        let start = ProcessorTime.now
        try await way.dispatch(messages)
        return (ProcessorTime.now - start) / Double(messages)
    }

    private static func show(_ row: StageRow, _ times: Times) {
        let ratio = DispatchTable.median(times.ratios)
        let verdict = row.timeBar.map { "\($0)x \(ratio <= $0 ? "met" : "MISSED")" } ?? ""
        let shown = row.name == row.base ? "" : "\(ratio.rounded(to: 2))"
        Swift.print(line(row.name, "\(Int(DispatchTable.median(times.own)))", shown, row.base, verdict))
    }

    private static func line(_ cells: String...) -> String {
        let widths = [42, 14, 8, 44, 12]
        return zip(cells, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }.joined()
    }
}
