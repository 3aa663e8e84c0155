import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Requests that a `run` answers, and plugins that publish.
@Suite(.timeLimit(.minutes(10))) struct RequestLiveTests {
    private static func configuration(_ broker: Broker) -> String {
        """
        sources:
          push:
            mqtt:
              broker: \(broker.url)
              client_id: answering
              topics: [ { pattern: 'push/{id}/{action}' } ]
              publishing: { reply_topics: [ 'signalbox/replies/#' ] }
        plugins:
          - { action: question, use: reply, value: { answer: 42 }, from: [ { source: push } ] }
          - { action: forward, use: publish, source: push, topic: 'out/{action}/{id}', from: [ { source: push } ] }
          - { action: hide, use: publish, source: push, topic: 'closed/{id}', from: [ { source: push } ] }
        """
    }

    private static func withRun(_ body: (Broker, CommandProcess) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let rules = folder.appendingPathComponent("rules")
            let open = ["push/#", "out/#", "signalbox/replies/#"].map { "topic write \($0)\n" }.joined()
            try "topic read #\n\(open)".write(to: rules, atomically: true, encoding: .utf8)
            try await Broker.with(BrokerOptions(lines: ["acl_file \(rules.path)"])) { broker in
                try await BrokerTrial.withRun(configuration(broker), in: folder) { try await body(broker, $0) }
            }
        }
    }

    private static func request(_ broker: Broker, _ topic: String, _ arguments: String...) async throws
        -> CommandProcess.Finished
    {
        try await CommandProcess.run(["request", broker.url, "-t", topic, "--payload", "{}"] + arguments)
    }

    @Test func aPluginsReplyIsDataOnStdout() async throws {
        try await Self.withRun { broker, _ in
            let finished = try await Self.request(broker, "push/1/question", "--timeout", "100s")
            #expect(finished.status == 0 && finished.errors.isEmpty, "\(finished)")
            #expect(finished.output.count == 1)
            let line = finished.output.first ?? ""
            #expect(line.contains("\"outcome\":\"handled\"") && line.contains("{\"answer\":42}"), "\(line)")
            let raw = try await Self.request(broker, "push/2/question", "--timeout", "100s", "--raw")
            #expect(raw.status == 0 && raw.output.count == 1 && raw.output.first?.contains("{\"answer\":42}") == true)
        }
    }

    @Test func whatIsNotHandledHasItsOwnStatus() async throws {
        try await Self.withRun { broker, _ in
            let unknown = try await Self.request(broker, "push/1/dance", "--timeout", "100s")
            #expect(unknown.status == CommandStatus.notAsExpected.rawValue, "\(unknown)")
            #expect(unknown.output.first?.contains("\"outcome\":\"rejected\"") == true)
            let silent = try await Self.request(broker, "out/nobody", "--timeout", "1s")
            #expect(silent.status == CommandStatus.timeout.rawValue && silent.output.isEmpty, "\(silent)")
            let denied = try await Self.request(broker, "closed/x", "--timeout", "100s")
            #expect(denied.status == CommandStatus.refused.rawValue && denied.output.isEmpty, "\(denied)")
            #expect(denied.errors.contains { $0.contains("\"closed/x\"") })
        }
    }

    @Test func aPluginPublishes() async throws {
        try await Self.withRun { broker, process in
            let watch = try await BrokerTrial.subscriber(broker.url, "-t", "out/#", "--count", "1")
            try await broker.publish("{ \"a\": 1 }", to: "push/7/forward")
            let line = try #require(await watch.output.line(with: "payload"))
            #expect(line.contains("\"topic\":\"out/forward/7\"") && line.contains("\"payload\":{\"a\":1}"), "\(line)")
            #expect(await process.output.line(with: "\"action\":\"forward\"", "\"outcome\":\"handled\"") != nil)
        }
    }

    @Test func whatTheBrokerDeniesIsAFailureOfThePlugin() async throws {
        try await Self.withRun { broker, process in
            try await broker.publish("{}", to: "push/8/hide")
            let line = try #require(await process.output.line(with: "\"action\":\"hide\""))
            #expect(line.contains("\"outcome\":\"failed\"") && line.contains("closed/8"), "\(line)")
        }
    }
}
