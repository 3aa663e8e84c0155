import ArgumentParser
import BrokerKit
import Foundation
import Synchronization
import Testing

@testable import SignalboxCommand

/// How the end of stdin ends `signalbox connect`.
@Suite(.timeLimit(.minutes(10))) struct ConnectInputTests {
    private static let echo = ChatTrial.configuration(
        "absent_origin: allowed, frames: { text: { action: echo, payload: text }, binary: echo }"
    )

    @Test func base64AppliesToBothDirections() async throws {
        try await ChatTrial.with(Self.echo) { trial in
            let sent = try await trial.connect("AP8=\n\naGk=\n", "--base64", "--body", "fn8=", "--count", "4")
            #expect(sent.status == 0 && sent.output == ["fn8=", "AP8=", "", "aGk="], "\(sent.errors)")
            let wrong = try await trial.connect("a b\naGk=\n", "--base64", "--linger", "0s")
            #expect(wrong.status == CommandStatus.notAsExpected.rawValue)
            #expect(
                wrong.errors == [
                    "signalbox: a line was not sent: it is not Base64; write it with padding and without spaces"
                ]
            )
        }
    }

    @Test func aFileIsOneMessage() async throws {
        try await ChatTrial.with(Self.echo) { trial in
            let file = trial.folder.appendingPathComponent("message")
            try Data([0x61, 0x0A, 0xFF]).write(to: file)
            let arguments = ["-f", file.path, "--no-input", "--hex", "--count", "1"]
            #expect(try await trial.connect("", arguments + ["--binary"]).output == ["610aff"])
            #expect(try await trial.connect("", arguments + ["--binary", "--body", "0"]).output == ["30"])
            let text = try await trial.connect("", ["-f", file.path, "--no-input", "--linger", "0s"])
            #expect(text.status == CommandStatus.notAsExpected.rawValue)
            #expect(text.errors.first?.contains("the file was not sent: it is not UTF-8; --binary") == true)
            // All of stdin is one message, and its end ends the command.
            let input = try await trial.connect("a\nb\n", ["--file", "-", "--hex", "--linger", "90s", "--count", "1"])
            #expect(input.output == ["610a620a"])
            #expect(try await trial.connect("a\nb\n", ["--file", "-"]).status == 0)
            let missing = try await trial.connect("", ["--file", "missing"])
            #expect(missing.status == CommandStatus.unreadableFile.rawValue, "\(missing.errors)")
        }
    }

    @Test func theOptionsChooseTheCodeAndReasonOfTheClose() async throws {
        try await ChatTrial.with { trial in
            let finished = try await trial.connect(
                #"{"action":"say"}"#,
                "--linger",
                "0s",
                "--close-code",
                "4001",
                "--close-reason",
                "bye"
            )
            #expect(finished.status == 0 && finished.errors.isEmpty, "\(finished.errors)")
            #expect(
                await trial.server.output.line(with: "signalbox.closed", #""code":4001"#, #""reason":"bye""#) != nil
            )
            let counted = try await trial.connect(
                #"{"action":"echo","id":"1"}"#,
                "--count",
                "1",
                "--close-code",
                "3000"
            )
            #expect(counted.status == 0 && counted.errors.isEmpty, "\(counted.errors)")
            #expect(await trial.server.output.line(with: "signalbox.closed", #""code":3000"#) != nil)
        }
    }

    @Test func theServersCodeAndReasonAreShownEvenAfterANormalClose() async throws {
        try await ChatTrial.with { trial in
            let port = try #require(URL(string: trial.url)?.port)
            let bye = [0x88, 0x05, 0x03, 0xE8] + Array("bye".utf8)
            let closing = try AnsweringPort(afterUpgradeBy: port, frames: bye)
            let finished = try await CommandProcess.run(
                ["connect", "ws://127.0.0.1:\(closing.port)/", "--no-input", "--log-level", "info"]
            )
            #expect(finished.status == 0)
            #expect(finished.errors.last?.contains(#"closed the connection: 1000 "bye""#) == true, "\(finished.errors)")
        }
    }

    @Test(arguments: [
        (["--file", "-", "--no-input"], "--file - reads stdin, which --no-input excludes"),
        (["--base64", "--body", "%"], "--body: the message is not Base64"),
        (["--close-code", "1005"], "--close-code: expected 1000 to 1003"), (["--close-code", "5000"], "--close-code"),
        (["--close-reason", String(repeating: "a", count: 124)], "--close-reason: expected at most 123 bytes"),
        (["--ping", "never", "--pong-within", "3s"], "--pong-within needs pings"),
        (["--pong-within", "2h"], "answer to a ping must be 1 s to 1 h"),
    ])
    func wrongOptionsAreRefused(_ arguments: [String], _ text: String) {
        let error = #expect(throws: (any Error).self) { try ConnectCommand.parse(["ws://h"] + arguments) }
        #expect(ConnectCommand.message(for: error ?? CancellationError()).contains(text))
    }

    @Test func theConnectionStaysOpenForASecondAfterTheLastLine() async throws {
        try await ChatTrial.with { trial in
            let client = try trial.start()
            #expect(await trial.server.output.line(with: "signalbox.connected") != nil)
            let start = ContinuousClock.now
            try client.type(#"{"action":"echo","id":"1"}"#)
            try client.closeInput()
            await client.ends()
            #expect(start.duration(to: .now) >= .seconds(1))
            #expect(await client.errors.rest() == [])
            #expect(await trial.server.output.line(with: "signalbox.closed", #""code":1000"#) != nil)
        }
    }

    @Test func anAnswerAfterTheEndOfAPipeIsShown() async throws {
        try await ChatTrial.with { trial in
            let port = try #require(URL(string: trial.url)?.port)
            let answering = try AnsweringPort(afterUpgradeBy: port) { client in
                var reader = FrameReader()
                while reader.lengths.isEmpty, reader.read(client) {}
                // The server closes, so that the command does not wait for the end of its period.
                let frames = [0x81, 0x06] + Array("answer".utf8) + [0x88, 0x02, 0x03, 0xE8]
                AnsweringPort.send(frames, to: client)
                while !reader.isClosed, reader.read(client) {}
            }
            let finished = try await CommandProcess.run(
                ["connect", "ws://127.0.0.1:\(answering.port)/", "--raw", "--linger", "90s"],
                input: try trial.file("hi\n")
            )
            #expect(finished.status == 0 && finished.errors.isEmpty, "\(finished.errors)")
            #expect(finished.output == ["answer"])
        }
    }

    @Test func aRefusedLineIsReported() async throws {
        let large = String(repeating: "a", count: 2 << 20)
        try await ChatTrial.with { trial in
            let finished = try await trial.connect(large, ["--exit-after-input", "--linger", "90s"])
            #expect(finished.status == CommandStatus.closedWithError.rawValue)
            #expect(finished.errors.last?.contains("1009") == true, "\(finished.errors)")
        }
    }

    @Test func aServerThatKeepsSendingDoesNotKeepTheCommand() async throws {
        try await ChatTrial.with { trial in
            let port = try #require(URL(string: trial.url)?.port)
            let chatty = try AnsweringPort(afterUpgradeBy: port) { client in
                var reader = FrameReader()
                // If the client does not close, the end without a close frame fails the test.
                for _ in 0..<2_000 where !reader.isClosed {
                    AnsweringPort.send([0x81, 0x04] + Array("tick".utf8), to: client)
                    var entry = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
                    if poll(&entry, 1, 20) > 0, !reader.read(client) { return }
                }
                if reader.isClosed { AnsweringPort.send([0x88, 0x02, 0x03, 0xE8], to: client) }
            }
            let finished = try await CommandProcess.run(
                ["connect", "ws://127.0.0.1:\(chatty.port)/", "--raw"],
                input: try trial.file("hi\n")
            )
            #expect(finished.status == 0 && finished.errors.isEmpty, "\(finished.errors)")
            #expect(finished.output.first == "tick")
        }
    }

    @Test func aServerThatReadsSlowlyGetsEveryLine() async throws {
        try await ChatTrial.with { trial in
            let port = try #require(URL(string: trial.url)?.port)
            let received = Mutex<FrameReader?>(nil)
            try await withKnownLines(trial) { lines, input in
                let slow = try AnsweringPort(afterUpgradeBy: port) { client in
                    var reader = FrameReader()
                    // The client has read all of its input, and most of it waits in its queue, long before the end.
                    while !reader.isClosed, reader.read(client) { usleep(20_000) }
                    received.withLock { $0 = reader }
                    AnsweringPort.send([0x88, 0x02, 0x03, 0xE8], to: client)
                }
                let arguments = ["connect", "ws://127.0.0.1:\(slow.port)/", "--linger", "0s"]
                let finished = try await CommandProcess.run(arguments, input: input)
                #expect(finished.status == 0 && finished.errors.isEmpty, "\(finished.errors)")
                let reader = try #require(received.withLock { $0 })
                #expect(reader.lengths == lines)
                #expect(reader.isClosed)
            }
        }
    }

    /// Writes a file of 12 MiB with lines of different lengths.
    private func withKnownLines(_ trial: ChatTrial, _ body: ([Int], URL) async throws -> Void) async throws {
        let lengths = (0..<192).map { 65_536 + $0 }
        let text = lengths.map { String(repeating: "a", count: $0) }.joined(separator: "\n")
        try await body(lengths, try trial.file(text))
    }
}

