import BrokerKit
import Foundation
import Testing

@Suite struct LedgerTests {
    /// SIGNALBOX_LEDGER_MESSAGES makes it longer by hand: 100000 takes some minutes.
    private static var count: Int {
        ProcessInfo.processInfo.environment["SIGNALBOX_LEDGER_MESSAGES"].flatMap { Int($0) } ?? 20_000
    }

    @Test(.timeLimit(.minutes(10)))
    func everyAcknowledgedMessageIsHandledThoughTheBrokerRestarts() async throws {
        let options = BrokerOptions(lines: ["max_inflight_messages 1000", "set_tcp_nodelay true"])
        try await Workplace.with(options) { place in
            let ledger = place.file("handled.jsonl").path
            let plugins = [
                place.plugin("log", use: "file", more: "path: \(ledger)"), place.plugin("sentinel", use: "print"),
            ]
            let configuration = try place.configuration("ledger", plugins: plugins.joined(separator: "\n"))
            let run = try await CommandRun.started(configuration, outcomes: false)
            let half = LedgerTests.count / 2
            #expect(try await publisher(place, first: 1, count: half).status() == 0)
            let second = try publisher(place, first: half + 1, count: LedgerTests.count - half)
            await place.broker.stop()
            try await place.broker.restart()
            #expect(await second.status() == 0)
            // The broker sends in order, so when this one is handled the others are, or are in the same batch.
            try await place.broker.publish("{}", to: "push/ledger/sentinel")
            try await run.output.untilLine(containing: "sentinel")
            run.signal(SIGTERM)
            await run.ends()
            let acknowledged = Set(try place.lines(of: "sent-1.txt") + place.lines(of: "sent-\(half + 1).txt"))
            let handled = try numbers(in: place)
            #expect(acknowledged.count == LedgerTests.count)
            #expect(acknowledged.isSubset(of: Set(handled)))
            let again = handled.count - Set(handled).count
            print("ledger: \(acknowledged.count) acknowledged, \(handled.count) handled, \(again) of them again")
        }
    }

    private func publisher(_ place: Workplace, first: Int, count: Int) throws -> RunningProgram {
        try RunningProgram(
            BuiltProgram.path("LedgerPublisher"),
            [
                "--port", "\(place.broker.port)", "--topic", "push/ledger/log", "--payload", #"{"number":"{n}"}"#,
                "--first", "\(first)", "--count", "\(count)", "--ledger", place.file("sent-\(first).txt").path,
            ]
        )
    }

    private func numbers(in place: Workplace) throws -> [String] {
        try place.lines(of: "handled.jsonl").compactMap { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return (object?["body"] as? [String: Any])?["number"] as? String
        }
    }
}
