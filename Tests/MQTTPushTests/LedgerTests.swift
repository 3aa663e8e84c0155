import BrokerKit
import Foundation
import MQTTPush
import SignalboxCore
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct LedgerTests {
    @Test func everyMessageTheBrokerAcknowledgedArrivesAlthoughItIsRestartedInTheMiddle() async throws {
        let count = 5_000
        try await Broker.with { broker in
            let ledger = broker.folder.appendingPathComponent("ledger.txt")
            try await PushTrial.run(try .test(broker, [try MQTTTopic("push/{action}")])) { trial in
                let publisher = try RunningProgram(
                    BuiltProgram.path("LedgerPublisher"),
                    [
                        "--port", "\(broker.port)", "--topic", "push/log", "--count", "\(count)", "--payload",
                        #"{"n":{n}}"#, "--ledger", ledger.path,
                    ]
                )
                _ = await trial.intake.taken.wait { $0.count >= count / 4 }
                await broker.stop()
                try await broker.restart()
                #expect(await publisher.status() == 0)
                let acknowledged = try String(contentsOf: ledger, encoding: .utf8).split(separator: "\n").compactMap {
                    Int($0)
                }
                #expect(Set(acknowledged) == Set(1...count))
                // Messages come in order, but for those sent again: when the last is there, all may not be yet.
                let arrived = await trial.intake.taken.wait { Self.numbers($0).count == count }
                #expect(Self.numbers(arrived) == Set(1...count))
            }
        }
    }

    @Test func aPublisherThatTheBrokerRefusesEndsWithAnotherStatus() async throws {
        try await Broker.with(BrokerOptions(users: ["alice": "secret"])) { broker in
            let publisher = try RunningProgram(
                BuiltProgram.path("LedgerPublisher"),
                ["--port", "\(broker.port)", "--ledger", broker.folder.appendingPathComponent("ledger.txt").path]
            )
            #expect(await publisher.status() == 2)
        }
    }

    private static func numbers(_ taken: [RecordingIntake.Taken]) -> Set<Int> {
        guard taken.count >= 5_000 else { return [] }
        return Set(taken.compactMap { try? $0.arrival.reading.get().body.decode([String: Int].self)["n"] })
    }
}
