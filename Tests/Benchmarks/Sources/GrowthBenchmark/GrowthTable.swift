import CMallocCounter
import Foundation

/// What an item costs when there are 1, 100, 10,000 and 40,000 of them. Prints medians of rounds, each of which measures
/// every row with every number.
///
/// The goal is that an item among 10,000 costs at most 1.25 times as much as one among 100. Where it costs more because
/// the processor's caches do not hold 10,000 of them, one among 40,000 costs about the same as one among 10,000. Where it
/// costs more because of work on the other items, one among 40,000 costs up to four times as much.
enum GrowthTable {
    static let counts = [1, 100, 10_000, 40_000]

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
        Swift.print("processor time in ns and memory in bytes of an item among so many, medians of \(rounds) rounds")
        Swift.print(line("", counts.map { "\($0)" } + ["10000:100", "40000:10000"], counts.map { "\($0)" }))
        for row in rows where row.name.hasPrefix(prefix) {
            var costs: [[Cost]] = counts.map { _ in [] }
            for round in 0...rounds {
                for (column, count) in counts.enumerated() {
                    let cost = try await row.measure(count)
                    // The first round warms the caches and the allocator up.
                    if round > 0 { costs[column].append(cost) }
                }
            }
            show(row, costs)
        }
    }

    private static func show(_ row: Row, _ costs: [[Cost]]) {
        let times = costs.map { median($0.map(\.time)) }
        let bytes = costs.map { median($0.compactMap(\.bytes)) }
        let ratios = [times[2] / times[1], times[3] / times[2]].map { String(format: "%.2f", $0) }
        let sizes = costs[0].first?.bytes == nil ? [] : bytes.map { String(Int($0)) }
        Swift.print(line(row.name, times.map { String(Int($0)) } + ratios, sizes))
    }

    private static func line(_ name: String, _ times: [String], _ bytes: [String]) -> String {
        let columns = [name.padding(toLength: 52, withPad: " ", startingAt: 0)]
        let figures = (times + (bytes.isEmpty ? [] : ["bytes:"] + bytes)).map { figure in
            String(repeating: " ", count: max(1, 9 - figure.count)) + figure
        }
        return (columns + figures).joined()
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
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
