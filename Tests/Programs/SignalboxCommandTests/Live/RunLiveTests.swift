import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct RunLiveTests {
    private static let configuration = """
        sources:
          push:
            mqtt:
              broker: { env: TEST_BROKER }
              client_id: run-test
              username: { env: TEST_USER }
              password: { env: TEST_PASSWORD }
              topics: [ { pattern: 'push/{device}/{action}' } ]
        plugins:
          - { action: show, use: print, from: [ { source: push, topic: push/+/show } ] }
          - { action: keep, use: file, path: ledger.jsonl, timeout: 5m, from: [ { source: push } ] }
          - { action: closed, use: log, from: [ { source: push, topic: push/control/closed } ] }
          - { action: broken, use: fail, from: [ { source: push } ] }
          - { action: hang, use: suspend, timeout: 300ms, from: [ { source: push } ] }
        drain_limit: 500ms
        """

    /// Runs the configuration, subscribed, against a broker of its own.
    private static func withRun(_ body: (Broker, CommandProcess, URL) async throws -> Void) async throws {
        try await Broker.with(BrokerOptions(users: ["kiosk": "canary-4711", "other": "other"])) { broker in
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("signalbox.yaml")
                try configuration.write(to: file, atomically: true, encoding: .utf8)
                let environment = ["TEST_BROKER": broker.url, "TEST_USER": "kiosk", "TEST_PASSWORD": "canary-4711"]
                let process = try CommandProcess(
                    ["run", file.path, "--outcomes", "--log-level", "trace"],
                    environment: environment,
                    folder: folder
                )
                try #require(await process.errors.line(with: "subscribed to") != nil)
                try await body(broker, process, folder)
            }
        }
    }

    private static func publish(_ payload: [UInt8], _ action: String, _ broker: Broker) async throws {
        let file = broker.folder.appendingPathComponent("payload-\(UUID().uuidString)")
        try Data(payload).write(to: file)
        let arguments = [
            "-h", "127.0.0.1", "-p", "\(broker.port)", "-u", "other", "-P", "other", "-q", "1", "-t",
            "push/d/\(action)",
            "-f", file.path,
        ]
        try #require(try await RunningProgram("mosquitto_pub", arguments).status() == 0)
    }

    @Test func eachMessageHasOneOutcomeAndIsAcknowledged() async throws {
        try await RunLiveTests.withRun { broker, process, folder in
            let expected: [(String, [UInt8], String)] = [
                ("show", Array("{\"a\":1}".utf8), "\"outcome\":\"handled\""),
                ("keep", Array("{\"a\":2}".utf8), "\"outcome\":\"handled\""),
                ("dance", Array("{}".utf8), "\"reason\":\"unknownAction\""),
                ("closed", Array("{}".utf8), "\"reason\":\"sourceNotAllowed\""),
                ("broken", Array("{}".utf8), "\"reason\":\"threw\""),
                ("show", [0x22, 0xFF, 0x22], "\"deadLetter\":\"Iv8i\",\"deadLetterEncoding\":\"base64\""),
                ("show", Array(repeating: 0x5B, count: 100_000), "\"reason\":\"malformed\""),
            ]
            for (action, payload, words) in expected {
                try await RunLiveTests.publish(payload, action, broker)
                let line = try #require(await process.output.line(with: "\"outcome\":"))
                #expect(line.contains(words), "\(action): \(line.prefix(300))")
            }
            process.signal(SIGTERM)
            let (errors, output) = (await process.errors.rest(), await process.output.rest())
            await process.ends()
            #expect(output.isEmpty)
            #expect(errors.last == "signalbox: handled 2, rejected 4, failed 1, abandoned 0, dead letters 5")
            #expect(!errors.joined().contains("canary-4711"))
            let ledger = try String(contentsOf: folder.appendingPathComponent("ledger.jsonl"), encoding: .utf8)
            #expect(ledger.split(separator: "\n").count == 1)
            #expect(ledger.hasSuffix(",\"body\":{\"a\":2}}\n"))
            let deliveries = folder.appendingPathComponent("ledger.jsonl.deliveries.push")
            #expect(FileManager.default.fileExists(atPath: deliveries.path))
        }
    }

    @Test func aCallThatHangsTimesOutAndTheDrainEndsWithItsOwnStatus() async throws {
        try await RunLiveTests.withRun { broker, process, _ in
            try await RunLiveTests.publish(Array("{}".utf8), "hang", broker)
            #expect(await process.output.line(with: "\"action\":\"hang\"", "\"reason\":\"timeout\"") != nil)
            try await RunLiveTests.publish(Array("{}".utf8), "show", broker)
            #expect(await process.output.line(with: "\"action\":\"show\"", "\"outcome\":\"handled\"") != nil)
            process.signal(SIGTERM)
            let errors = await process.errors.rest()
            await process.ends(with: CommandStatus.drainIncomplete.rawValue)
            #expect(errors.last?.contains("not returned: push/hang") == true)
        }
    }
}
