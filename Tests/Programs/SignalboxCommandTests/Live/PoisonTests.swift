import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct PoisonTests {
    private static let configuration = """
        sources:
          push:
            mqtt:
              broker: { env: TEST_BROKER }
              client_id: poison-test
              max_deliveries: 2
              deliveries_file: push.deliveries
              topics: [ { pattern: 'push/{action}/{id}' } ]
        plugins:
          - { action: show, use: print, from: [ { source: push } ] }
          - { action: hang, use: suspend, timeout: 5m, from: [ { source: push } ] }
        hold_limit: 5m
        """

    private static func run(_ broker: Broker, _ folder: URL) throws -> CommandProcess {
        try CommandProcess(
            ["run", "signalbox.yaml", "--outcomes"],
            environment: ["TEST_BROKER": broker.url],
            folder: folder
        )
    }

    /// A process that is killed while handling a message counts as if the message had killed it.
    @Test func aMessageThatNoProcessSurvivesBecomesADeadLetterAndTheOthersAreHandled() async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("signalbox.yaml")
                try PoisonTests.configuration.write(to: file, atomically: true, encoding: .utf8)
                for round in 1...2 {
                    let process = try PoisonTests.run(broker, folder)
                    // Later the broker sends what it kept before it confirms the subscription.
                    if round == 1 {
                        try #require(await process.errors.line(with: "subscribed to") != nil)
                        for topic in ["show/1", "hang/2", "show/3"] {
                            try await broker.publish("{}", to: "push/\(topic)")
                        }
                    }
                    try #require(await process.errors.line(with: "action=hang", "id=2") != nil)
                    process.signal(SIGKILL)
                    await process.ends(with: -SIGKILL)
                }
                let process = try PoisonTests.run(broker, folder)
                let refused = try #require(await process.output.line(with: "\"outcome\":\"rejected\""))
                #expect(
                    refused.contains("\"topic\":\"push/hang/2\"") && refused.contains("\"reason\":\"deliveryLimit\"")
                )
                try await broker.publish("{}", to: "push/show/4")
                try #require(await process.output.line(with: "\"id\":\"4\"", "\"outcome\":\"handled\"") != nil)
                process.signal(SIGTERM)
                await process.ends()
            }
        }
    }
}
