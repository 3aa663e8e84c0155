import Signalbox
import SignalboxCore

/// The rows of many keys of one plugin.
enum KeyRows {
    static let all = [
        GrowthTable.Row(name: "keys: a message, 16 in a batch", measure: messages),
        GrowthTable.Row(name: "keys: a tick while each waits for an attempt", measure: tick),
    ]

    private struct Refused: RetryableError {}

    private static func messages(_ count: Int) async throws -> GrowthTable.Cost {
        let bench = await Bench()
        let options = PluginOptions<Numbered>(order: .key(\.number), maxConcurrent: 4)
        try bench.supervisor.register(
            Registration("work", as: Numbered.self, from: .anything, options: options) { _, _ in }
        )
        let feed = try Feed("source", bench)
        let texts = (0..<count).map { Numbered.message("work", $0) }
        func pass() async throws -> Double {
            let sink = CountingSink(expected: 160_000)
            return try await Meter.time(of: 160_000) {
                for batch in 0..<10_000 {
                    try await bench.submit(texts[batch % count], times: 16, to: feed.intake, feed.origin, sink)
                }
                await sink.untilSettled()
            }
        }
        _ = try await pass()
        let time = try await pass()
        await bench.stop()
        return GrowthTable.Cost(time: time)
    }

    /// Each key has a message that has failed once and one that waits behind it. The time is that of the whole tick.
    private static func tick(_ count: Int) async throws -> GrowthTable.Cost {
        let bench = await Bench { $0.ackDeadline = .seconds(20_000_000) }
        let wait = Duration.seconds(10_000_000)
        let retry = RetryPolicy(attempts: 2, firstDelay: wait, longestDelay: wait)
        let options = PluginOptions<Numbered>(order: .key(\.number), retry: retry)
        let (tries, called) = AsyncStream.makeStream(of: Void.self)
        try bench.supervisor.register(
            Registration("work", as: Numbered.self, from: .anything, options: options) { _, _ throws -> Void in
                called.yield()
                throw Refused()
            }
        )
        let window = WindowLimits(arrivals: 100_000)
        let feed = try Feed("source", bench, features: .redelivers, window: window)
        let sink = CountingSink(expected: .max)
        let before = Meter.bytes
        for number in 0..<count {
            let message = Numbered.message("work", number)
            try await bench.submit(message, times: 2, to: feed.intake, feed.origin, sink)
        }
        var left = count
        for await _ in tries {
            left -= 1
            if left == 0 { break }
        }
        let bytes = (Meter.bytes - before) / Double(count)
        let time = await bench.timeOfTick()
        await bench.stop()
        return GrowthTable.Cost(time: time, bytes: bytes)
    }
}
