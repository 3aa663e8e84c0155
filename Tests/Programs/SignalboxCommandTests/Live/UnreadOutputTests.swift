import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// What becomes of a program whose drain has ended while its lines still wait for a reader.
@Suite(.timeLimit(.minutes(10))) struct UnreadOutputTests {
    /// Runs until a line of more than a pipe holds waits, and the drain that a first signal began has ended.
    private static func withDrained(_ body: (CommandProcess) async throws -> Void) async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("signalbox.yaml")
                let configuration = """
                    sources:
                      push: { mqtt: { broker: '\(broker.url)', client_id: a, topics: [ { pattern: 'x/{action}' } ] } }
                    plugins: [ { action: show, use: log, from: [ { source: push } ] } ]
                    limits: { message_bytes: 1MiB }
                    """
                try configuration.write(to: file, atomically: true, encoding: .utf8)
                let process = try CommandProcess(["run", file.path, "--outcomes"], pausesOutput: true)
                try #require(await process.errors.line(with: "subscribed to") != nil)
                try await broker.publish("\"" + String(repeating: "x", count: 500_000) + "\"", to: "x/unknown")
                await process.output.waitForBytes()
                process.signal(SIGTERM)
                try #require(await process.errors.line(with: "drained") != nil)
                try await body(process)
            }
        }
    }

    @Test func itEndsByItselfAndSaysThatLinesWereLost() async throws {
        try await UnreadOutputTests.withDrained { process in
            let errors = await process.errors.rest()
            await process.ends(with: CommandStatus.outputFailed.rawValue)
            #expect(errors.contains { $0.contains("the output is not read") })
            #expect(errors.last?.hasPrefix("signalbox: handled 0, rejected 1") == true)
        }
    }

    @Test func aReaderThatGoesAwayThenIsLostOutput() async throws {
        try await UnreadOutputTests.withDrained { process in
            process.output.close()
            await process.ends(with: CommandStatus.outputFailed.rawValue)
        }
    }

    @Test func aSecondSignalEndsItAtOnce() async throws {
        try await UnreadOutputTests.withDrained { process in
            process.signal(SIGTERM)
            await process.ends(with: CommandStatus.terminated.rawValue)
        }
    }
}
