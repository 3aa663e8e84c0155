import Foundation

/// Times the variants side by side, round by round, and prints medians of the ratios to the usual way. It counts processor
/// time.
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
        Swift.print("dispatch of the \(Payment.message.count)-byte payment message, \(usual.count) rounds")
        Swift.print(row("variant", "ns a message", "times the usual way", "bar"))
        Swift.print(row("usual way (JSONSerialization, casts, closures)", "\(Int(median(usual)))", "1", ""))
        for name in order {
            let times = rows[name] ?? []
            let ratios = zip(usual, times).map { $0 / $1 }
            let bar = bar(for: name)
            let ratio = median(ratios)
            let verdict = bar.map { "\($0)x \(ratio >= $0 ? "met" : "MISSED")" } ?? ""
            Swift.print(row(name, "\(Int(median(times)))", "\(ratio.rounded(to: 1))", verdict))
        }
    }

    private static func bar(for name: String) -> Double? {
        guard name.hasSuffix("batch 256") else { return nil }
        if name.hasPrefix("read by hand") { return 10 }
        return name.contains("async") ? 6 : 7.5
    }

    private static func row(_ cells: String...) -> String {
        let widths = [50, 14, 21, 12]
        return zip(cells, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }.joined()
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? .nan : sorted[sorted.count / 2]
    }
}