/// Reads the frames of a client (RFC 6455, 5.2), of which it keeps the lengths.
private struct FrameReader: Sendable {
    /// The lengths of the messages.
    private(set) var lengths: [Int] = []
    /// Whether the client has sent a close frame.
    private(set) var isClosed = false
    private var waiting: [UInt8] = []
    /// The number of bytes of the last frame that have not been read yet.
    private var rest = 0
    private var message = 0

    /// Reads once from the socket.
    ///
    /// - Returns: Whether the socket is open.
    mutating func read(_ socket: Int32) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 16_384)
        let count = recv(socket, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        waiting += chunk[..<count]
        while takePayload(), takeHeader() {}
        return true
    }

    /// - Returns: Whether the payload of the last frame is complete.
    private mutating func takePayload() -> Bool {
        let count = min(rest, waiting.count)
        waiting.removeFirst(count)
        rest -= count
        return rest == 0
    }

    /// - Returns: Whether the header of the next frame is complete.
    private mutating func takeHeader() -> Bool {
        guard waiting.count >= 2 else { return false }
        let short = Int(waiting[1] & 0x7F)
        let extra = short == 127 ? 8 : short == 126 ? 2 : 0
        // The masking key follows the length.
        guard waiting.count >= 2 + extra + 4 else { return false }
        let length = extra == 0 ? short : waiting[2..<(2 + extra)].reduce(0) { $0 << 8 | Int($1) }
        let (isLast, opcode) = (waiting[0] & 0x80 != 0, waiting[0] & 0x0F)
        waiting.removeFirst(2 + extra + 4)
        rest = length
        if opcode == 8 { isClosed = true }
        guard opcode <= 2 else { return true }
        message += length
        if isLast {
            lengths.append(message)
            message = 0
        }
        return true
    }
}
