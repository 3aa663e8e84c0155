import ArgumentParser
import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Messages that `publish` repeats, and the progress that it shows.
@Suite(.timeLimit(.minutes(10))) struct PublishManyTests {
    @Test(arguments: ["0", "1"]) func aMessageIsRepeated(_ qos: String) async throws {
        try await Broker.with { broker in
            let watch = try await BrokerTrial.subscriber(broker.url, "-t", "a", "--count", "2500", "--raw")
            let finished = try await CommandProcess.run(
                ["publish", broker.url, "-t", "a", "-m", "x", "-q", qos, "--repeat", "2500"]
            )
            #expect(finished.status == 0, "\(finished)")
            #expect(finished.errors == ["signalbox: to \"a\": published 2500, not published 0"])
            #expect(await watch.output.rest() == Array(repeating: "x", count: 2_500))
        }
    }

    /// At its end, the command publishes what it has accepted. If it waited for the broker after each 100 messages, most
    /// of them would be left when the time for the end is over.
    @Test func acceptedMessagesAtQoS0ArePublishedAtTheEnd() async throws {
        try await Broker.with { broker in
            let arguments = ["-t", "a", "-m", "x", "-q", "0", "--repeat", "1000000", "--timeout", "1s"]
            let finished = try await CommandProcess.run(["publish", broker.url] + arguments)
            #expect(finished.status == CommandStatus.timeout.rawValue)
            let report = try #require(finished.errors.last)
            #expect(report.hasSuffix(", not published 0; not all 1000000 messages were sent"), "\(report)")
        }
    }

    /// Lines that were read but not offered are not counted.
    @Test func anInterruptedInputIsNotCountedAsRefused() async throws {
        try await Broker.with { broker in
            let file = broker.folder.appendingPathComponent("lines")
            try String(repeating: "x\n", count: 1_000).write(to: file, atomically: true, encoding: .utf8)
            let watch = try await BrokerTrial.subscriber(broker.url, "-t", "a", "--count", "1", "--raw")
            let arguments = ["publish", broker.url, "-t", "a", "--lines", "--interval", "1h"]
            let process = try CommandProcess(arguments, input: file)
            #expect(await watch.output.rest() == ["x"])
            process.signal(SIGINT)
            let end = "signalbox: to \"a\": published 1, not published 0; stdin was not read to its end"
            #expect(await process.errors.rest() == [end])
            await process.ends(with: CommandStatus.interrupted.rawValue)
        }
    }

    /// The second message would come in an hour.
    @Test func aSignalEndsAnInterval() async throws {
        try await Broker.with { broker in
            let watch = try await BrokerTrial.subscriber(broker.url, "-t", "a", "--count", "1", "--raw")
            let process = try CommandProcess(
                ["publish", broker.url, "-t", "a", "-m", "x", "--repeat", "9", "--interval", "1h"]
            )
            #expect(await watch.output.rest() == ["x"])
            process.signal(SIGINT)
            let errors = await process.errors.rest()
            await process.ends(with: CommandStatus.interrupted.rawValue)
            #expect(
                errors == ["signalbox: to \"a\": published 1, not published 0; not all 9 messages were sent"]
            )
        }
    }

    /// Three lines have two pauses between them.
    @Test func linesHaveAnInterval() async throws {
        try await Broker.with { broker in
            let file = broker.folder.appendingPathComponent("lines")
            try "1\n2\n3\n".write(to: file, atomically: true, encoding: .utf8)
            let watch = try await BrokerTrial.subscriber(broker.url, "-t", "a", "--count", "3", "--raw")
            let start = ContinuousClock.now
            let finished = try await CommandProcess.run(
                ["publish", broker.url, "-t", "a", "--lines", "--interval", "1s"],
                input: file
            )
            #expect(ContinuousClock.now - start >= .seconds(2))
            #expect(finished.status == 0, "\(finished)")
            #expect(await watch.output.rest() == ["1", "2", "3"])
        }
    }

    @Test func userPropertiesReachTheSubscriber() async throws {
        try await Broker.with { broker in
            let properties = ["--user-property", "site=a=b", "--user-property", "empty=", "--user-property", "site=c"]
            let finished = try await CommandProcess.run(
                ["publish", broker.url, "-t", "p", "-m", "x", "--retain"] + properties
            )
            #expect(finished.status == 0, "\(finished)")
            let seen = try await CommandProcess.run(
                ["subscribe", broker.url, "-t", "p", "--count", "1", "-F", "%P"]
            )
            #expect(seen.output == ["site:a=b empty: site:c"], "\(seen)")
        }
    }

    @Test func allPropertiesReachTheSubscriber() async throws {
        try await Broker.with { broker in
            let properties = [
                "--text", "--response-topic", "back", "--correlation-data", "id", "--content-type", "text/plain",
                "--expiry", "1h",
            ]
            let finished = try await CommandProcess.run(
                ["publish", broker.url, "-t", "p", "-m", "x", "--retain"] + properties
            )
            #expect(finished.status == 0, "\(finished)")
            let seen = try await CommandProcess.run(["subscribe", broker.url, "-t", "p", "--count", "1"])
            let line = seen.output.first ?? ""
            for part in [
                #""contentType":"text/plain""#, #""responseTopic":"back""#, #""correlationData":"id""#,
                #""payloadFormat":1"#, #""messageExpiry":3"#,
            ] {
                #expect(line.contains(part), "\(line)")
            }
        }
    }

    @Test func aBodyThatIsNotTextIsRefused() async throws {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("body")
            try Data([0xC3]).write(to: file)
            try await Broker.with { broker in
                let finished = try await CommandProcess.run(
                    ["publish", broker.url, "-t", "p", "--file", file.path, "--text"]
                )
                #expect(finished.status == 1 && finished.errors.last?.contains("not UTF-8 text") == true, "\(finished)")
            }
        }
    }

    @Test(arguments: [
        (["-m", "x", "--repeat", "0"], "--repeat must be 1 to 1000000"),
        (["--lines", "--repeat", "2"], "--lines publishes each line once; remove --repeat"),
        (["-m", "x", "--interval", "1s"], "--interval is the time between messages; add --repeat or --lines"),
        (["-m", "x", "--user-property", "a"], "expected NAME=VALUE"),
        (["-m", "x", "--user-property", "=a"], "expected NAME=VALUE"),
        (["-m", "x", "--user-property", "a=\u{1}"], "without control characters"),
        (["-m", "x", "--user-property", "a=" + String(repeating: "b", count: 65_534)], "at most 65535 bytes"),
        (["--lines", "--interval", "2d"], "--interval must be at most 1d"),
        (
            ["-m", "x", "--v311", "--user-property", "a=b"],
            "--content-type, --expiry, --text and --user-property require MQTT 5; remove --v311"
        ),
        (["-m", "x", "--v311", "--text"], "--content-type, --expiry, --text and --user-property require MQTT 5"),
        (["-m", "x", "--v311", "--response-topic", "a"], "--response-topic and --correlation-data require MQTT 5"),
        (["-m", "x", "--response-topic", "a/+"], "--response-topic"),
        (
            ["-m", "x", "--will-topic", "a", "--will-delay", "1s"],
            "--will-delay requires a session, and this command has none; remove it"
        ),
        (
            ["-m", "x"] + (0...64).flatMap { ["--user-property", "a=\($0)"] },
            "a message can have at most 64 user properties"
        ),
    ])
    func wrongCombinationsAreRefused(_ options: [String], _ message: String) {
        let arguments = ["publish", "mqtt://127.0.0.1:1", "-t", "a"] + options
        do {
            _ = try SignalboxTool.parseAsRoot(arguments)
            Issue.record("\(options) is accepted")
        } catch {
            #expect(SignalboxTool.message(for: error).contains(message))
        }
    }

    /// The program's stderr is a terminal, and its stdin a pipe that stays open until the progress is there.
    @Test func aTerminalShowsTheProgress() async throws {
        try await Broker.with { broker in
            let terminal = try Terminal()
            let (input, output) = (Pipe.unshared(), Pipe.unshared())
            let process = try SpawnedProcess(
                BuiltProgram.path("signalbox"),
                ["publish", broker.url, "-t", "a", "--lines"],
                SpawnedProcess.Streams(
                    input: input.fileHandleForReading.fileDescriptor,
                    output: output.fileHandleForWriting.fileDescriptor,
                    errors: terminal.device.fileDescriptor
                )
            )
            defer { process.signal(SIGKILL) }
            try input.fileHandleForReading.close()
            try output.fileHandleForWriting.close()
            // With this copy closed, the terminal's output ends with the program.
            try terminal.device.close()
            let long = Data(repeating: UInt8(ascii: "x"), count: (8 << 20) + 1)
            try input.fileHandleForWriting.write(contentsOf: Data("1\n2\n".utf8))
            try await terminal.lines.untilUnfinishedLine(containing: "2 published")
            // A diagnostic ends up on its own line, above the progress.
            try input.fileHandleForWriting.write(contentsOf: long + Data("\n".utf8))
            let diagnostic = "\r\u{1B}[Ksignalbox: a line was not published: it is longer than 8388608 bytes\r"
            #expect(await terminal.lines.line(with: diagnostic) != nil)
            try await terminal.lines.untilUnfinishedLine(containing: "2 published, 1 failed")
            try input.fileHandleForWriting.close()
            let last = await terminal.lines.line(with: "not published 1")
            #expect(last?.hasSuffix("\r\u{1B}[Ksignalbox: to \"a\": published 2, not published 1\r") == true)
            #expect(await process.endStatus() == CommandStatus.notAsExpected.rawValue)
        }
    }
}

