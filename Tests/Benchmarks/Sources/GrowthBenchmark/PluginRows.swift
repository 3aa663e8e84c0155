import Signalbox
import SignalboxCore

/// The rows of many plugins.
enum PluginRows {
    static let all = [
        GrowthTable.Row(name: "plugins: register one and remove it", measure: registerAndRemove),
        GrowthTable.Row(name: "plugins: a tick, per plugin in use", measure: tick),
        GrowthTable.Row(name: "plugins: a message, 16 in a batch", measure: messages),
    ]

    private static func registration(_ name: ActionName) -> Registration {
        Registration(name, as: Numbered.self, from: .anything) { _, _ in }
    }

    private static func names(_ count: Int) throws -> [ActionName] {
        try (0..<count).map { try ActionName("action-\($0)") }
    }

    private static func registerAndRemove(_ count: Int) async throws -> GrowthTable.Cost {
        let bench = await Bench()
        let names = try names(count)
        let passes = max(1, 2_000 / count)
        var (bytes, time) = (0.0, 0.0)
        // The first pass takes new memory from the system.
        for pass in 0...passes {
            let before = Meter.bytes
            let start = Meter.time
            for name in names { try bench.supervisor.register(registration(name)) }
            if pass == passes { bytes = (Meter.bytes - before) / Double(count) }
            for name in names { try bench.supervisor.remove(name) }
            if pass > 0 { time += (Meter.time - start) / Double(passes * count) }
        }
        await bench.stop()
        return GrowthTable.Cost(time: time, bytes: bytes)
    }

    private static func tick(_ count: Int) async throws -> GrowthTable.Cost {
        let bench = await Bench()
        let names = try names(count)
        for name in names { try bench.supervisor.register(registration(name)) }
        let feed = try Feed("source", bench)
        try await send(1, to: names, feed, bench)
        let time = await bench.timeOfTick() / Double(count)
        await bench.stop()
        return GrowthTable.Cost(time: time)
    }

    private static func messages(_ count: Int) async throws -> GrowthTable.Cost {
        let bench = await Bench()
        let names = try names(count)
        for name in names { try bench.supervisor.register(registration(name)) }
        let feed = try Feed("source", bench)
        let passes = max(1, 10_000 / count)
        // The first pass makes the lanes.
        try await send(1, to: names, feed, bench)
        let before = Meter.time
        for _ in 0..<passes { try await send(16, to: names, feed, bench) }
        let time = (Meter.time - before) / Double(passes * count * 16)
        await bench.stop()
        return GrowthTable.Cost(time: time)
    }

    private static func send(_ times: Int, to names: [ActionName], _ feed: Feed, _ bench: Bench) async throws {
        let sink = CountingSink(expected: times * names.count)
        for name in names {
            try await bench.submit(Numbered.message(name.text), times: times, to: feed.intake, feed.origin, sink)
        }
        await sink.untilSettled()
    }
}
