import Signalbox
import SignalboxCore
import SignalboxTesting

/// The rows of many sources.
enum SourceRows {
    static let all = [
        GrowthTable.Row(name: "sources: add one and remove it", measure: addAndRemove),
        GrowthTable.Row(name: "sources: a tick, per source", measure: tick),
        GrowthTable.Row(name: "sources: a message, 16 in a batch", measure: messages),
        GrowthTable.Row(name: "sources: a message of a plugin that was removed", measure: drain),
        GrowthTable.Row(name: "sources: a report, per source", measure: report),
    ]

    private static func addAndRemove(_ count: Int) async throws -> GrowthTable.Cost {
        let bench = await Bench()
        let names = try (0..<count).map { try SourceName("source-\($0)") }
        let passes = max(1, 2_000 / count)
        var (bytes, time) = (0.0, 0.0)
        // The first pass takes new memory from the system. The counts of removed sources stay, so the later passes need no
        // memory for them.
        for pass in 0...passes {
            let before = Meter.bytes
            let start = Meter.time
            for name in names { _ = try bench.supervisor.intake(for: name) }
            if pass == passes { bytes = (Meter.bytes - before) / Double(count) }
            for name in names { await bench.supervisor.remove(source: name) }
            if pass > 0 { time += (Meter.time - start) / Double(passes * count) }
        }
        await bench.stop()
        return GrowthTable.Cost(time: time, bytes: bytes)
    }

    private static func tick(_ count: Int) async throws -> GrowthTable.Cost {
        let bench = await Bench()
        let feeds = try (0..<count).map { try Feed("source-\($0)", bench) }
        let time = await bench.timeOfTick() / Double(feeds.count)
        await bench.stop()
        return GrowthTable.Cost(time: time)
    }

    private static func report(_ count: Int) async throws -> GrowthTable.Cost {
        let bench = await Bench()
        let feeds = try (0..<count).map { try Feed("source-\($0)", bench) }
        let passes = max(1, 10_000 / count)
        let time = Meter.time(of: passes * count) {
            for _ in 0..<passes { precondition(bench.supervisor.report.sources.count == feeds.count) }
        }
        await bench.stop()
        return GrowthTable.Cost(time: time)
    }

    private static func messages(_ count: Int) async throws -> GrowthTable.Cost {
        let bench = await Bench()
        try bench.supervisor.register(Registration("work", as: Numbered.self, from: .anything) { _, _ in })
        let feeds = try (0..<count).map { try Feed("source-\($0)", bench) }
        let message = Numbered.message("work")
        func pass() async throws -> Double {
            let sink = CountingSink(expected: 160_000)
            return try await Meter.time(of: 160_000) {
                for batch in 0..<10_000 {
                    let feed = feeds[batch % count]
                    try await bench.submit(message, times: 16, to: feed.intake, feed.origin, sink)
                }
                await sink.untilSettled()
            }
        }
        _ = try await pass()
        let time = try await pass()
        await bench.stop()
        return GrowthTable.Cost(time: time)
    }

    /// Each source has 16 messages waiting when the plugin is removed.
    private static func drain(_ count: Int) async throws -> GrowthTable.Cost {
        let bench = await Bench()
        let feeds = try (0..<count).map { try Feed("source-\($0)", bench) }
        let message = Numbered.message("work")
        let passes = max(1, 200 / count)
        var time = 0.0
        for _ in 0..<passes {
            let (gate, opener) = AsyncStream.makeStream(of: Never.self)
            let sink = CountingSink(expected: 16 * count)
            try bench.supervisor.register(
                Registration("work", as: Numbered.self, from: .anything) { _, _ in for await _ in gate {} }
            )
            for feed in feeds { try await bench.submit(message, times: 16, to: feed.intake, feed.origin, sink) }
            try bench.supervisor.remove("work")
            time += await Meter.time(of: passes * 16 * count) {
                opener.finish()
                await sink.untilSettled()
            }
        }
        await bench.stop()
        return GrowthTable.Cost(time: time)
    }
}
