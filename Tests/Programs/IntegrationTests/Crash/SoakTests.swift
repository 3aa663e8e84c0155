import BrokerKit
import Foundation
import Testing

@Suite struct SoakTests {
    private static let chunk = 200
    private static let window = 20

    /// SIGNALBOX_SOAK_KILLS makes it longer: `make soak` asks for 200.
    private static var kills: Int {
        ProcessInfo.processInfo.environment["SIGNALBOX_SOAK_KILLS"].flatMap { Int($0) } ?? 6
    }

    @Test(.timeLimit(.minutes(60)))
    func nothingAcknowledgedIsLostHoweverOftenTheWorkerIsKilled() async throws {
        try await Workplace.with { place in
            // The session is there before the first message.
            let first = try await WorkerRun.subscribed(arguments(place))
            first.signal(SIGTERM)
            #expect(await first.status() == 0)
            var acknowledged: Set<String> = []
            for round in 0..<SoakTests.kills {
                let worker = try WorkerRun(arguments(place))
                let publisher = try publish(place, action: "log", first: round * SoakTests.chunk + 1, SoakTests.chunk)
                if round % 4 > 0 { try await worker.diagnostics.untilLine(containing: "subscribed to") }
                // The moment is what is tried, not waited for.
                try await Task.sleep(for: .milliseconds(.random(in: 0...200)))
                worker.signal(SIGKILL)
                #expect(await worker.status() == -SIGKILL)
                #expect(await publisher.status() == 0)
                acknowledged.formUnion(try place.lines(of: "sent-\(round * SoakTests.chunk + 1).txt"))
            }
            let last = try await WorkerRun.subscribed(arguments(place))
            #expect(try await publish(place, action: "marker", first: 0, 1).status() == 0)
            #expect(await last.status() == 0)
            let handled = try place.lines(of: "handled.txt")
            let lost = acknowledged.subtracting(handled).count
            let again = handled.count - Set(handled).count
            #expect(acknowledged.count == SoakTests.kills * SoakTests.chunk)
            #expect(lost == 0)
            print(
                "soak: \(SoakTests.kills) kills, \(acknowledged.count) acknowledged, \(lost) lost, \(again) handled again"
            )
        }
    }

    private func arguments(_ place: Workplace) -> [String] {
        [
            "--broker", place.broker.url, "--window", "\(SoakTests.window)", "--ledger", place.file("handled.txt").path,
        ]
    }

    private func publish(_ place: Workplace, action: String, first: Int, _ count: Int) throws -> RunningProgram {
        try RunningProgram(
            BuiltProgram.path("LedgerPublisher"),
            [
                "--port", "\(place.broker.port)", "--topic", "crash/\(action)", "--payload", #"{"n":{n}}"#, "--first",
                "\(first)", "--count", "\(count)", "--ledger", place.file("sent-\(first).txt").path,
            ]
        )
    }
}
