import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct PublishLiveTests {
    /// Starts a subscriber and returns when it has subscribed.
    private static func subscriber(_ broker: Broker, _ topic: String, _ arguments: String...) async throws
        -> CommandProcess
    {
        let process = try CommandProcess(["subscribe", broker.url, "-t", topic, "--log-level", "info"] + arguments)
        try #require(await process.errors.line(with: "subscribed to") != nil)
        return process
    }

    private static func publish(_ broker: Broker, _ arguments: String..., input: URL? = nil) async throws
        -> CommandProcess.Finished
    {
        try await CommandProcess.run(["publish", broker.url] + arguments, input: input)
    }

    private static func write(_ text: String, in folder: URL) throws -> URL {
        let file = folder.appendingPathComponent("input-\(UUID().uuidString)")
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file
    }

    @Test func aPublishedMessageReachesTheBroker() async throws {
        try await Broker.with { broker in
            let finished = try await Self.publish(broker, "-t", "a/b", "--body", "{\"a\":1}", "--retain")
            #expect(finished.status == 0 && finished.errors.isEmpty && finished.output.isEmpty, "\(finished)")
            let seen = try await CommandProcess.run(["subscribe", broker.url, "-t", "a/b", "--count", "1"])
            #expect(seen.output.first?.contains("\"payload\":{\"a\":1}") == true)
            #expect(seen.output.first?.contains("\"retained\":true") == true)
        }
    }

    @Test func aFileOrStdinIsOneMessage() async throws {
        try await Broker.with { broker in
            let bytes = "first\nsecond\n"
            let file = try Self.write(bytes, in: broker.folder)
            for (arguments, input) in [(["--file", file.path], URL?.none), (["--file", "-"], file)] {
                let watch = try await Self.subscriber(broker, "f", "--count", "1", "--raw")
                let finished = try await CommandProcess.run(
                    ["publish", broker.url, "-t", "f"] + arguments,
                    input: input
                )
                #expect(finished.status == 0, "\(finished)")
                #expect(await watch.output.rest() == ["first", "second", ""])
            }
            let missing = try await Self.publish(broker, "-t", "f", "--file", "/nowhere/at/all")
            #expect(missing.status == CommandStatus.unreadableFile.rawValue)
        }
    }

    @Test func aSummaryIsNoErrorAndCanBeLeftOut() async throws {
        try await Broker.with { broker in
            let file = try Self.write("a\nb\n", in: broker.folder)
            let arguments = ["publish", broker.url, "-t", "lines", "--lines"]
            let json = try await CommandProcess.run(arguments + ["--log-format", "json"], input: file)
            let wanted = #""level":"info","message":"to \"lines\": published 2, not published 0"}"#
            #expect(json.status == 0 && json.errors.last?.hasSuffix(wanted) == true, "\(json)")
            let quiet = try await CommandProcess.run(arguments + ["--quiet", "--log-level", "trace"], input: file)
            #expect(quiet.status == 0 && quiet.errors.isEmpty, "\(quiet)")
        }
    }

    @Test(arguments: ["0", "1"]) func eachLineIsAMessageInOrder(_ qos: String) async throws {
        try await Broker.with { broker in
            let lines = (1...3_000).map { "\($0)" }
            let file = try Self.write((lines + ["", "end"]).joined(separator: "\n"), in: broker.folder)
            let watch = try await Self.subscriber(broker, "lines", "--count", "3001", "--raw")
            let finished = try await Self.publish(broker, "-t", "lines", "--lines", "--qos", qos, input: file)
            #expect(finished.status == 0, "\(finished)")
            let last = "signalbox: to \"lines\": published 3001, not published 0, empty lines 1"
            #expect(finished.errors == [last])
            #expect(await watch.output.rest() == lines + ["end"])
        }
    }

    @Test func aDeniedMessageIsAnError() async throws {
        let rules = FileManager.default.temporaryDirectory.appendingPathComponent("rules-\(UUID().uuidString)")
        try "topic read #\ntopic write open/#\n".write(to: rules, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: rules) }
        try await Broker.with(BrokerOptions(lines: ["acl_file \(rules.path)"])) { broker in
            #expect(try await Self.publish(broker, "-t", "open/a", "--body", "x").status == 0)
            let denied = try await Self.publish(broker, "-t", "closed/a", "--body", "canary-4711")
            #expect(denied.status == CommandStatus.refused.rawValue, "\(denied)")
            #expect(denied.errors.contains { $0.contains("not published to \"closed/a\"") }, "\(denied)")
            #expect(!denied.errors.joined().contains("canary-4711"))
            let file = try Self.write("1\n2\n3\n", in: broker.folder)
            let lines = try await Self.publish(broker, "-t", "closed/b", "--lines", input: file)
            #expect(lines.status == CommandStatus.refused.rawValue, "\(lines)")
            #expect(lines.errors.last == "signalbox: to \"closed/b\": published 0, not published 3", "\(lines)")
            #expect(lines.errors.contains { $0.contains("denied 3 messages") })
        }
    }

    @Test func anUnreachableBrokerIsAnError() async throws {
        let port = try await Broker.with { $0.port }
        let url = "mqtt://127.0.0.1:\(port)"
        let one = try await CommandProcess.run(["publish", url, "-t", "a", "--body", "b"])
        #expect(one.status == CommandStatus.unavailable.rawValue, "\(one)")
        #expect(one.errors.contains { $0.contains("not published to \"a\"") })
        let requested = try await CommandProcess.run(["request", url, "-t", "a", "--body", "b"])
        #expect(requested.status == CommandStatus.unavailable.rawValue && requested.output.isEmpty, "\(requested)")
    }

    @Test func aSignalEndsLinesAndReportsTheirCount() async throws {
        try await Broker.with { broker in
            let watch = try await Self.subscriber(broker, "lines", "--count", "2", "--raw")
            let process = try CommandProcess(["publish", broker.url, "-t", "lines", "--lines"], isTyped: true)
            try process.type("1")
            try process.type("2")
            #expect(await watch.output.rest() == ["1", "2"])
            process.signal(SIGTERM)
            let errors = await process.errors.rest()
            await process.ends(with: CommandStatus.terminated.rawValue)
            let last = "signalbox: to \"lines\": published 2, not published 0; stdin was not read to its end"
            #expect(errors == [last])
        }
    }

    @Test func propertiesAndExpiryReachTheSubscriber() async throws {
        try await Broker.with { broker in
            let finished = try await Self.publish(
                broker,
                "-t",
                "p",
                "--body",
                "x",
                "--retain",
                "--content-type",
                "text/x",
                "--expiry",
                "1h"
            )
            #expect(finished.status == 0, "\(finished)")
            let arguments = [
                "-h", "127.0.0.1", "-p", "\(broker.port)", "-V", "5", "-t", "p", "-C", "1", "-F", "%C|%E|%p",
            ]
            let output = broker.folder.appendingPathComponent("seen")
            let seen = try RunningProgram("mosquitto_sub", arguments, output: output)
            #expect(await seen.status() == 0)
            let line = try String(contentsOf: output, encoding: .utf8)
            #expect(line.hasPrefix("text/x|") && line.hasSuffix("|x\n"), "\(line)")
        }
    }
}

