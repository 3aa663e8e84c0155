import BrokerKit
import Foundation
import Synchronization
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct SubscribeLiveTests {
    private static func subscribe(
        _ broker: Broker,
        _ topic: String,
        _ arguments: String...,
        environment: [String: String] = [:]
    ) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(["subscribe", broker.url, "--topic", topic] + arguments, environment: environment)
    }

    private static func object(_ line: String?) throws -> [String: Any] {
        let data = Data(try #require(line).utf8)
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test func aMessageIsOneJSONObjectWithItsCaptures() async throws {
        try await Broker.with { broker in
            try await broker.publish("{\"a\": [1.50,\n null]}", to: "push/kiosk/loading", retain: true)
            let finished = try await SubscribeLiveTests.subscribe(broker, "push/{device}/{action}", "--count", "1")
            #expect(finished.status == 0)
            #expect(finished.errors.isEmpty)
            #expect(finished.output.count == 1)
            #expect(finished.output.first?.contains("\"payload\":{\"a\":[1.50,null]}") == true)
            let object = try SubscribeLiveTests.object(finished.output.first)
            #expect(object["topic"] as? String == "push/kiosk/loading")
            #expect(object["captures"] as? [String: String] == ["device": "kiosk", "action": "loading"])
            #expect(object["retained"] as? Bool == true)
            #expect(object["qos"] as? Int == 1)
        }
    }

    @Test func textIsAStringAndOtherBytesAreBase64() async throws {
        try await Broker.with { broker in
            try await broker.publish("on\u{1B}\nline", to: "text", retain: true)
            try await broker.publish([0xFF, 0xFE], to: "bytes", retain: true)
            let text = try await SubscribeLiveTests.subscribe(broker, "text", "--count", "1")
            #expect(try SubscribeLiveTests.object(text.output.first)["payload"] as? String == "on\u{1B}\nline")
            #expect(text.output.count == 1)
            let bytes = try await SubscribeLiveTests.subscribe(broker, "bytes", "--count", "1")
            let object = try SubscribeLiveTests.object(bytes.output.first)
            #expect(object["payload"] as? String == "//4=")
            #expect(object["encoding"] as? String == "base64")
        }
    }

    @Test func rawPrintsOnlyThePayload() async throws {
        try await Broker.with { broker in
            try await broker.publish("{ \"a\" : 1 }", to: "x", retain: true)
            let finished = try await SubscribeLiveTests.subscribe(broker, "x", "--count", "1", "--raw")
            #expect(finished.output == ["{ \"a\" : 1 }"])
        }
    }

    @Test func aTimeoutBeforeEnoughMessagesHasItsOwnStatus() async throws {
        try await Broker.with { broker in
            try await broker.publish("1", to: "x", retain: true)
            let none = try await SubscribeLiveTests.subscribe(broker, "y", "--timeout", "100ms")
            #expect(none.status == CommandStatus.timeout.rawValue)
            let few = try await GrowingTime.run {
                try await SubscribeLiveTests.subscribe(broker, "x", "--count", "2", "--timeout", $0)
            } until: {
                !$0.output.isEmpty
            }
            #expect(few.status == CommandStatus.timeout.rawValue)
            #expect(few.output.count == 1)
        }
    }

    @Test func aBadPasswordFailsAtOnceAndIsNeverShown() async throws {
        try await Broker.with(BrokerOptions(users: ["u": "right"])) { broker in
            let finished = try await SubscribeLiveTests.subscribe(
                broker,
                "x",
                "--user",
                "u",
                "--password-env",
                "P",
                "--log-level",
                "trace",
                environment: ["P": "canary-4711"]
            )
            #expect(finished.status == CommandStatus.refused.rawValue)
            #expect(!(finished.errors + finished.output).joined().contains("canary-4711"))
            try await TemporaryFolder.with { folder in
                let file = folder.appendingPathComponent("password")
                try "right\n".write(to: file, atomically: true, encoding: .utf8)
                let good = try await SubscribeLiveTests.subscribe(
                    broker,
                    "x",
                    "--user",
                    "u",
                    "--password-file",
                    file.path,
                    "--timeout",
                    "100ms"
                )
                #expect(good.status == CommandStatus.timeout.rawValue)
            }
        }
    }

    @Test func aClosedStdoutEndsTheCommandQuietly() async throws {
        try await Broker.with { broker in
            let process = try CommandProcess(["subscribe", broker.url, "--topic", "x", "--log-level", "info"])
            #expect(await process.errors.line(with: "subscribed to") != nil)
            process.output.close()
            // The subscriber notices when it writes.
            while process.isRunning { try await broker.publish(String(repeating: "x", count: 60_000), to: "x") }
            let errors = await process.errors.rest()
            await process.ends()
            #expect(!errors.contains { $0.contains(" error ") || $0.hasPrefix("signalbox:") })
        }
    }

    @Test func aSignalEndsTheSubscriptionGracefully() async throws {
        try await Broker.with { broker in
            let process = try CommandProcess(["subscribe", broker.url, "--topic", "x", "--log-level", "info"])
            #expect(await process.errors.line(with: "subscribed to") != nil)
            process.signal(SIGINT)
            await process.ends()
        }
    }

    @Test(arguments: [(SIGINT, CommandStatus.interrupted), (SIGTERM, .terminated)], ["--count", "--timeout"])
    func aSignalBeforeEnoughMessagesHasItsOwnStatus(_ signal: (Int32, CommandStatus), _ option: String) async throws {
        try await Broker.with { broker in
            let process = try CommandProcess([
                "subscribe", broker.url, "--topic", "x", "--log-level", "info", option, "600",
            ])
            #expect(await process.errors.line(with: "subscribed to") != nil)
            process.signal(signal.0)
            await process.ends(with: signal.1.rawValue)
        }
    }
}

/// The message options of `subscribe` against a real broker.
@Suite(.timeLimit(.minutes(10))) struct SubscribeOptionsTests {
    @Test func aGroupSharesMessages() async throws {
        try await Broker.with { broker in
            let lines = (0..<100).map { "message \($0)" }
            let seen = SeenLines()
            let members = [
                try await BrokerTrial.subscriber(broker.url, "-t", "x", "--share", "g", "--raw"),
                try await BrokerTrial.subscriber(broker.url, "-t", "x", "--share", "g", "--raw"),
            ]
            try await broker.publish(lines: lines, to: "x")
            await withTaskGroup(of: Void.self) { group in
                for member in members {
                    group.addTask {
                        while let line = await member.output.line(with: "message") {
                            // A duplicate would be among the first hundred.
                            if seen.add(line) >= lines.count { for member in members { member.signal(SIGINT) } }
                        }
                    }
                }
            }
            #expect(seen.lines.sorted() == lines.sorted())
            for member in members { await member.ends() }
        }
    }

    @Test func excludedMessagesAreNeitherShownNorCounted() async throws {
        try await Broker.with { broker in
            let watch = try await BrokerTrial.subscriber(
                broker.url,
                "-t",
                "a/#",
                "--exclude",
                "a/secret/#",
                "-T",
                "a/+/x",
                "--count",
                "2",
                "-F",
                "%t"
            )
            for topic in ["a/1", "a/secret", "a/secret/y", "a/b/x", "a/2"] { try await broker.publish("m", to: topic) }
            #expect(await watch.output.rest() == ["a/1", "a/2"])
            await watch.ends()
        }
    }

    @Test func theRateIsReportedOnStderr() async throws {
        try await Broker.with { broker in
            let watch = try await BrokerTrial.subscriber(broker.url, "-t", "x", "--rate", "--raw")
            #expect(await watch.errors.line(with: "signalbox: 0 messages/s, 0 in total") != nil)
            try await broker.publish(lines: ["1", "2", "3"], to: "x")
            #expect(await watch.errors.line(with: "messages/s, 3 in total") != nil)
            watch.signal(SIGINT)
            #expect(await watch.output.rest() == ["1", "2", "3"])
            await watch.ends()
        }
    }
}

/// The lines of several programs.
private final class SeenLines: Sendable {
    private let stored = Mutex<[String]>([])

    var lines: [String] { stored.withLock { $0 } }

    /// - Returns: The number of lines so far.
    func add(_ line: String) -> Int {
        stored.withLock { stored in
            stored.append(line)
            return stored.count
        }
    }
}

/// The options for versions, QoS and retained messages against a real broker.
@Suite(.timeLimit(.minutes(10))) struct BrokerDeliveryTests {
    @Test func retainedMessagesAreIgnoredOnRequest() async throws {
        try await Broker.with { broker in
            try await broker.publish("old", to: "x", retain: true)
            let ignoring = try await BrokerTrial.subscriber(
                broker.url,
                "-t",
                "x",
                "--retained",
                "ignore",
                "--raw",
                "--count",
                "1"
            )
            try await broker.publish("new", to: "x")
            #expect(await ignoring.output.rest() == ["new"])
            await ignoring.ends()
        }
    }

    @Test func theLowerQoSApplies() async throws {
        try await Broker.with { broker in
            try await broker.publish("a", to: "x", retain: true)
            for qos in ["0", "1"] {
                let seen = try await CommandProcess.run(
                    ["subscribe", broker.url, "-t", "x", "--qos", qos, "--count", "1"]
                )
                #expect(seen.output.first?.contains("\"qos\":\(qos),") == true, "\(seen)")
            }
        }
    }

    @Test(arguments: [([], "p5"), (["--v311"], "p2")]) func theOptionSelectsTheMQTTVersion(
        _ arguments: [String],
        _ word: String
    ) async throws {
        try await Broker.with { broker in
            let (published, seen) = try await BrokerTrial.roundTrip(broker.url, arguments)
            #expect(published.status == 0 && seen.output == ["hello"], "\(published) \(seen)")
            let connected = broker.log.split(separator: "\n").filter { $0.contains("New client connected") }
            #expect(connected.count == 2 && connected.allSatisfy { $0.contains("(\(word),") }, "\(connected)")
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct RawTerminalTests {
    /// Otherwise a publisher could change the terminal's title or type for the reader.
    @Test(arguments: [("--raw", #"\e]0;title"#), ("--raw=always", "\u{1B}]0;title\u{07}end")])
    func aPayloadControlsTheTerminalOnlyOnRequest(option: String, shown: String) async throws {
        try await Broker.with { broker in
            try await broker.publish("\u{1B}]0;title\u{07}end", to: "x", retain: true)
            let terminal = try Terminal()
            let process = try SpawnedProcess(
                BuiltProgram.path("signalbox"),
                ["subscribe", broker.url, "--topic", "x", "--count", "1", option],
                SpawnedProcess.Streams(output: terminal.device.fileDescriptor)
            )
            defer { process.signal(SIGKILL) }
            // With this copy closed, the terminal's output ends with the program.
            try terminal.device.close()
            #expect(await terminal.lines.line(with: "end")?.contains(shown) == true)
            #expect(await process.endStatus() == 0)
        }
    }
}
