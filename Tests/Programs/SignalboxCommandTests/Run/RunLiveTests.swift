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
          - { action: keep, use: file, path: actions.jsonl, timeout: 5m, from: [ { source: push } ] }
          - { action: closed, use: log, from: [ { source: push, topic: push/control/closed } ] }
          - { action: broken, use: fail, from: [ { source: push } ] }
          - { action: hang, use: suspend, timeout: 300ms, from: [ { source: push } ] }
        drain_limit: 500ms
        """

    /// Runs `body` with a broker, once the configuration's source has subscribed.
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
            let log = try String(contentsOf: folder.appendingPathComponent("actions.jsonl"), encoding: .utf8)
            #expect(log.split(separator: "\n").count == 1)
            #expect(log.hasSuffix(",\"body\":{\"a\":2}}\n"))
            let deliveries = folder.appendingPathComponent("actions.jsonl.deliveries.push")
            #expect(FileManager.default.fileExists(atPath: deliveries.path))
        }
    }

    /// Publishes many messages whose topic has the same id.
    @Test func manyRejectionsForOneReasonHaveOneLine() async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                let text = """
                    sources:
                      push: { mqtt: { broker: '\(broker.url)', client_id: same-id, topics: ['push/{id}/{action}'] } }
                    plugins:
                      - { action: show, use: log, from: push }
                    """
                let file = folder.appendingPathComponent("c.yaml")
                try text.write(to: file, atomically: true, encoding: .utf8)
                let process = try CommandProcess(["run", "c.yaml", "--outcomes"], folder: folder)
                try #require(await process.errors.line(with: "subscribed to") != nil)
                let publisher = try RunningProgram(
                    BuiltProgram.path("RecordingPublisher"),
                    [
                        "--port", "\(broker.port)", "--topic", "push/same/show", "--in-flight", "20", "--payload",
                        #"{"number":"{n}"}"#, "--first", "1", "--count", "300", "--log",
                        folder.appendingPathComponent("sent.txt").path,
                    ]
                )
                try #require(await publisher.status() == 0)
                for _ in 0..<300 { try #require(await process.output.line(with: "\"outcome\":") != nil) }
                process.signal(SIGTERM)
                let errors = await process.errors.rest()
                let summaries = errors.filter { $0.contains("many messages are rejected for the same reason: ") }
                #expect(errors.filter { $0.contains("dead letter: ") }.count == 19)
                #expect(summaries.last?.contains("299 of ") == true, "\(summaries)")
                #expect(summaries.last?.contains("publishers send the same {id}") == true, "\(summaries)")
                await process.ends()
            }
        }
    }

    @Test func aHungCallTimesOutAndTheDrainHasItsOwnStatus() async throws {
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
        ack_deadline: 5m
        """

    private static func run(_ broker: Broker, _ folder: URL) throws -> CommandProcess {
        try CommandProcess(
            ["run", "signalbox.yaml", "--outcomes"],
            environment: ["TEST_BROKER": broker.url],
            folder: folder
        )
    }

    /// A process that is killed while it handles a message counts as killed by the message.
    @Test func aMessageThatKillsItsProcessesBecomesADeadLetter() async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("signalbox.yaml")
                try PoisonTests.configuration.write(to: file, atomically: true, encoding: .utf8)
                for round in 1...2 {
                    let process = try PoisonTests.run(broker, folder)
                    // In the second round, the broker sends stored messages before it confirms the subscription.
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

@Suite(.timeLimit(.minutes(10))) struct SecondSignalTests {
    @Test(arguments: [(SIGTERM, CommandStatus.terminated), (SIGINT, .interrupted)])
    func aSecondSignalEndsADrainAtOnce(_ number: Int32, _ status: CommandStatus) async throws {
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
                // More than a pipe holds, so the plugin's call has started and cannot end while nothing reads.
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

/// A program whose drain has ended while its lines still wait for a reader.
@Suite(.timeLimit(.minutes(10))) struct UnreadOutputTests {
    /// Runs until a line longer than a pipe's buffer waits, and the drain after a first signal has ended.
    private static func withDrained(
        outputWait: String = "1h",
        _ body: (CommandProcess) async throws -> Void
    ) async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("signalbox.yaml")
                let configuration = """
                    sources:
                      push: { mqtt: { broker: '\(broker.url)', client_id: a, topics: [ { pattern: 'x/{action}' } ] } }
                    plugins: [ { action: show, use: log, from: [ { source: push } ] } ]
                    limits: { message_bytes: 1MiB }
                    output_wait: \(outputWait)
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

    @Test func unreadOutputIsReportedAsLost() async throws {
        try await UnreadOutputTests.withDrained(outputWait: "10ms") { process in
            let errors = await process.errors.rest()
            await process.ends(with: CommandStatus.outputFailed.rawValue)
            #expect(errors.contains { $0.contains("the output was not read") })
            #expect(errors.last?.hasPrefix("signalbox: handled 0, rejected 1") == true)
        }
    }

    @Test func aClosedReaderIsAFailedOutput() async throws {
        try await UnreadOutputTests.withDrained { process in
            process.output.close()
            await process.ends(with: CommandStatus.outputFailed.rawValue)
        }
    }

    @Test func aSecondSignalEndsTheWaitAtOnce() async throws {
        try await UnreadOutputTests.withDrained { process in
            process.signal(SIGTERM)
            await process.ends(with: CommandStatus.terminated.rawValue)
        }
    }
}