@Suite struct PublishReportTests {
    @Test func allReadLinesAreCounted() {
        let report = PublishReport(topic: "a", rejected: 2, empty: 1, isComplete: false, published: 5, failed: 1)
        #expect(
            report.messages == ["to \"a\": published 5, not published 3, empty lines 1; stdin was not read to its end"]
        )
        #expect(report.status == .notAsExpected)
    }

    @Test func unreadableStdinHasItsOwnStatus() {
        let report = PublishReport(topic: "a", readError: "broken")
        #expect(report.messages.first == "broken")
        #expect(report.status == .unreadableFile)
    }

    @Test func anEmptyInputSucceeds() {
        let report = PublishReport(topic: "a", isComplete: true)
        #expect(report.messages == ["to \"a\": published 0, not published 0"])
        #expect(report.status == .done)
    }

    @Test func deniedMessagesDetermineTheStatus() {
        let report = PublishReport(topic: "a", isComplete: true, published: 1, failed: 2, denied: 2)
        #expect(report.messages.first?.hasPrefix("the broker denied 2 messages to \"a\": ") == true)
        #expect(report.status == .refused)
        #expect(PublishReport(topic: "a", isComplete: true, failed: 1).status == .notAsExpected)
    }

    @Test func theRateUsesTheElapsedTime() {
        #expect(RateReporter.line(new: 300, within: .milliseconds(1_500), all: 900) == "200 messages/s, 900 in total")
        #expect(RateReporter.line(new: 0, within: .zero, all: 0) == "0 messages/s, 0 in total")
    }
}

/// Requests answered by `run`, and plugins that publish.
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
          - { action: forward, use: publish, source: push, topic: 'out/{action}/{id}', properties: { user_properties: { site: north }, response_topic: back }, from: [ { source: push } ] }
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
        try await CommandProcess.run(["request", broker.url, "-t", topic, "--body", "{}"] + arguments)
    }

    @Test func aReplyHasFormats() async throws {
        try await Self.withRun { broker, _ in
            let finished = try await Self.request(broker, "push/1/question", "-W", "100s", "-F", "<%P|%p>")
            let line = try #require(finished.output.first)
            #expect(line.hasPrefix("<") && line.contains("outcome:handled") && line.contains("|{"), "\(line)")
            #expect(line.hasSuffix("}>") && line.contains(#"{"answer":42}"#), "\(line)")
            let base64 = try await Self.request(broker, "push/1/question", "-W", "100s", "--base64")
            let payload = try #require(Data(base64Encoded: base64.output.first ?? ""))
            #expect(String(decoding: payload, as: UTF8.self).contains(#"{"answer":42}"#), "\(base64)")
        }
    }

    @Test func aPluginsReplyIsPrintedOnStdout() async throws {
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

    @Test func anUnhandledRequestHasItsOwnStatus() async throws {
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
            #expect(
                line.contains(#""responseTopic":"back""#) && line.contains(#"{"name":"site","value":"north"}"#),
                "\(line)"
            )
            #expect(await process.output.line(with: "\"action\":\"forward\"", "\"outcome\":\"handled\"") != nil)
        }
    }

    @Test func aDeniedPublishFailsThePlugin() async throws {
        try await Self.withRun { broker, process in
            try await broker.publish("{}", to: "push/8/hide")
            let line = try #require(await process.output.line(with: "\"action\":\"hide\""))
            #expect(line.contains("\"outcome\":\"failed\"") && line.contains("closed/8"), "\(line)")
        }
    }
}
