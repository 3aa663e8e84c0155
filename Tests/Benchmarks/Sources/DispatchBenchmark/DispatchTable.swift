import CMallocCounter
import Foundation
import MarkdownTable

/// Times the variants alternately in rounds. Prints median ratios of the usual approach's processor time to theirs.
enum DispatchTable {
    private static let messages = 40_000

    static func print(rounds: Int, only prefix: String) async throws {
        var usual: [Double] = []
        var rows: [String: [Double]] = [:]
        var order: [String] = []
        let variants = SignalboxWay.Variant.allCases.filter { $0.rawValue.hasPrefix(prefix) }
        let ways = try variants.map { ($0, try SignalboxWay($0)) }
        for round in 0...rounds {
            let base = timeUsualWay()
            if round > 0 { usual.append(base) }
            for (variant, way) in ways {
                for size in [256, 1] {
                    let name = "\(variant.rawValue), batch \(size)"
                    if round == 0 { order.append(name) }
                    let time = try await timeDispatch(way, batch: size)
                    if round > 0 { rows[name, default: []].append(time) }
                }
            }
        }
        for (_, way) in ways { await way.stop() }
        show(usual: usual, rows: rows, order: order)
    }

    private static func timeUsualWay() -> Double {
        let way = UsualWay()
        let start = ProcessorTime.now
        for _ in 0..<messages {
            autoreleased { precondition(way.dispatch(Payment.message), "the usual way refused the message") }
        }
        return nanoseconds(since: start)
    }

    private static func timeDispatch(_ way: SignalboxWay, batch: Int) async throws -> Double {
        let start = ProcessorTime.now
        let sink = try await way.dispatch(messages, batch: batch)
        let time = nanoseconds(since: start)
        precondition(sink.notHandled.load(ordering: .relaxed) == 0, "Signalbox did not handle every message")
        return time
    }

    private static func autoreleased(_ work: () -> Void) {
        #if canImport(ObjectiveC)
        autoreleasepool(invoking: work)
        #else
        work()
        #endif
    }

    private static func nanoseconds(since start: Double) -> Double {
        (ProcessorTime.now - start) / Double(messages)
    }

    private static func show(usual: [Double], rows: [String: [Double]], order: [String]) {
        var table = MarkdownTable("dispatch", columns: ["variant", "ns a message", "times the usual way", "bar"])
        table.add(["the usual way", Figure.whole(Figure.median(usual)), Figure.ratio(1), ""])
        for name in order {
            let times = rows[name] ?? []
            let ratio = Figure.median(zip(usual, times).map { $0 / $1 })
            let verdict = bar(for: name).map { Figure.verdict(ratio >= $0, bar: $0) } ?? ""
            let variant = name.replacing("Codable", with: "`Codable`")
            table.add([variant, Figure.whole(Figure.median(times)), Figure.ratio(ratio), verdict])
        }
        table.print()
    }

    private static func bar(for name: String) -> Double? {
        guard name.hasSuffix("handler, batch 256") else { return nil }
        if name.hasPrefix("read by hand") { return 10 }
        return name.contains("async") ? 6 : 7.5
    }
}

/// Measures the allocations of one action from bytes to outcome, and checks them against the limit.
enum Allocations {
    /// The maximum allocations per action at a batch size of 256.
    static let bar = 3.1
    private static let messages = 256 * 200

    /// - Parameter prefix: The prefix of the names of the rows to check; empty for all.
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
        // Exceeds the deduplication memory, so that no table grows during the measurement.
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

/// The processor time of all threads of this process, in nanoseconds. Other load on the machine does not affect it.
enum ProcessorTime {
    static var now: Double { Double(clock()) / Double(CLOCKS_PER_SEC) * 1e9 }
}

/// Dispatches a number of messages for a tool that counts instructions. Two runs with different numbers tell the instructions of
/// one message.
enum Instructions {
    /// - Parameter name: The name of a variant, or of a row of the table of stages.
    /// - Returns: Whether there is such a row.
    static func dispatch(_ name: String, batch: Int, messages: Int) async throws -> Bool {
        if let variant = SignalboxWay.Variant(rawValue: name) {
            let way = try SignalboxWay(variant)
            // What is submitted before the supervisor runs goes to the lane, and so does all that follows it closely.
            _ = try await way.dispatch(1, batch: 1)
            _ = try await way.dispatch(messages, batch: batch)
            await way.stop()
            return true
        }
        guard let row = StageRow.all.first(where: { $0.name == name }) else { return false }
        let way = try StageWay(row)
        try await way.dispatch(messages)
        await way.stop()
        return true
    }
}
