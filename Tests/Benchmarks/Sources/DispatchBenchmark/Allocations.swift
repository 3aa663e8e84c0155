import CMallocCounter

/// How many blocks one action costs from bytes to outcome, and whether that is within the bar.
enum Allocations {
    /// The most blocks an action may cost at a batch of 256.
    static let bar = 3.1
    private static let messages = 256 * 200

    /// - Parameter prefix: what the names of rows begin with; all of them when it is empty.
    static func check(only prefix: String) async throws -> Bool {
        guard signalbox_allocations() >= 0 else {
            Swift.print("allocations cannot be counted on this system: skipped")
            return true
        }
        var isWithinBar = true
        for variant in SignalboxWay.Variant.allCases where variant.rawValue.hasPrefix(prefix) {
            let perAction = try await measure(variant)
            let isGood = perAction <= bar
            isWithinBar = isWithinBar && isGood
            Swift.print(
                "\(isGood ? "ok  " : "MISS") \(variant.rawValue): \(perAction.rounded(to: 2)) allocations an action"
            )
        }
        for row in StageRow.all where row.name.hasPrefix(prefix) {
            let perAction = try await measure(row)
            let isGood = perAction <= row.allocations + StageRow.perBatch
            isWithinBar = isWithinBar && isGood
            let count = "\(perAction.rounded(to: 2)) allocations an action, of \(Int(row.allocations))"
            Swift.print("\(isGood ? "ok  " : "MISS") \(row.name): \(count) (\(row.reason))")
        }
        return isWithinBar
    }

    private static func measure(_ row: StageRow) async throws -> Double {
        let way = try StageWay(row)
        // More than what repeats remember, so that nothing grows any more.
        try await way.dispatch(messages / 2)
        let before = signalbox_allocations()
        try await way.dispatch(messages)
        let after = signalbox_allocations()
        await way.stop()
        return Double(after - before) / Double(messages)
    }

    private static func measure(_ variant: SignalboxWay.Variant) async throws -> Double {
        let way = try SignalboxWay(variant)
        _ = try await way.dispatch(messages / 10, batch: 256)
        let before = signalbox_allocations()
        _ = try await way.dispatch(messages, batch: 256)
        let after = signalbox_allocations()
        await way.stop()
        return Double(after - before) / Double(messages)
    }
}

extension Double {
    func rounded(to digits: Int) -> Double {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        return (self * scale).rounded() / scale
    }
}
