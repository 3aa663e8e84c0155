/// What the machine's caches make of many items, without Signalbox.
enum ReferenceRows {
    static let all = [GrowthTable.Row(name: "reference without Signalbox: read 1 KB of an item", measure: read)]

    private final class Item {
        // Two words of the storage are its header.
        let words: [Int]

        init(_ first: Int) { words = Array(first..<first + 126) }

        /// Reads a word of each line of the cache, each after the one before, as code that follows references does.
        func read(_ start: Int) -> Int {
            var sum = start
            for line in 0..<15 { sum = words[line * 8 + (sum & 1)] }
            return sum
        }
    }

    private static func read(_ count: Int) async throws -> GrowthTable.Cost {
        // In another order than in memory, as after some time of running.
        let items = (0..<count).map { Item($0) }.shuffled()
        let passes = max(1, 200_000 / count)
        var sum = 0
        let time = Meter.time(of: passes * count) {
            for _ in 0..<passes {
                for item in items { sum = item.read(sum) }
            }
        }
        precondition(sum >= 0)
        return GrowthTable.Cost(time: time)
    }
}
