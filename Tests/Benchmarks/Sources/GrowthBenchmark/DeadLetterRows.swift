import Signalbox
import SignalboxCore

/// The rows of many dead letters.
enum DeadLetterRows {
    static let all = [GrowthTable.Row(name: "dead letters: one more in a full store", measure: letters)]

    private static func letters(_ count: Int) async throws -> GrowthTable.Cost {
        let bench = await Bench { $0.deadLetters = DeadLetterLimits(count: count) }
        let feed = try Feed("source", bench)
        let before = Meter.bytes
        try await send(count, feed, bench)
        let bytes = (Meter.bytes - before) / Double(count)
        let time = try await Meter.time(of: 50_000) { try await send(50_000, feed, bench) }
        precondition(bench.supervisor.deadLetters.letters.count == count)
        await bench.stop()
        return GrowthTable.Cost(time: time, bytes: bytes)
    }

    private static func send(_ count: Int, _ feed: Feed, _ bench: Bench) async throws {
        let sink = CountingSink(expected: count)
        let message = Numbered.message("unknown")
        var left = count
        while left > 0 {
            let times = min(left, 16)
            try await bench.submit(message, times: times, to: feed.intake, feed.origin, sink)
            left -= times
        }
        await sink.untilSettled()
    }
}
