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
            let configuration = try place.configuration(
                "ledger",
                plugins: place.plugin("log", use: "file", more: "path: \(ledger)")
            )
            let run = try await CommandRun.started(configuration)
            let sent = place.file("acknowledged.txt")
            let publisher = try RunningProgram(
                BuiltProgram.path("LedgerPublisher"),
                [
                    "--port", "\(place.broker.port)", "--topic", "push/ledger/log", "--payload", #"{"number":"{n}"}"#,
                    "--count", "\(LedgerTests.count)", "--ledger", sent.path,
                ]
            )
            try await run.output.untilLines(LedgerTests.count / 2)
            await place.broker.stop()
            try await place.broker.restart()
            #expect(await publisher.status() == 0)
            let acknowledged = Set(try place.lines(of: "acknowledged.txt"))
            #expect(acknowledged.count == LedgerTests.count)
            try await untilHandled(acknowledged, run, place)
            run.signal(SIGTERM)
            #expect(await run.status() == 0)
            let handled = try numbers(in: place)
            #expect(acknowledged.isSubset(of: Set(handled)))
            print(
                "ledger: \(acknowledged.count) acknowledged, \(handled.count) handled, "
                    + "\(handled.count - Set(handled).count) of them again after the restart"
            )
        }
    }

    /// What was handled twice is in the outcomes twice, so the number of lines alone does not tell.
    private func untilHandled(_ acknowledged: Set<String>, _ run: CommandRun, _ place: Workplace) async throws {
        var lines = acknowledged.count
        while true {
            try await run.output.untilLines(lines)
            let missing = acknowledged.subtracting(try numbers(in: place)).count
            if missing == 0 { return }
            lines = run.output.lines.count + missing
        }
    }

    private func numbers(in place: Workplace) throws -> [String] {
        try place.lines(of: "handled.jsonl").compactMap { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return (object?["body"] as? [String: Any])?["number"] as? String
        }
    }
}
