import Foundation
import MarkdownTable
import Signalbox

/// Measures each shape with 1, 2 and 4 sources and lanes, in rounds. Prints medians as a Markdown table.
enum ScaleTable {
    private static let widths = [1, 2, 4]
    private static let batches = [256, 1]

    private struct Row {
        let shape: Shape
        let width: Int
        let batch: Int
        let load: Load
        var costs: [Cost] = []

        /// The number of messages from each source, so that each shape dispatches about as many.
        var messages: Int { (batch == 1 ? 60_000 : 240_000) / shape.sources(width) }
    }

    static func print(rounds: Int, only prefix: String) async throws {
        var rows: [Row] = []
        for batch in batches {
            for shape in Shape.allCases where shape.rawValue.hasPrefix(prefix) {
                for width in widths {
                    let load = try await Load(shape, width: width)
                    rows.append(Row(shape: shape, width: width, batch: batch, load: load))
                }
            }
        }
        for round in 0...rounds {
            for index in rows.indices {
                let cost = await cost(of: rows[index])
                if round > 0 { rows[index].costs.append(cost) }
            }
        }
        for row in rows { await row.load.stop() }
        show(rows)
    }

    private static func cost(of row: Row) async -> Cost {
        let start = Usage.now
        await row.load.dispatch(row.messages, batch: row.batch)
        return Usage.now.cost(since: start, messages: row.messages * row.shape.sources(row.width))
    }

    private static func show(_ rows: [Row]) {
        var table = MarkdownTable(
            "scale",
            columns: [
                "shape", "batch", "wide", "messages a second", "compared with 1 wide", "processor ns a message",
                "switches per 1,000",
            ]
        )
        var single = 0.0
        for row in rows {
            let rate = 1e9 / Figure.median(row.costs.map(\.wall))
            if row.width == 1 { single = rate }
            table.add([
                "\(row.shape)", "\(row.batch)", "\(row.width)", Figure.whole(rate), Figure.ratio(rate / single),
                Figure.whole(Figure.median(row.costs.map(\.processor))),
                Figure.ratio(Figure.median(row.costs.map(\.switches)) * 1_000),
            ])
        }
        table.print()
    }
}

/// What a message costs.
struct Cost {
    /// Nanoseconds until the next one is settled.
    let wall: Double
    /// Nanoseconds of all threads.
    let processor: Double
    /// How often a thread went to sleep: to wait for work, for room or for a contended lock.
    let switches: Double
}

/// The process's use of the machine so far.
struct Usage {
    private let wall: ContinuousClock.Instant
    private let usage: rusage

    static var now: Usage {
        var usage = rusage()
        // 0 is `RUSAGE_SELF`, whose type differs between the systems.
        getrusage(0, &usage)
        return Usage(wall: .now, usage: usage)
    }

    private var processor: Double {
        Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3
    }

    func cost(since start: Usage, messages: Int) -> Cost {
        let count = Double(messages)
        return Cost(
            wall: (wall - start.wall) / .nanoseconds(1) / count,
            processor: (processor - start.processor) / count,
            switches: Double(usage.ru_nvcsw - start.usage.ru_nvcsw) / count
        )
    }
}
