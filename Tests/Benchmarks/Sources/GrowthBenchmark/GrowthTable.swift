import CMallocCounter
import Foundation
import MarkdownTable

/// What an item costs when there are 1, 100, 10,000 and 40,000 of them. Prints medians of rounds, each of which measures
/// every row with every number.
///
/// The goal is that an item among 10,000 costs at most 1.25 times as much as one among 100. Where it costs more because
/// the processor's caches do not hold 10,000 of them, one among 40,000 costs about the same as one among 10,000. Where it
/// costs more because of work on the other items, one among 40,000 costs up to four times as much.
enum GrowthTable {
    static let counts = [1, 100, 10_000, 40_000]
    private static let goal = 1.25

    /// A row of the table: the items that grow, and the work that is measured with `count` of them.
    struct Row: Sendable {
        let name: String
        let measure: @Sendable (_ count: Int) async throws -> Cost
    }

    /// The cost of one item.
    struct Cost: Sendable {
        /// The processor time of one operation, in nanoseconds.
        let time: Double
        /// The memory of one item, in bytes, if the row measures it.
        var bytes: Double?
    }

    private static let rows = ReferenceRows.all + SourceRows.all + PluginRows.all + KeyRows.all + DeadLetterRows.all

    static func print(rounds: Int, only prefix: String) async throws {
        let ratios = ["10,000 : 100", "goal", "40,000 : 10,000"]
        let columns = ["ns an item"] + counts.map { Figure.whole(Double($0)) } + ratios + ["bytes an item, of 10,000"]
        var table = MarkdownTable("growth", columns: columns)
        for row in rows where row.name.hasPrefix(prefix) {
            var costs: [[Cost]] = counts.map { _ in [] }
            for round in 0...rounds {
                for (column, count) in counts.enumerated() {
                    let cost = try await row.measure(count)
                    // The first round warms the caches and the allocator up.
                    if round > 0 { costs[column].append(cost) }
                }
            }
            table.add(cells(of: row, costs))
        }
        table.print()
    }

    private static func cells(of row: Row, _ costs: [[Cost]]) -> [String] {
        let times = costs.map { Figure.median($0.map(\.time)) }
        let growth = times[2] / times[1]
        // The reference shows the machine and has no goal.
        let verdict = row.name.hasPrefix("reference") ? "" : Figure.verdict(growth <= goal, bar: goal)
        let bytes = Figure.median(costs[2].compactMap(\.bytes))
        let ratios = [Figure.ratio(growth), verdict, Figure.ratio(times[3] / times[2])]
        return [row.name] + times.map(Figure.whole) + ratios + [Figure.whole(bytes)]
    }
}

/// Measures the work of the whole process.
enum Meter {
    /// The processor time of all threads so far, in nanoseconds. Other load on the machine does not affect it.
    static var time: Double { Double(clock()) / Double(CLOCKS_PER_SEC) * 1e9 }

    /// The memory that is allocated and not freed, in bytes.
    static var bytes: Double { Double(signalbox_live_bytes()) }

    /// Returns the time of one of `operations` operations.
    static func time(of operations: Int, _ work: () -> Void) -> Double {
        let start = time
        work()
        return (time - start) / Double(operations)
    }

    /// Returns the time of one of `operations` operations.
    static func time(of operations: Int, _ work: () async throws -> Void) async rethrows -> Double {
        let start = time
        try await work()
        return (time - start) / Double(operations)
    }
}
