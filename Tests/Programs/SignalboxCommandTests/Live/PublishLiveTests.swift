import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct PublishLiveTests {
    /// A subscriber that is subscribed, and waits for so many messages.
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

    @Test func aMessageIsThereWhenItEnds() async throws {
        try await Broker.with { broker in
            let finished = try await Self.publish(broker, "-t", "a/b", "--payload", "{\"a\":1}", "--retain")
            #expect(finished.status == 0 && finished.errors.isEmpty && finished.output.isEmpty, "\(finished)")
            let seen = try await CommandProcess.run(["subscribe", broker.url, "-t", "a/b", "--count", "1"])
            #expect(seen.output.first?.contains("\"payload\":{\"a\":1}") == true)
            #expect(seen.output.first?.contains("\"retained\":true") == true)
        }
    }

    @Test func aFileAndStdinAreOneMessage() async throws {
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

    @Test(arguments: ["0", "1"]) func eachLineIsAMessageInItsOrder(_ quality: String) async throws {
        try await Broker.with { broker in
            let lines = (1...3_000).map { "\($0)" }
            let file = try Self.write((lines + ["", "end"]).joined(separator: "\n"), in: broker.folder)
            let watch = try await Self.subscriber(broker, "lines", "--count", "3001", "--raw")
            let finished = try await Self.publish(broker, "-t", "lines", "--lines", "--qos", quality, input: file)
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
            #expect(try await Self.publish(broker, "-t", "open/a", "--payload", "x").status == 0)
            let denied = try await Self.publish(broker, "-t", "closed/a", "--payload", "canary-4711")
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

    @Test func aBrokerThatIsNotThereIsAnError() async throws {
        let port = try await Broker.with { $0.port }
        let url = "mqtt://127.0.0.1:\(port)"
        let one = try await CommandProcess.run(["publish", url, "-t", "a", "--payload", "b"])
        #expect(one.status == CommandStatus.unavailable.rawValue, "\(one)")
        #expect(one.errors.contains { $0.contains("not published to \"a\"") })
        let asked = try await CommandProcess.run(["request", url, "-t", "a", "--payload", "b"])
        #expect(asked.status == CommandStatus.unavailable.rawValue && asked.output.isEmpty, "\(asked)")
    }

    @Test func aSignalEndsLinesAndTheyAreCounted() async throws {
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

    @Test func propertiesArriveAndExpiryCounts() async throws {
        try await Broker.with { broker in
            let finished = try await Self.publish(
                broker,
                "-t",
                "p",
                "--payload",
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
