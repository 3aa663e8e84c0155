import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Pages of `bridge`, whose scripts run in a separate process.
@Suite(.serialized, .timeLimit(.minutes(10))) struct OwnProcessTests {
    private static func configuration(_ page: String) -> String {
        """
        sources: { page: { script: { \(page) } } }
        plugins: [ { action: say, use: reply, value: hello, from: [ { source: page } ] } ]
        """
    }

    private static func bridge(
        _ script: String,
        _ page: String = "",
        _ arguments: String...
    ) async throws -> CommandProcess.Finished {
        var finished: CommandProcess.Finished?
        try await LinkTrial.with(["a.js": script, "c.yaml": configuration(page)]) { trial in
            finished = try await trial.run(["bridge", "a.js", "--config", "c.yaml"] + arguments)
        }
        return try #require(finished)
    }

    @Test func aPageWorksAsInTheProgramsProcess() async throws {
        let script = """
            console.log('begun');
            signalbox.call('say', { a: 1 }).then((reply) => signalbox.call('say', reply), () => {});
            signalbox.call('nobody').catch((error) => signalbox.call('say', error.code));
            setTimeout(() => webkit.messageHandlers.say.postMessage([1, 2]), 1);
            setTimeout(() => { throw new Error('boom'); }, 2);
            """
        let own = try await Self.bridge(script)
        let shared = try await Self.bridge(script, "process: shared")
        #expect(own.output.sorted() == shared.output.sorted())
        #expect(own.output.count == 5 && own.status == CommandStatus.notAsExpected.rawValue)
        for words in ["begun", "script error: a.js:5", "script errors: 1"] {
            #expect(own.errors.contains { $0.contains(words) }, "\(own.errors)")
        }
    }

    @Test(arguments: [
        "const kept = []; for (;;) kept.push(new Uint8Array(1e8).fill(1));",
        "signalbox.call('say').then(() => { const kept = []; for (;;) kept.push('x'.repeat(1e7) + kept.length); });",
        "new Uint8Array(1e9).fill(1).sort();",
    ])
    func aPageThatTakesTooMuchMemoryIsEnded(script: String) async throws {
        let finished = try await Self.bridge(
            script,
            "memory_limit: 200MiB, heap_limit: 1024GiB, execution_time_limit: 1h"
        )
        #expect(finished.status == CommandStatus.notAsExpected.rawValue)
        #expect(finished.errors.contains { $0.contains("its process takes more than") }, "\(finished.errors)")
    }

    /// Nothing can interrupt a call into the engine without ending its process.
    @Test func aCallWithoutEndIsEnded() async throws {
        let script = "/(a+)+b/.test('a'.repeat(60));"
        let limited = try await Self.bridge(script, "execution_time_limit: 100ms")
        #expect(limited.status == CommandStatus.notAsExpected.rawValue)
        let timed = try await Self.bridge(script, "execution_time_limit: 1h", "--timeout", "500ms")
        #expect(timed.status == CommandStatus.timeout.rawValue, "\(timed.errors)")
    }

    #if os(Linux)
    @Test func theProcessHasNoSecretsAndEndsWithTheCommand() async throws {
        try await LinkTrial.with([
            "a.js": "setInterval(() => {}, 1e6); signalbox.call('say');", "c.yaml": Self.configuration(""),
        ]) {
            trial in
            let command = try CommandProcess(
                ["bridge", "a.js", "--config", "c.yaml"],
                environment: ["SECRET": "canary-4711"],
                folder: trial.folder
            )
            try #require(await command.output.line() != nil)
            let child = try #require(try Self.children(of: command.id).first)
            let environment = try String(contentsOfFile: "/proc/\(child)/environ", encoding: .utf8)
            #expect(!environment.contains("canary-4711"))
            command.signal(SIGKILL)
            await command.ends(with: -SIGKILL)
            while !Task.isCancelled, Self.isThere(child) { await Task.yield() }
        }
    }

    @Test func aProcessThatEndsByItselfIsTheEndOfItsPage() async throws {
        try await LinkTrial.with([
            "a.js": "setInterval(() => {}, 1e6); signalbox.call('say');", "c.yaml": Self.configuration(""),
        ]) {
            trial in
            let command = try CommandProcess(["bridge", "a.js", "--config", "c.yaml"], folder: trial.folder)
            try #require(await command.output.line() != nil)
            let child = try #require(try Self.children(of: command.id).first)
            kill(child, SIGKILL)
            let errors = await command.errors.rest()
            #expect(errors.contains { $0.contains("its process ended by signal 9") }, "\(errors)")
            #expect(await command.status() != 0)
        }
    }

    private static func children(of process: Int32) throws -> [Int32] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { Int32($0) }.filter { id in
            guard let text = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
                let end = text.lastIndex(of: ")")
            else { return false }
            let fields = text[text.index(after: end)...].split(separator: " ")
            return fields.count > 1 && fields[0] != "Z" && Int32(fields[1]) == process
        }
    }

    private static func isThere(_ process: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
        return !text.contains(") Z ")
    }
    #endif
}
