import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

@Suite struct RawArgumentsTests {
    private static let samples: [[UInt8]] = [
        [], Array("grüße/🚦".utf8), [0xFF, 0x01], [0x61, 0xC3, 0x28, 0x62], [0xED, 0xA0, 0x80], [0xF0, 0x9F, 0x9A],
        // The first and the last noncharacter, a letter, one half of an escape.
        [0xEF, 0xB7, 0x90, 0xEF, 0xB7, 0xAF, 0x61, 0xEF, 0xB7, 0x93], [0xEF, 0xB7, 0x91, 0x80, 0x0A],
    ]

    @Test(arguments: samples)
    func bytesAreRestored(_ bytes: [UInt8]) {
        let text = RawArguments.escaped(bytes)
        #expect(RawArguments.bytes(of: text) == bytes)
        #expect(RawArguments.path(text).map { UInt8(bitPattern: $0) } == bytes + [0])
    }

    @Test func onlyBytesThatAreNotTextAreEscaped() {
        #expect(RawArguments.escaped(Array("a\u{FFFD}ß=".utf8)) == "a\u{FFFD}ß=")
        #expect(RawArguments.escaped(Array("--body=".utf8) + [0xFF]).hasPrefix("--body="))
        #expect(RawArguments.shown(RawArguments.escaped(Array("a/".utf8) + [0xFF, 0x01])) == "a/\\xff\u{1}")
    }
}

