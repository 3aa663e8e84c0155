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
              tls: { ca: FILE }
              topics: [ { pattern: '{action}' } ]
          page: { script: { files: [FILE] } }
        plugins:
          - { action: a, use: log, from: [ { source: push }, { source: page } ] }
        """

    /// Each entry is a command that cannot use the file `FILE`.
    private static let commands = [
        ["publish", "mqtt://127.0.0.1:1", "-t", "a", "--file", "FILE"],
        ["publish", "mqtt://127.0.0.1:1", "-t", "a", "--payload", "b", "--user", "u", "--password-file", "FILE"],
        ["publish", "mqtts://127.0.0.1:1", "-t", "a", "--payload", "b", "--ca", "FILE"],
        ["request", "mqtt://127.0.0.1:1", "-t", "a", "--payload", "b", "--user", "u", "--password-file", "FILE"],
        ["subscribe", "mqtt://127.0.0.1:1", "-t", "a", "--user", "u", "--password-file", "FILE"],
        ["subscribe", "mqtts://127.0.0.1:1", "-t", "a", "--ca", "FILE"],
        ["subscribe", "mqtts://127.0.0.1:1", "-t", "a", "--cert", "FILE", "--key", "FILE"],
        ["subscribe", "mqtts://127.0.0.1:1", "-t", "a", "--psk-identity", "i", "--psk-file", "FILE"],
        ["connect", "ws://127.0.0.1:1/", "--bearer-file", "FILE"],
        ["connect", "ws://127.0.0.1:1/", "--header-file", "X-Key: FILE"],
        ["connect", "wss://localhost:1/", "--ca", "FILE"],
        ["run", "FILE"], ["serve", "--config", "FILE"], ["check", "FILE"], ["bridge", "FILE"],
        ["bridge", "FILE", "--engine", "browser"], ["bridge", "page.js", "--config", "FILE"],
        ["bridge", "page.js", "--expect", "FILE"], ["send", "a", "--config", "FILE"],
        ["navigate", "https://a.example/", "--config", "FILE"], ["parse", "a:b", "--routes", "FILE"],
        ["explain", "--payload", "1", "--config", "FILE"], ["check", "c.yaml"], ["run", "c.yaml"],
    ]

    @Test(arguments: ["staff.token", "password.txt", "api-key", "client.secret", "cookies"])
    func aFileThatCannotBeReadIsNamed(_ file: String) async throws {
        for command in Self.commands {
            let files = ["c.yaml": Self.configuration.replacing("FILE", with: file), "page.js": ""]
            try await LinkTrial.with(files) { trial in
                let finished = try await trial.run(command.map { $0.replacing("FILE", with: file) })
                #expect(finished.status != 0, "\(command)")
                let text = (finished.output + finished.errors).joined(separator: "\n")
                #expect(text.contains(file) && !text.contains("[redacted]"), "\(command): \(text)")
            }
        }
    }

    @Test func anUnreadableFolderIsNamed() async throws {
        try await LinkTrial.with { trial in
            let folder = trial.folder.appendingPathComponent("staff.token")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            for command in [["run"], ["check"], ["parse", "a:b", "--routes"], ["send", "a", "--config"]] {
                let finished = try await trial.run(command + ["staff.token"])
                let text = (finished.output + finished.errors).joined(separator: "\n")
                #expect(text.contains("staff.token") && text.contains("Is a directory"), "\(command): \(text)")
            }
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
            for command in [["subscribe"], ["publish", "--payload", "b"], ["request", "--payload", "b"]] {
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
