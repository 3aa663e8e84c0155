import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// How `subscribe`, `request` and `connect` write messages that are not shown as records.
@Suite(.timeLimit(.minutes(10))) struct MessageFormatTests {
    private static let properties = [
        ["content-type", "text/plain"], ["correlation-data", "c d"], ["response-topic", "answers/é"],
        ["payload-format-indicator", "1"], ["user-property", "k", "v w"], ["user-property", "l", ""],
    ]

    /// Publishes a JSON message with all properties, a text without properties, and bytes.
    private static func publish(_ broker: Broker) async throws {
        let json = Array(#"{"n":"é"}"#.utf8)
        try await broker.publish(json, to: "f/é/json", retain: true, properties: properties)
        try await broker.publish(Array("on".utf8), to: "f/text", retain: true)
        try await broker.publish([0xFF, 0x01], to: "f/x", retain: true)
    }

    /// Returns what a program writes about messages with a topic.
    private static func output(
        of program: String,
        _ arguments: [String],
        in folder: URL
    ) async throws -> [UInt8] {
        let file = folder.appendingPathComponent(UUID().uuidString)
        let status = try await RunningProgram(program, arguments, output: file).status()
        #expect(status == 0, "\(program) \(arguments)")
        return Array(try Data(contentsOf: file))
    }

    /// Returns the outputs of `mosquitto_sub` and `signalbox subscribe` for the same messages.
    private static func outputs(
        _ broker: Broker,
        _ topic: String,
        count: Int,
        _ format: String,
        in folder: URL
    ) async throws -> (mosquitto: [UInt8], signalbox: [UInt8]) {
        let common = ["-q", "1", "-t", topic, "-C", "\(count)", "-F", format]
        let theirs = ["-h", "127.0.0.1", "-p", "\(broker.port)", "-V", "5"] + common
        let ours = ["subscribe", broker.url] + common
        return (
            try await output(of: "mosquitto_sub", theirs, in: folder),
            try await output(of: BuiltProgram.path("signalbox"), ours, in: folder)
        )
    }

    /// The other program cuts a payload at the width, and its packet id is not 0.
    @Test func aFormatGivesTheBytesThatMosquittoGives() async throws {
        let formats = [
            "%t %p", "[%t][%10t][%-10t][%010t][%.3t][%8.3t]", "%l|%5l|%-5l|%05l", "%q%r", "%x|%X",
            "[%C][%20C][%-20C][%.4C]",
            "[%D]", "[%F][%3F][%03F]", "[%P]", "[%R]", "[%A][%S][%05A]", "%%@@\\\\", "a\\tb\\nc\\0d\\e[0m\\v\\r\\a",
            "%-40p|",
            "@Y-@m-@d",
        ]
        try await Broker.with { broker in
            try await MessageFormatTests.publish(broker)
            try await TemporaryFolder.with { folder in
                for format in formats {
                    let (theirs, ours) = try await Self.outputs(broker, "f/#", count: 3, format, in: folder)
                    #expect(ours == theirs, "\(format): \(String(decoding: ours, as: UTF8.self))")
                }
            }
        }
    }

    @Test(arguments: ["%j", "%J"]) func jsonHasTheMembersThatMosquittoGives(_ format: String) async throws {
        try await Broker.with { broker in
            try await MessageFormatTests.publish(broker)
            try await TemporaryFolder.with { folder in
                let (theirs, ours) = try await Self.outputs(broker, "f/+/json", count: 1, format, in: folder)
                var objects = try [theirs, ours].map { bytes in
                    try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
                }
                // The other program adds the packet id, and a Z before the zone.
                for index in objects.indices { objects[index]["mid"] = nil }
                #expect(objects[1]["tst"] is String)
                for index in objects.indices { objects[index]["tst"] = nil }
                #expect(objects[1] as NSDictionary == objects[0] as NSDictionary)
            }
        }
    }

    @Test func aPayloadThatIsNotJSONIsReported() async throws {
        try await Broker.with { broker in
            try await MessageFormatTests.publish(broker)
            // The broker sends the stored messages in the order of the filters.
            let arguments = ["subscribe", broker.url, "-t", "f/text", "-t", "f/+/json", "-C", "1", "-F", "%J"]
            let finished = try await CommandProcess.run(arguments)
            #expect(finished.status == 0)
            #expect(finished.output.count == 1 && finished.output[0].contains("f/é/json"), "\(finished)")
            let problem = "the payload is not JSON, which %J requires"
            #expect(finished.errors.contains { $0.contains(problem) }, "\(finished)")
        }
    }

    @Test(arguments: [
        (["--hex"], "ff01\n"), (["--base64"], "/wE=\n"), (["--hex", "-N"], "ff01"), (["-F", "%x;", "-N"], "ff01;"),
        (["-v"], "f/x \u{FFFD}\u{1}\n"),
    ])
    func bytesHaveForms(_ options: [String], _ written: String) async throws {
        try await Broker.with { broker in
            try await MessageFormatTests.publish(broker)
            try await TemporaryFolder.with { folder in
                let arguments = ["subscribe", broker.url, "-t", "f/x", "-C", "1"] + options
                let bytes = try await Self.output(of: BuiltProgram.path("signalbox"), arguments, in: folder)
                #expect(String(decoding: bytes, as: UTF8.self) == written)
            }
        }
    }

    @Test func aRecordHasTheProperties() async throws {
        try await Broker.with { broker in
            try await MessageFormatTests.publish(broker)
            let finished = try await CommandProcess.run(["subscribe", broker.url, "-t", "f/+/json", "-C", "1"])
            let properties =
                #""contentType":"text/plain","responseTopic":"answers/é","correlationData":"c d","#
                + #""userProperties":[{"name":"k","value":"v w"},{"name":"l","value":""}],"payloadFormat":1,"receivedAt":"#
            #expect(finished.output.first?.contains(properties) == true, "\(finished)")
        }
    }

    @Test func webSocketMessagesHaveFormats() async throws {
        try await ChatTrial.with { chat in
            let message = #"{"action":"say","id":"c1","body":"hi"}"#
            let finished = try await chat.connect("", "-m", message, "--no-input", "-C", "1", "-F", "<%l:%p>")
            let payload = try #require(finished.output.first?.dropFirst().dropLast())
            let parts = payload.split(separator: ":", maxSplits: 1)
            #expect(parts.count == 2 && Int(parts[0]) == parts[1].utf8.count, "\(finished)")
            let refused = try await chat.connect("", "-v")
            #expect(refused.status == CommandStatus.usage.rawValue)
        }
    }

    /// The message cannot control the terminal, but the user's own text can.
    @Test func partsOfTheMessageAreEscapedOnATerminal() async throws {
        try await Broker.with { broker in
            try await broker.publish("\u{1B}]0;title\u{07}end", to: "x", retain: true)
            let terminal = try Terminal()
            let process = try SpawnedProcess(
                BuiltProgram.path("signalbox"),
                ["subscribe", broker.url, "--topic", "x", "--count", "1", "-F", "\\e[1m%p\\e[0m"],
                SpawnedProcess.Streams(output: terminal.device.fileDescriptor)
            )
            defer { process.signal(SIGKILL) }
            try terminal.device.close()
            #expect(await terminal.lines.line(with: "end")?.contains("\u{1B}[1m\\e]0;title") == true)
            #expect(await process.endStatus() == 0)
        }
    }
}