/// A shell adds the last argument, because Foundation can start no program with an argument that is not UTF-8.
@Suite(.timeLimit(.minutes(10))) struct ArgumentBytesTests {
    /// Runs the command with one more argument, which ends with the bytes FF 01.
    ///
    /// - Parameter content: The content of the file with this name; no file if `nil`.
    private static func run(
        _ arguments: [String],
        last prefix: String = "",
        content: String? = nil,
        folder: URL? = nil
    ) async throws -> (status: Int32, output: [String], errors: [String]) {
        let bytes = "last=\"$(printf -- '\(prefix)\\377\\001')\""
        let file = content.map { "printf '\($0)' > \"$last\"; " } ?? ""
        let process = try CommandProcess(
            arguments,
            startedBy: ["/bin/sh", "-c", "\(bytes); \(file)exec \"$0\" \"$@\" \"$last\""],
            folder: folder
        )
        let (output, errors) = (await process.output.rest(), await process.errors.rest())
        return (await process.status(), output, errors)
    }

    @Test(arguments: ["", "--body=", "-m", "-m="])
    func aBodyIsPublishedUnchanged(_ prefix: String) async throws {
        try await Broker.with { broker in
            let option = prefix.isEmpty ? ["--body"] : prefix == "-m" ? ["-m"] : []
            let prefix = prefix == "-m" ? "" : prefix
            let sent = try await Self.run(["publish", broker.url, "-t", "raw", "--retain"] + option, last: prefix)
            try #require(sent.status == 0, "\(sent.errors)")
            let seen = try await CommandProcess.run(["subscribe", broker.url, "-t", "raw", "--count", "1"])
            #expect(seen.output.first?.contains("\"payload\":\"/wE=\",\"encoding\":\"base64\"") == true, "\(seen)")
        }
    }

    @Test func aBodyIsNotChanged() async throws {
        try await PageTrial.with { trial in
            let sent = try await Self.run(["send", "c.yaml", "show", "--body"], folder: trial.folder)
            #expect(sent.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(sent.errors.first?.contains("the body cannot be sent as JSON") == true, "\(sent.errors)")
        }
    }

    @Test func aFileNameIsOpenedUnchanged() async throws {
        try await TemporaryFolder.with { folder in
            let checked = try await Self.run(["check", "--json"], content: "sources: 1\\n", folder: folder)
            #expect(checked.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(checked.output.first?.contains(#""file":"\\xff\u0001","line":1,"#) == true, "\(checked.output)")
            let run = try await Self.run(["run"], content: "sources: 1\\n", folder: folder)
            #expect(run.status == CommandStatus.invalidConfiguration.rawValue)
            #expect(run.errors.contains { $0.contains("\\xff\\u{1}:1:10:") }, "\(run.errors)")
            let routed = try await Self.run(["parse", "a://b", "--routes"], content: "routes: 1\\n", folder: folder)
            #expect(routed.status == CommandStatus.invalidConfiguration.rawValue, "\(routed.errors)")
        }
    }

    @Test func aPayloadFileAndAScriptAreOpenedUnchanged() async throws {
        try await PageTrial.with { trial in
            let explained = try await Self.run(
                ["explain", "c.yaml", "--source", "page", "--file"],
                folder: trial.folder
            )
            #expect(explained.status == CommandStatus.unreadableFile.rawValue)
            #expect(explained.errors.first?.contains("\\xff") == true, "\(explained.errors)")
            let page = try await Self.run(["bridge", "c.yaml"], content: "1;", folder: trial.folder)
            #expect(page.status == 0, "\(page.errors)")
        }
    }

    @Test func aPasswordFileIsOpenedUnchanged() async throws {
        try await Broker.with(BrokerOptions(users: ["u": "right"])) { broker in
            try await TemporaryFolder.with { folder in
                let publish = ["publish", broker.url, "-t", "a", "--body", "b", "--user", "u"]
                for (password, status) in [("right", CommandStatus.done), ("wrong", .refused)] {
                    let sent = try await Self.run(
                        publish + ["--password-file"],
                        content: password,
                        folder: folder
                    )
                    #expect(sent.status == status.rawValue, "\(sent.errors)")
                }
            }
            let missing = try await Self.run(
                ["publish", broker.url, "-t", "a", "--body", "b", "--user", "u", "--password-file"]
            )
            #expect(missing.status != 0)
            #expect(missing.errors.first?.contains("\\xff") == true, "\(missing.errors)")
        }
    }

    /// The last argument is the file, so the folder is the one that the shell creates.
    @Test func pathsAreRelativeToAFolderWhoseNameIsNotUTF8() async throws {
        try await TemporaryFolder.with { folder in
            let text = """
                sources:
                  page: { script: { files: [page.js] } }
                plugins:
                  - { action: keep, use: file, path: actions.jsonl, from: [ { source: page } ] }
                """
            let files = ["c.yaml": text, "page.js": "signalbox.call('keep');"]
            for (name, text) in files {
                try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
            }
            let enter = "d=\"$(printf 'a\\377')\"; mkdir -p \"$d\"; mv c.yaml page.js \"$d\" 2>/dev/null; "
            let script = enter + "exec \"$0\" \"$@\" \"$d/c.yaml\""
            let check = try CommandProcess(
                ["check", "--strict"],
                startedBy: ["/bin/sh", "-c", script],
                folder: folder
            )
            #expect(await check.output.rest() == [])
            await check.ends()
            let run = try CommandProcess(
                ["run", "--outcomes"],
                startedBy: ["/bin/sh", "-c", script],
                folder: folder
            )
            #expect(await run.output.line(with: #""outcome":"handled""#) != nil)
            run.signal(SIGTERM)
            #expect(await run.unexpectedEnd() == nil)
            let find = try RunningProgram("sh", ["-c", "test -s \(folder.path)/a*/actions.jsonl"])
            #expect(await find.status() == 0)
        }
    }

    @Test(arguments: [
        ["parse"], ["subscribe", "mqtt://h", "-t"], ["subscribe", "-t", "a"],
        ["publish", "mqtt://h", "-t", "a", "--user"],
        ["connect", "ws://h/", "--no-input", "--body"], ["connect", "ws://h/", "--open-message"],
        ["send", "c"], ["explain", "c", "--url"], ["navigate", "c"], ["connect", "--subprotocol"],
        ["subscribe", "mqtt://h", "-t", "a", "--password-env"],
    ])
    func textThatIsNotUTF8IsAUsageError(_ arguments: [String]) async throws {
        let finished = try await Self.run(arguments)
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(finished.output.isEmpty)
        #expect(finished.errors.first?.contains("UTF-8") == true, "\(finished.errors)")
    }

    @Test func aCommandThatIsNotUTF8IsUnknown() async throws {
        let finished = try await Self.run([], last: "check")
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(finished.errors.first?.hasPrefix("Error: Unknown command 'check\\xff") == true, "\(finished.errors)")
    }

    @Test func anOptionNameThatIsNotUTF8IsAUsageError() async throws {
        let finished = try await Self.run(["check"], last: "--str")
        #expect(finished.status == CommandStatus.usage.rawValue)
        #expect(finished.errors.first?.contains("Unknown option '--str\\xff") == true, "\(finished.errors)")
    }
}
