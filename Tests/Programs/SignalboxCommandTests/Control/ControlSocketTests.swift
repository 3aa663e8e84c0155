import BrokerKit
import Foundation
import SignalboxCore
import Testing

@testable import SignalboxCommand

/// The control socket as a surface for attacks and mistakes.
@Suite(.timeLimit(.minutes(5))) struct ControlSocketTests {
    @Test func onlyTheOwnerHasAccess() async throws {
        try await ControlTrial.with { trial in
            var status = stat()
            #expect(lstat(trial.path, &status) == 0)
            #expect(status.st_mode & S_IFMT == S_IFSOCK && status.st_mode & 0o777 == 0o600)
        }
    }

    @Test(arguments: [
        ("{}\n", "invalidRequest"), ("\n", "invalidRequest"), ("nonsense\n", "invalidRequest"),
        ("{\"request\":7}\n", "invalidRequest"), ("[\"status\"]\n", "invalidRequest"),
        ("{\"request\":\"nix\"}\n", "unknownRequest"), ("{\"request\":\"send\"}\n", "invalidRequest"),
        ("{\"request\":\"send\",\"action\":\"\"}\n", "invalidRequest"),
        ("{\"request\":\"send\",\"action\":\"a\",\"id\":\"\"}\n", "invalidRequest"),
        ("{\"request\":\"logLevel\",\"level\":\"loud\"}\n", "invalidRequest"),
        ("{\"request\":\"tap\",\"rate\":0}\n", "invalidRequest"),
        ("{\"request\":\"tap\",\"sample\":-1}\n", "invalidRequest"),
        ("{\"request\":\"tap\",\"outcome\":\"good\"}\n", "invalidRequest"),
        ("{\"request\":\"tap\",\"source\":\"\\u0000\"}\n", "invalidRequest"),
        ("\u{1}\u{2}\u{FFFD}\n", "invalidRequest"),
    ])
    func aBadRequestIsRefusedAndTheNextIsAnswered(request: String, code: String) async throws {
        try await ControlTrial.with { trial in
            let lines = try await trial.raw(request + "{\"request\":\"logLevel\"}\n", lines: 2)
            #expect(lines.first?.hasPrefix("{\"error\":{\"code\":\"\(code)\",\"detail\":\"") == true, "\(lines)")
            #expect(lines.last == "{\"logLevel\":\"debug\"}")
        }
    }

    @Test func aRequestThatIsTooLongEndsTheConnection() async throws {
        try await ControlTrial.with { trial in
            let connection = try RawControl(path: trial.path)
            Task.detached { connection.write(String(repeating: "x", count: 1 << 20)) }
            let line = await connection.lines(1).first
            #expect(line?.contains("\"invalidRequest\"") == true && line?.contains("more than") == true)
            #expect(await connection.rest().isEmpty)
            #expect(try await trial.status().sources.count == 1)
        }
    }

    @Test func answersComeInOrderAndAlsoAfterTheLastRequest() async throws {
        try await ControlTrial.with { trial in
            let connection = try RawControl(path: trial.path)
            connection.write("{\"request\":\"logLevel\"}\n{\"request\":\"nix\"}\n{\"request\":\"logLevel\"}")
            connection.endWriting()
            let lines = await connection.rest()
            #expect(lines.count == 3 && lines[1].contains("unknownRequest"))
            #expect(lines.first == lines.last)
        }
    }

    @Test func furtherCommandsAreRefusedWhileManyAreConnected() async throws {
        try await ControlTrial.with { trial in
            var connections: [RawControl] = []
            for _ in 0..<ControlSocket.connectionLimit {
                let connection = try RawControl(path: trial.path)
                connection.write("{\"request\":\"logLevel\"}\n")
                #expect(await connection.lines(1) == ["{\"logLevel\":\"debug\"}"])
                connections.append(connection)
            }
            let refused = try await trial.run("status", "--config", "c.yaml")
            #expect(refused.status == CommandStatus.unavailable.rawValue)
            #expect(refused.errors.first?.contains("commands are connected") == true)
            connections.removeLast().endWriting()
            while try await trial.run("status", "--config", "c.yaml").status != 0 {}
        }
    }

    /// The program neither waits for a tap that does not read nor keeps everything for it.
    @Test func aTapThatDoesNotReadLosesLines() async throws {
        try await ControlTrial.with { trial in
            let tap = try ControlClient(path: trial.path)
            var selection = TapSelection()
            (selection.rate, selection.showsBodies) = (10_000, true)
            try tap.send(.tap(selection))
            let client = try trial.client()
            let body = Bytes("\"\(String(repeating: "x", count: 30_000))\"")
            var sent = 0
            // The system's buffer may be large, so send until the program has left out something.
            while try await isComplete(tap, client, &sent, body) {}
        }
    }

    /// Sends more actions than before without reading, and then reads until none is missing or one was left out.
    private func isComplete(
        _ tap: ControlClient,
        _ client: ControlClient,
        _ sent: inout Int,
        _ body: Bytes
    ) async throws -> Bool {
        for _ in 0..<60 + sent {
            let line = try await client.ask(.send(action: "good", id: nil, body: body))
            #expect(String(decoding: line, as: UTF8.self).contains("\"outcome\":\"handled\""))
            sent += 1
        }
        var (shown, last) = (0, sent)
        while shown < last {
            let line = try #require(try await tap.next())
            shown += 1
            if String(decoding: line, as: UTF8.self).contains("\"skipped\":") { return false }
            // The number of those that were left out comes with the next action that is shown.
            _ = try await client.ask(.send(action: "good", id: nil, body: Bytes("null")))
            last = min(last + 1, sent + 200)
        }
        return true
    }

    @Test func aReadOnlySocketOnlyShows() async throws {
        let configuration = ControlTrial.configuration("control: { path: c.control, read_only: true }")
        try await ControlTrial.with(configuration) { trial in
            for command in [
                ["send", "c.yaml", "good", "--to-running"], ["reload", "--config", "c.yaml"],
                ["drain", "--config", "c.yaml"], ["log-level", "trace", "--config", "c.yaml"],
            ] {
                let refused = try await CommandProcess.run(command, folder: trial.folder)
                #expect(refused.status == CommandStatus.refused.rawValue, "\(command)")
                #expect(refused.errors.first?.contains("read_only") == true)
            }
            #expect(try await trial.run("status", "--config", "c.yaml").output.count == 1)
            #expect(try await trial.run("log-level", "--config", "c.yaml").status == 0)
        }
    }

    @Test func aSocketThatWasLeftBehindIsReplaced() async throws {
        try await TemporaryFolder.with { folder in
            try ProcessTrial.write(ControlTrial.configuration(), in: folder)
            let path = folder.appendingPathComponent("c.control").path
            let first = try CommandProcess(["run", "c.yaml", "--log-level", "debug"], folder: folder, isTyped: true)
            _ = try #require(await first.errors.line(with: "the control socket is open"))
            let second = try await CommandProcess.run(["run", "c.yaml"], folder: folder)
            #expect(second.status == CommandStatus.cannotListen.rawValue)
            #expect(second.errors.contains { $0.contains("c.control: another program uses it") })
            #expect(FileManager.default.fileExists(atPath: path))
            first.signal(SIGKILL)
            _ = await first.status()
            #expect(FileManager.default.fileExists(atPath: path))
            let third = try CommandProcess(["run", "c.yaml", "--log-level", "debug"], folder: folder, isTyped: true)
            _ = try #require(await third.errors.line(with: "the control socket is open"))
            #expect(try await CommandProcess.run(["log-level", "--config", "c.yaml"], folder: folder).status == 0)
            third.signal(SIGTERM)
            #expect(await third.status() == 0)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func anotherFileIsNotReplaced() async throws {
        try await TemporaryFolder.with { folder in
            try ProcessTrial.write(ControlTrial.configuration(), in: folder)
            try "precious".write(to: folder.appendingPathComponent("c.control"), atomically: true, encoding: .utf8)
            let run = try await CommandProcess.run(["run", "c.yaml"], folder: folder)
            #expect(run.status == CommandStatus.cannotListen.rawValue)
            #expect(run.errors.contains { $0.contains("c.control: the file is no socket") })
            #expect(try String(contentsOf: folder.appendingPathComponent("c.control"), encoding: .utf8) == "precious")
        }
    }

    @Test func aStoreHasASocketBesideIt() async throws {
        try await ControlTrial.with(ControlTrial.configuration("store: s.db")) { trial in
            let level = try await trial.run("log-level", "--config", "c.yaml")
            #expect(level.status == 0)
            #expect(FileManager.default.fileExists(atPath: trial.folder.appendingPathComponent("s.db.control").path))
        }
    }

    @Test func withoutASocketNobodyCanAsk() async throws {
        for control in ["", "store: s.db\ncontrol: none"] {
            try await TemporaryFolder.with { folder in
                try ProcessTrial.write(ControlTrial.configuration(control), in: folder)
                let status = try await CommandProcess.run(["status", "--config", "c.yaml"], folder: folder)
                #expect(status.status == CommandStatus.invalidConfiguration.rawValue)
                #expect(status.errors.contains { $0.contains("there is no control socket") })
                let without = try await CommandProcess.run(["status"], folder: folder)
                #expect(without.status == CommandStatus.usage.rawValue)
            }
        }
    }

    @Test func aPathThatIsTooLongIsAWarningOnlyBesideTheStore() async throws {
        let name = String(repeating: "s", count: 110)
        try await TemporaryFolder.with { folder in
            try ProcessTrial.write(ControlTrial.configuration("store: \(name)"), in: folder)
            let process = try CommandProcess(["run", "c.yaml"], folder: folder, isTyped: true)
            let line = await process.errors.line(with: "the control socket is not open")
            #expect(line?.contains("warning") == true && line?.contains("set 'control'") == true)
            process.signal(SIGTERM)
            #expect(await process.status() == 0)
        }
        let found = ConfigurationReader.lint(
            ControlTrial.configuration("control: \(name)"),
            file: "c.yaml",
            readsSecrets: false
        )
        #expect(found.findings.contains { "\($0)".contains("the path of the socket has 110 bytes") })
    }

    @Test(arguments: [
        ("control: { read_only: true }", "path"), ("control: { path: a, mode: 7 }", "unknown key 'mode'"),
        ("control: { path: a, read_only: perhaps }", "read_only"), ("control: []", "control"),
    ])
    func aMistakeIsReported(control: String, words: String) {
        let found = ConfigurationReader.lint(ControlTrial.configuration(control), file: "c.yaml", readsSecrets: false)
        #expect(found.errors > 0)
        #expect(found.findings.contains { "\($0)".contains(words) }, "\(found.findings)")
    }
}
