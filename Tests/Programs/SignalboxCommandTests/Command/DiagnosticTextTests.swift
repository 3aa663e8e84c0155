import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// The texts of diagnostics: they name files, speak of what the user of a command did, and stay readable.
@Suite(.timeLimit(.minutes(10))) struct DiagnosticTextTests {
    private static let configuration = """
        sources:
          push:
            mqtt:
              broker: mqtts://127.0.0.1:1
              client_id: a
              username: u
              password: { file: FILE }
              trust: { authority: FILE }
              topics: [ { pattern: '{action}' } ]
          page: { script: { files: [FILE] } }
        plugins:
          - { action: a, use: log, from: [ { source: push }, { source: page } ] }
        """

    /// Each entry is a command that cannot use the file `FILE`.
    private static let commands = [
        ["publish", "mqtt://127.0.0.1:1", "-t", "a", "--file", "FILE"],
        ["publish", "mqtt://127.0.0.1:1", "-t", "a", "--body", "b", "--user", "u", "--password-file", "FILE"],
        ["publish", "mqtts://127.0.0.1:1", "-t", "a", "--body", "b", "--ca", "FILE"],
        ["request", "mqtt://127.0.0.1:1", "-t", "a", "--body", "b", "--user", "u", "--password-file", "FILE"],
        ["subscribe", "mqtt://127.0.0.1:1", "-t", "a", "--user", "u", "--password-file", "FILE"],
        ["subscribe", "mqtts://127.0.0.1:1", "-t", "a", "--ca", "FILE"],
        ["subscribe", "mqtts://127.0.0.1:1", "-t", "a", "--cert", "FILE", "--key", "FILE"],
        ["subscribe", "mqtts://127.0.0.1:1", "-t", "a", "--psk-identity", "i", "--psk-file", "FILE"],
        ["connect", "ws://127.0.0.1:1/", "--bearer-file", "FILE"],
        ["connect", "ws://127.0.0.1:1/", "--header-file", "X-Key: FILE"],
        ["connect", "wss://localhost:1/", "--ca", "FILE"],
        ["run", "FILE"], ["serve", "FILE"], ["check", "FILE"], ["bridge", "FILE"],
        ["bridge", "FILE", "--engine", "browser"], ["bridge", "page.js", "FILE.yaml"],
        ["bridge", "page.js", "--expect", "FILE"], ["send", "FILE", "a"],
        ["navigate", "FILE", "https://a.example/"], ["parse", "a:b", "--routes", "FILE"],
        ["explain", "--body", "1", "FILE"], ["check", "--with-secrets", "c.yaml"], ["run", "c.yaml"],
    ]

    @Test(arguments: ["staff.token", "password.txt", "api-key", "client.secret", "cookies"])
    func aFileThatCannotBeReadIsNamed(_ file: String) async throws {
        for command in Self.commands {
            let files = ["c.yaml": Self.configuration.replacing("FILE", with: file), "page.js": ""]
            try await LinkTrial.with(files) { trial in
                let finished = try await trial.run(command.map { $0.replacing("FILE", with: file) })
                let isConnecting = ["publish", "request", "subscribe", "connect"].contains(command[0])
                #expect(isConnecting ? finished.status == 66 : finished.status != 0, "\(command): \(finished.status)")
                let text = (finished.output + finished.errors).joined(separator: "\n")
                #expect(text.contains(file) && !text.contains("[redacted]"), "\(command): \(text)")
            }
        }
    }

    @Test func withQuietOnlyTheStatusReportsAFailure() async throws {
        for command in Self.commands + [["publish", "mqtts://127.0.0.1:1", "-t", "a", "--body", "b", "--insecure"]] {
            let files = ["c.yaml": Self.configuration, "page.js": ""]
            try await LinkTrial.with(files) { trial in
                let finished = try await trial.run(command + ["--quiet"])
                #expect(finished.status > 0 && finished.status != 64, "\(command)")
                #expect(finished.errors.isEmpty, "\(command): \(finished.errors)")
            }
        }
        let wrong = try await CommandProcess.run(["check", "--quiet", "--nothing", "--log-format", "json"])
        #expect(wrong.status == 64 && wrong.errors.first?.hasPrefix("Error: Unknown option") == true)
        let chats = """
            sources: { a: { chat: { port: 0, absent_origin: allowed } }, b: { chat: { port: 0, absent_origin: allowed } } }
            plugins: [ { action: say, use: print, from: [ { source: a } ] } ]
            """
        try await LinkTrial.with(["c.yaml": chats]) { trial in
            // Only the configuration shows that the argument is wrong.
            let late = try await trial.run(["serve", "c.yaml", "--port", "1", "--quiet"])
            #expect(late.status == 64 && late.errors.count == 1, "\(late.errors)")
        }
    }

    @Test func eachDiagnosticCanBeAJSONObject() async throws {
        struct Line: Decodable {
            let time: String
            let level: String
            let message: String
        }
        for command in Self.commands {
            try await LinkTrial.with(["c.yaml": Self.configuration, "page.js": ""]) { trial in
                let finished = try await trial.run(command + ["--log-format", "json"])
                let lines = try finished.errors.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
                #expect(!lines.isEmpty && lines.allSatisfy { $0.time.hasSuffix("Z") }, "\(command)")
                if command[0] == "check" {
                    #expect(lines.last?.level == "info" && lines.last?.message.hasSuffix("in 1 file") == true)
                } else {
                    #expect(
                        lines.contains { $0.level == "error" && $0.message.contains("FILE") },
                        "\(command): \(lines)"
                    )
                }
            }
        }
    }

    @Test func anUnreadableFolderIsNamed() async throws {
        try await LinkTrial.with { trial in
            let folder = trial.folder.appendingPathComponent("staff.token")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            for command in [["run"], ["check"], ["parse", "a:b", "--routes"], ["navigate"], ["serve"]] {
                let urls = command == ["navigate"] ? ["a:b"] : []
                let finished = try await trial.run(command + ["staff.token"] + urls)
                let text = (finished.output + finished.errors).joined(separator: "\n")
                #expect(text.contains("staff.token") && text.contains("Is a directory"), "\(command): \(text)")
            }
        }
    }

    /// What a path can lead to besides a file that fits.
    enum Obstacle: String, CaseIterable {
        case folder, binary, oversized, unreadable

        func make(at url: URL) throws {
            switch self {
            case .folder: try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
            case .binary: try Data([0xFF, 0xFE, 0x00, 0xFF]).write(to: url)
            case .oversized:
                try Data().write(to: url)
                // One byte above the largest limit of a file that is read as a whole. The file takes no space.
                guard truncate(url.path, FileContent.recordLimit + 1) == 0 else { throw CocoaError(.fileWriteUnknown) }
            case .unreadable:
                // A read of this file fails for the superuser as well.
                #if os(Linux)
                try FileManager.default.createSymbolicLink(atPath: url.path, withDestinationPath: "/proc/self/mem")
                #else
                try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
                #endif
            }
        }

        /// Returns whether a command can use the file nevertheless.
        func isAccepted(by command: [String]) -> Bool {
            // A payload and a document of a page are any bytes.
            self == .binary && (command.contains("--file") || command.contains("browser"))
        }
    }

    @Test(arguments: Obstacle.allCases) func aFileThatCannotBeUsedIsNamed(_ obstacle: Obstacle) async throws {
        for command in Self.commands where !obstacle.isAccepted(by: command) {
            let file = "staff.token"
            let files = ["c.yaml": Self.configuration.replacing("FILE", with: file), "page.js": ""]
            try await LinkTrial.with(files) { trial in
                try obstacle.make(at: trial.folder.appendingPathComponent(file))
                let finished = try await trial.run(command.map { $0.replacing("FILE", with: file) })
                #expect(finished.status > 0, "\(command)")
                let text = (finished.output + finished.errors).joined(separator: "\n")
                #expect(text.contains(file) && !text.contains("[redacted]"), "\(command): \(text)")
            }
        }
    }

    @Test(arguments: [
        ("hunter2-long-random-token", true), ("aB3/dEf9Gh1JkLmN+pQ==", true), ("./aB3dEf9Gh1JkLmNop", true),
        ("mqtt-broker-password-2026", false), ("found/BrokerPassword2026", false),
    ])
    func aSecretInPlaceOfItsFileIsNotRepeated(_ file: String, _ isSecret: Bool) async throws {
        try await LinkTrial.with(["c.yaml": Self.configuration.replacing("FILE", with: file)]) { trial in
            let found = trial.folder.appendingPathComponent("found")
            try FileManager.default.createDirectory(at: found, withIntermediateDirectories: false)
            let finished = try await trial.run(["check", "--with-secrets", "c.yaml"])
            let passwords = (finished.output + finished.errors).filter { $0.contains(".password: ") }
            #expect(passwords.contains { $0.contains("\(file.prefix(4))…") } == isSecret, "\(finished)")
            #expect(passwords.contains { $0.contains(file) } != isSecret, "\(finished)")
        }
    }

    @Test func aFailingPluginOfAConfigurationIsReported() async throws {
        try await ChatTrial.with { trial in
            let configuration = """
                sources: { page: { script: {} }, news: { feed: { url: '\(trial.url)' } } }
                plugins: [ { action: say, use: fail, from: [page, news, internal] } ]
                """
            try ChatTrial.write(configuration, to: "c.yaml", in: trial.folder)
            let script = "window.webkit.messageHandlers.say.postMessage(1)"
            try ChatTrial.write(script, to: "page.js", in: trial.folder)
            for command in [
                ["bridge", "page.js", "c.yaml"], ["send", "c.yaml", "say"],
                ["connect", "c.yaml", "--body", #"{"action":"say"}"#, "--count", "1"],
            ] {
                let finished = try await CommandProcess.run(command, folder: trial.folder)
                #expect(finished.status == CommandStatus.notAsExpected.rawValue)
                let line = finished.errors.first { $0.contains(" warning dead letter: ") } ?? ""
                #expect(line.contains("the plugin 'fail' always fails") && line.contains("plugin=say"), "\(finished)")
                #expect(!finished.errors.contains { $0.contains("draining") }, "\(finished.errors)")
            }
            let absent = try await CommandProcess.run(
                ["connect", "ws://127.0.0.1:1/", "c.yaml"],
                folder: trial.folder
            )
            #expect(absent.errors.count == 1 && !absent.errors[0].contains("other sources"), "\(absent.errors)")
        }
    }

    /// Words that only users of a configuration know.
    private static let supervisorWords = [
        "other sources", "dead letter", "source ", "configuration", "draining", "plugin", "lost: the connection",
        "1 topic filters",
    ]

    private static func expectPlainWords(_ errors: [String], sourceLocation: SourceLocation = #_sourceLocation) {
        for line in errors {
            for word in supervisorWords { #expect(!line.contains(word), "\(line)", sourceLocation: sourceLocation) }
        }
    }

    @Test func aFailedConnectionIsReportedOnceInTheWordsOfItsOptions() async throws {
        try await Broker.with(BrokerOptions(users: ["u": "right"])) { broker in
            for command in [["subscribe"], ["publish", "--body", "b"], ["request", "--body", "b"]] {
                let arguments = ["-t", "a"] + command.dropFirst()
                let refused = try await CommandProcess.run([command[0], broker.url] + arguments)
                #expect(refused.status == CommandStatus.refused.rawValue)
                #expect(refused.errors.count == 1 && refused.errors[0].contains("Add --user with --password-env"))
                Self.expectPlainWords(refused.errors)
                let login = ["--user", "u", "--password-env", "P"]
                let wrong = try await CommandProcess.run(
                    [command[0], broker.url] + arguments + login,
                    environment: ["P": "wrong"]
                )
                #expect(wrong.errors.count == 1 && wrong.errors[0].contains("Check --user and the password of"))
                Self.expectPlainWords(wrong.errors)
                let absent = try await CommandProcess.run([command[0], "mqtt://127.0.0.1:1"] + arguments)
                #expect(absent.errors.count == 1 && absent.errors[0].contains("connection refused"))
                Self.expectPlainWords(absent.errors)
            }
        }
        let absent = try await CommandProcess.run(["connect", "ws://127.0.0.1:1/"])
        #expect(absent.errors.count == 1, "\(absent)")
        Self.expectPlainWords(absent.errors)
    }

    @Test func aSubscriberSpeaksOfTopicFiltersAndMessages() async throws {
        try await Broker.with { broker in
            let process = try await BrokerTrial.subscriber(broker.url, "-t", "x")
            try await broker.publish([UInt8](repeating: 0x20, count: 1_500_000), to: "x")
            let report = await process.errors.line(with: "is not shown")
            #expect(report == #"signalbox: a message is not shown: expected at most 1048576 bytes"#)
            process.output.close()
            while process.isRunning { try await broker.publish(String(repeating: "x", count: 60_000), to: "x") }
            Self.expectPlainWords(await process.errors.rest())
            await process.ends()
        }
    }

    @Test func theKindOfAPayloadIsShown() async throws {
        try await Broker.with { broker in
            let payloads: [(String, [UInt8], String)] = [
                ("json", Array(#""hello""#.utf8), #""payload":"hello","payloadKind":"json""#),
                ("text", Array("hello".utf8), #""payload":"hello","payloadKind":"text""#),
                ("binary", [0xFF, 0xFE], #""payload":"//4=","encoding":"base64","payloadKind":"binary""#),
            ]
            for (topic, payload, expected) in payloads {
                try await broker.publish(payload, to: topic, retain: true)
                let seen = try await CommandProcess.run(["subscribe", broker.url, "-t", topic, "--count", "1"])
                #expect(seen.output.count == 1 && seen.output[0].contains(expected), "\(seen)")
            }
        }
    }

    @Test func twoProcessesWithOneClientIDAreReported() async throws {
        for version in ["3.1.1", "5"] {
            try await Broker.with { broker in
                try await TemporaryFolder.with { folder in
                    let file = folder.appendingPathComponent("c.yaml")
                    try """
                    sources:
                      push:
                        mqtt:
                          broker: \(broker.url)
                          client_id: kiosk
                          version: '\(version)'
                          topics: [ { pattern: '{action}' } ]
                    plugins: [ { action: a, use: log, from: [ { source: push } ] } ]
                    """.write(to: file, atomically: true, encoding: .utf8)
                    let first = try CommandProcess(["run", file.path], folder: folder)
                    try #require(await first.errors.line(with: "subscribed to 1 topic filter") != nil)
                    let second = try CommandProcess(["run", file.path], folder: folder)
                    // A broker for MQTT 5 may give the reason instead of closing the connection only.
                    let line = await first.errors.line(with: "client id")
                    #expect(line?.contains("another client") == true || line?.contains("Another client") == true)
                    for process in [first, second] {
                        process.signal(SIGTERM)
                        await process.ends()
                    }
                }
            }
        }
    }
}
