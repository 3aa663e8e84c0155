import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite(.timeLimit(.minutes(10))) struct ConnectLiveTests {
    private static func object(_ line: String?) throws -> [String: Any] {
        let data = Data(try #require(line).utf8)
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test func aLineIsSentAndItsAnswerIsShown() async throws {
        try await ChatTrial.with { trial in
            let line = #"{"action":"echo","id":"7","body":{"b":[1.50,"x"],"a":null}}"#
            let finished = try await trial.connect(line, "--count", "1")
            #expect(finished.status == 0 && finished.errors.isEmpty, "\(finished.errors)")
            #expect(finished.output.count == 1)
            let payload =
                #"{"payload":{"id":"7","outcome":"handled","reply":{"b":[1.50,"x"],"a":null}},"payloadKind":"json","receivedAt":"20"#
            #expect(finished.output.first?.hasPrefix(payload) == true, "\(finished.output)")
            #expect(try ConnectLiveTests.object(finished.output.first)["binary"] == nil)
        }
    }

    @Test func nonJSONPayloadsAreTextAndBinaryIsMarked() async throws {
        let frames = "frames: { text: { action: echo, payload: text }, binary: echo }"
        try await ChatTrial.with(ChatTrial.configuration("absent_origin: allowed, \(frames)")) { trial in
            let text = try await trial.connect("on\u{1B}e\n\n{\"a\" : 1}", "--count", "3")
            let payloads = try text.output.map { try ConnectLiveTests.object($0)["payload"] }
            #expect(payloads.map { $0 as? String } == ["on\u{1B}e", "", nil])
            #expect(text.output.last?.hasPrefix(#"{"payload":{"a":1},"#) == true)
            let file = trial.folder.appendingPathComponent("bytes")
            try Data([0xFF, 0xFE, 0x0A, 0x7B, 0x7D, 0x0A]).write(to: file)
            let binary = try await CommandProcess.run(
                ["connect", trial.url, "--binary", "--count", "2"],
                input: file
            )
            let objects = try binary.output.map(ConnectLiveTests.object)
            #expect(objects.map { $0["payload"] as? String } == ["//4=", "{}"])
            #expect(objects.map { $0["encoding"] as? String } == ["base64", nil])
            #expect(objects.allSatisfy { $0["binary"] as? Bool == true })
        }
    }

    @Test func aUnixSocketReplacesTheURLsAddress() async throws {
        try await ChatTrial.with { trial in
            let path = trial.folder.appendingPathComponent("s").path
            let relay = try Relay(unixSocket: path)
            relay.forward(to: try #require(trial.url.split(separator: ":").last.flatMap { UInt16($0.dropLast()) }))
            let finished = try await CommandProcess.run(
                ["connect", "ws://localhost:9/", "--unix", path, "--count", "1", "--log-level", "info"],
                input: try trial.file(#"{"action":"echo","id":"7"}"#)
            )
            #expect(finished.status == 0 && finished.output.count == 1, "\(finished.errors)")
            #expect(finished.errors.contains { $0.contains("connected to ws://localhost:9, Unix socket \(path)") })
            relay.close()
            let missing = try await CommandProcess.run(
                ["connect", "ws://localhost:9/", "--unix", "\(path)2", "--no-input"]
            )
            #expect(missing.status == CommandStatus.unavailable.rawValue)
            #expect(missing.errors.first?.contains("no server accepts connections on the Unix socket") == true)
        }
    }

    @Test func rawPrintsOnlyTheMessage() async throws {
        let frames = "frames: { text: { action: echo, payload: text } }"
        try await ChatTrial.with(ChatTrial.configuration("absent_origin: allowed, \(frames)")) { trial in
            let finished = try await trial.connect("{ \"a\" : 1 }\n", "--count", "1", "--raw")
            #expect(finished.output == ["{ \"a\" : 1 }"])
        }
    }

    @Test func commandLineMessagesPrecedeStandardInput() async throws {
        let frames = "frames: { text: { action: echo, payload: text } }"
        try await ChatTrial.with(ChatTrial.configuration("absent_origin: allowed, \(frames)")) { trial in
            let finished = try await trial.connect(
                "c\nd",
                "--raw",
                "--count",
                "4",
                "--body",
                "b",
                "--open-message",
                "-a"
            )
            #expect(finished.output == ["-a", "b", "c", "d"])
            let silent = try await trial.connect("c\n", "--raw", "--count", "1", "--no-input", "--body", "b")
            #expect(silent.output == ["b"])
        }
    }

    @Test func twoClientsReceiveEachOthersMessages() async throws {
        try await ChatTrial.with { trial in
            let first = try trial.start("--raw")
            try first.type(#"{"action":"echo","id":"1"}"#)
            #expect(await first.output.line(with: #""id":"1""#) != nil)
            let said = try await trial.connect(#"{"action":"say","id":"2","body":"hello"}"#, "--raw", "--count", "2")
            let envelope = #"{"action":"say","body":"hello"}"#
            #expect(await first.output.line(with: "say") == envelope)
            #expect(said.output.first == envelope)
            #expect(said.output.last == #"{"id":"2","outcome":"handled","reply":{"refused":0,"sent":2}}"#)
            first.signal(SIGINT)
            await first.ends()
        }
    }

    @Test func aClientEntersAndLeavesARoom() async throws {
        try await ChatTrial.with { trial in
            let client = try trial.start("--raw")
            func request(_ message: String, _ words: String) async throws {
                try client.type(message)
                let line = await client.output.line(with: #""id":"#)
                #expect(line?.contains(words) == true, "\(message): \(line ?? "")")
            }
            let whisper = #"{"action":"whisper","id":"w","body":{"tag":"a"}}"#
            try await request(whisper, #""sent":0"#)
            try await request(#"{"action":"enter","id":"e","body":{"tag":"a"}}"#, #""outcome":"handled""#)
            try await request(whisper, #""sent":1"#)
            try await request(#"{"action":"exit","id":"x","body":{"tag":"a"}}"#, #""outcome":"handled""#)
            try await request(whisper, #""sent":0"#)
            try await request(#"{"action":"enter","id":"e","body":{}}"#, #""code":"invalidBody""#)
            try await request(#"{"action":"enter","id":"e","body":{"tag":""}}"#, #""code":"invalidBody""#)
            client.signal(SIGTERM)
            await client.ends()
        }
    }

    @Test func exitAfterInputEndsTheConnection() async throws {
        try await ChatTrial.with { trial in
            let left = try await trial.connect(#"{"action":"say","body":"bye"}"#, "--exit-after-input")
            #expect(left.status == 0 && left.errors.isEmpty, "\(left.errors)")
            #expect(await trial.server.output.line(with: "signalbox.closed", #""code":1000"#) != nil)
            let stays = try trial.start("--retry")
            try stays.type(#"{"action":"enter","id":"1","body":{"tag":"lobby"}}"#)
            #expect(await stays.output.line(with: "handled") != nil)
            try stays.closeInput()
            let other = try await trial.connect(#"{"action":"say","id":"1"}"#, "--count", "2")
            #expect(other.status == 0)
            #expect(await stays.output.line(with: "say") != nil, "the client is still connected")
            stays.signal(SIGINT)
            await stays.ends()
        }
    }

    @Test func aCountPostponesTheEndAfterInput() async throws {
        try await ChatTrial.with { trial in
            let lines = (1...3).map { #"{"action":"echo","id":"\#($0)"}"# }.joined(separator: "\n")
            let arguments = ["--exit-after-input", "--count", "3", "--linger", "0s", "--raw"]
            let finished = try await trial.connect(lines, arguments)
            #expect(finished.status == 0 && finished.errors.isEmpty, "\(finished.errors)")
            #expect(finished.output.count == 3)
        }
    }

    @Test func anEchoHasTheNumbersOrderAndDepthOfTheMessage() async throws {
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        let body = #"{"z":[1.0,1e3,12345678901234567890,-0,1E+2,0.10,1e400],"a":\#(deep)}"#
        let limits = "message_bytes: 1MiB"
        let configuration = ChatTrial.open.replacing(limits, with: "message_bytes: 1MiB, depth: 300")
        try await ChatTrial.with(configuration) { trial in
            let line = #"{"action":"echo","id":"1","body":\#(body)}"#
            let finished = try await trial.connect(line, ["--raw", "--count", "1"])
            #expect(finished.output == [#"{"id":"1","outcome":"handled","reply":\#(body)}"#])
        }
    }

    @Test func aClosedStdoutEndsTheCommandQuietly() async throws {
        try await ChatTrial.with { trial in
            let client = try trial.start("--raw")
            try client.type(#"{"action":"echo","id":"1"}"#)
            #expect(await client.output.line(with: #""id":"1""#) != nil)
            client.output.close()
            // The client notices when it writes.
            client.keepTyping(#"{"action":"echo","id":"2"}"#)
            let errors = await client.errors.rest()
            await client.ends()
            #expect(errors.isEmpty, "\(errors)")
        }
    }

    @Test func linesWaitForTheNextConnection() async throws {
        try await TemporaryFolder.with { folder in
            let frames = "absent_origin: allowed, frames: { text: { action: echo, payload: text } }"
            let configuration = ChatTrial.configuration(frames)
            var port = ""
            var client: CommandProcess?
            try await ChatTrial.with(configuration, in: folder) { trial in
                port = String(try #require(URL(string: trial.url)?.port))
                let started = try trial.start("--raw", "--retry", "--open-message", "opened", "--log-level", "info")
                #expect(await started.output.line(with: "opened") != nil)
                client = started
            }
            let reconnecting = try #require(client)
            #expect(await reconnecting.errors.line(with: "1001") != nil)
            try reconnecting.type("typed while there was nobody")
            let again = configuration.replacing("port: 0", with: "port: \(port)")
            try await ChatTrial.with(again, in: folder) { _ in
                #expect(await reconnecting.output.line(with: "e") == "opened")
                #expect(await reconnecting.output.line(with: "e") == "typed while there was nobody")
                reconnecting.signal(SIGINT)
                await reconnecting.ends()
            }
        }
    }

    @Test func unsendableLinesAreReportedAndOthersAreSent() async throws {
        let frames = "frames: { text: { action: echo, payload: text } }"
        try await ChatTrial.with(ChatTrial.configuration("absent_origin: allowed, \(frames)")) { trial in
            let file = trial.folder.appendingPathComponent("bytes")
            try Data([0x61, 0x0A, 0xFF, 0x0A, 0x62, 0x0A]).write(to: file)
            let finished = try await CommandProcess.run(["connect", trial.url, "--raw", "--count", "2"], input: file)
            #expect(finished.output == ["a", "b"])
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(
                finished.errors == ["signalbox: a line was not sent: it is not UTF-8; --binary sends bytes unchanged"]
            )
        }
    }

    @Test func tokenAndHeadersComeFromVariablesOrFiles() async throws {
        let keys = "principals: { kitchen: { env: TOKEN } }, announce_connections: true"
        let token = "canary-4711-canary-4711"
        try await ChatTrial.with(ChatTrial.configuration(keys), environment: ["TOKEN": token]) { trial in
            try ChatTrial.write(token, to: "token", in: trial.folder)
            let message = #"{"action":"echo","id":"1"}"#
            let byVariable = try await trial.connect(
                message,
                "--count",
                "1",
                "--bearer-env",
                "MINE",
                environment: ["MINE": token]
            )
            let byFile = try await trial.connect(message, "--count", "1", "--bearer-file", "token")
            let byHeader = try await trial.connect(
                message,
                "--count",
                "1",
                "--header-env",
                "Authorization: MINE",
                environment: ["MINE": "Bearer \(token)"]
            )
            #expect([byVariable.status, byFile.status, byHeader.status] == [0, 0, 0])
            for _ in 0..<3 {
                #expect(await trial.server.output.line(with: "echo", #""principal":"kitchen""#) != nil)
            }
            let wrong = try await trial.connect(
                message,
                "--bearer-env",
                "MINE",
                "--log-level",
                "trace",
                environment: ["MINE": "\(token)-no"]
            )
            #expect(wrong.status == CommandStatus.refused.rawValue)
            #expect(wrong.errors.last?.contains("status 401") == true, "\(wrong.errors)")
            let everything = [byVariable, byFile, byHeader, wrong].flatMap { $0.output + $0.errors }
            #expect(!everything.joined().contains(token))
            let missing = try await trial.connect(message, "--bearer-env", "NOT_THERE")
            #expect(missing.status == CommandStatus.unavailable.rawValue)
            #expect(missing.errors.joined().contains("NOT_THERE"), "\(missing.errors)")
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct ConnectTerminalTests {
    @Test func aTerminalSendsLinesAndShowsAnswers() async throws {
        try await ChatTrial.with { trial in
            let terminal = try Terminal()
            let errors = Pipe.unshared()
            let process = try SpawnedProcess(
                BuiltProgram.path("signalbox"),
                ["connect", trial.url],
                SpawnedProcess.Streams(
                    input: terminal.device.fileDescriptor,
                    output: terminal.device.fileDescriptor,
                    errors: errors.fileHandleForWriting.fileDescriptor
                )
            )
            defer { process.signal(SIGKILL) }
            try errors.fileHandleForWriting.close()
            // With this copy closed, the terminal's output ends with the program.
            try terminal.device.close()
            let reported = LineStream(errors.fileHandleForReading)
            #expect(await reported.line(with: "connected to \(trial.url.dropLast())") != nil)
            try terminal.type(#"{"action":"say","id":"1","body":"\u001b[31mred"}"# + "\n")
            // The terminal itself echoes the typed line, without a time.
            let shown = await terminal.lines.line(with: #"Z  <  {"action":"say","body":"\u001b[31mred"}"#)
            #expect(shown != nil)
            #expect(await terminal.lines.line(with: #"Z  <  {"id":"1","outcome":"handled""#) != nil)
            try terminal.type("\u{4}")
            #expect(await process.endStatus() == 0)
        }
    }
}
