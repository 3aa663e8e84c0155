import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct SecondSignalTests {
    @Test(arguments: [(SIGTERM, CommandStatus.terminated), (SIGINT, .interrupted)])
    func itEndsADrainAtOnce(_ number: Int32, _ status: CommandStatus) async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("signalbox.yaml")
                let configuration = """
                    sources:
                      push: { mqtt: { broker: '\(broker.url)', client_id: a, topics: [ { pattern: 'x/{action}' } ] } }
                    plugins: [ { action: show, use: print, from: [ { source: push } ] } ]
                    limits: { message_bytes: 1MiB }
                    timeout: 1h
                    drain_limit: 1h
                    """
                try configuration.write(to: file, atomically: true, encoding: .utf8)
                let process = try CommandProcess(["run", file.path], pausesOutput: true)
                try #require(await process.errors.line(with: "subscribed to") != nil)
                // More than a pipe holds, so the plugin's call has begun and cannot end while nobody reads on.
                try await broker.publish("\"" + String(repeating: "x", count: 500_000) + "\"", to: "x/show")
                await process.output.waitForBytes()
                process.signal(number)
                try #require(await process.errors.line(with: "draining") != nil)
                process.signal(number)
                await process.ends(with: status.rawValue)
            }
        }
    }
}