/// The text and the place of the progress line.
@Suite struct ProgressLineTests {
    @Test func theTextSaysRateShareAndTimeLeft() {
        var progress = PublishProgress(total: .messages(1_000))
        let texts = [
            (0, 0, 0), (500, 100, 0), (1_000, 200, 0), (3_000, 600, 0), (4_000, 900, 100), (5_000, 900, 100),
        ]
        .map { progress.text(published: $0.1, failed: $0.2, bytes: 0, at: .milliseconds($0.0)) }
        #expect(
            texts == [
                "0 published, 0 %", "100 published, 200/s, 10 %", "200 published, 200/s, 20 %, 4s left",
                "600 published, 200/s, 60 %, 2s left", "900 published, 100 failed, 233/s, 100 %",
                "900 published, 100 failed, 150/s, 100 %",
            ]
        )
    }

    @Test func aFileIsMeasuredInBytes() {
        var progress = PublishProgress(total: .bytes(4_000_000))
        let long = progress.text(published: 10, failed: 0, bytes: 1_000, at: .seconds(2))
        #expect(long == "10 published, 5/s, 0 %, 2h 13m left")
        #expect(progress.text(published: 20, failed: 0, bytes: 40_000, at: .seconds(3)).hasSuffix("1 %, 4m 57s left"))
        // The file grew while it was read.
        #expect(progress.text(published: 30, failed: 0, bytes: 5_000_000, at: .seconds(4)).hasSuffix(", 100 %"))
        var unknown = PublishProgress(total: nil)
        #expect(unknown.text(published: 4, failed: 1, bytes: 9, at: .seconds(2)) == "4 published, 1 failed, 2/s")
    }

    @Test func diagnosticsStayAboveTheLine() async throws {
        let pipe = Pipe.unshared()
        let output = DiagnosticOutput(
            descriptor: OutputDescriptor(number: pipe.fileHandleForWriting.fileDescriptor),
            isTerminal: true
        )
        let (ticks, tick) = AsyncStream.makeStream(of: Void.self)
        let (waits, wait) = AsyncStream.makeStream(of: Void.self)
        let line = ProgressLine(output: output) {
            wait.yield()
            var iterator = ticks.makeAsyncIterator()
            return await iterator.next() != nil
        }
        await line.during({ "half" }) {
            output.offer("before\n")
            var iterator = waits.makeAsyncIterator()
            await iterator.next()
            tick.yield()
            // The next wait begins when the line is there.
            await iterator.next()
            output.offer("after\n")
        }
        output.offer("end\n")
        #expect(await output.flush(within: .seconds(600)))
        try pipe.fileHandleForWriting.close()
        let bytes = try pipe.fileHandleForReading.readToEnd() ?? Data()
        let erased = "\r\u{1B}[K"
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "before\n\(erased)half\(erased)after\nhalf\(erased)end\n"
        )
    }

    @Test func noTerminalHasNoLine() async throws {
        let pipe = Pipe.unshared()
        let output = DiagnosticOutput(descriptor: OutputDescriptor(number: pipe.fileHandleForWriting.fileDescriptor))
        #expect(await ProgressLine(output: output) { true }.during({ "half" }) { 7 } == 7)
        #expect(await output.flush(within: .seconds(600)))
        try pipe.fileHandleForWriting.close()
        #expect(try pipe.fileHandleForReading.readToEnd() ?? Data() == Data())
    }
}
