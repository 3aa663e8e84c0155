import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite struct SecondSignalTests {
    @Test(arguments: [(SIGTERM, ExitStatus.secondTermination), (SIGINT, .secondInterrupt)])
    func itEndsADrainAtOnce(_ number: Int32, _ status: ExitStatus) async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("signalbox.yaml")
                let configuration = """
                    sources:
                      push: { mqtt: { broker: '\(broker.url)', client_id: a, topics: [ { pattern: 'x/{action}' } ] } }
                    plugins: [ { action: hang, use: suspend, from: [ { source: push } ] } ]
                    timeout: 1h
                    drain_limit: 1h
                    """
                try configuration.write(to: file, atomically: true, encoding: .utf8)
                let process = try CommandProcess(["run", file.path])
                try #require(await process.errors.line(with: "subscribed to") != nil)
                try await broker.publish("1", to: "x/hang")
                try await broker.publish("1", to: "x/nobody")
                // The second message's outcome tells that the first has begun or waits.
                try #require(await process.errors.line(with: "unknownAction") != nil)
                process.signal(number)
                try #require(await process.errors.line(with: "draining") != nil)
                process.signal(number)
                #expect(await process.status() == status.rawValue)
            }
        }
    }
}
