import SignalboxCore

/// The same struct decoded in three ways, a row of the table, timed alternately.
struct ReadingRow {
    private let name: String
    private let json: String
    private let ways: [(Body, Int) throws -> Void]

    init<Synthesized: Decodable, ByHand: Decodable, ByMacro: Decodable>(
        _ name: String,
        _: Synthesized.Type,
        _: ByHand.Type,
        _: ByMacro.Type,
        _ json: String
    ) {
        self.name = name
        self.json = json
        ways = [
            { try ReadingRow.decode(Synthesized.self, $0, $1) },
            { try ReadingRow.decode(ByHand.self, $0, $1) },
            { try ReadingRow.decode(ByMacro.self, $0, $1) },
        ]
    }

    @inline(never)
    private static func decode<Value: Decodable>(_ type: Value.Type, _ body: Body, _ count: Int) throws {
        for _ in 0..<count { _ = try body.decode(type) }
    }

    func printTimes(rounds: Int) throws {
        let body = try Body(json: Bytes(json))
        let count = 100_000
        var best = [Double](repeating: .infinity, count: ways.count)
        for _ in 0..<rounds {
            for (index, way) in ways.enumerated() {
                let time = try ContinuousClock().measure { try way(body, count) }
                best[index] = min(best[index], time / .nanoseconds(count))
            }
        }
        let times = best.map { String(Int($0.rounded())) }
        let ratio = (best[0] / best[2] * 100).rounded() / 100
        print("| " + ([name] + times + ["\(ratio)"]).joined(separator: " | ") + " |")
    }
}
