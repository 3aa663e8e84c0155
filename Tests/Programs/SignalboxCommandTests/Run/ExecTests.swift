import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Programs that handle actions.
@Suite(.timeLimit(.minutes(10))) struct ExecTests {
    /// Sends an action to a shell script.
    ///
    /// - Parameters:
    ///   - options: Further keys of the plugin.
    ///   - arguments: Arguments of `send`.
    private static func send(
        _ script: String,
        _ options: String = "",
        body: String = #"{"n":1}"#,
        arguments: [String] = [],
        environment: [String: String] = [:],
        checking: (URL) throws -> Void = { _ in }
    ) async throws -> CommandProcess.Finished {
        var finished: CommandProcess.Finished?
        try await TemporaryFolder.with { folder in
            let program = folder.appendingPathComponent("program.sh")
            try "#!/bin/sh\n\(script)\n".write(to: program, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program.path)
            try """
            sources: { push: { mqtt: { broker: 'mqtt://127.0.0.1:1', client_id: a, topics: [ { pattern: '{action}' } ] } } }
            plugins:
              - { action: work, use: exec, command: [./program.sh, 'a b', '$HOME']\(options), from: [internal, push] }
            drain_limit: 10s
            timeout: 60s
            """.write(to: folder.appendingPathComponent("c.yaml"), atomically: true, encoding: .utf8)
            let input = folder.appendingPathComponent("body")
            try body.write(to: input, atomically: true, encoding: .utf8)
            finished = try await CommandProcess.run(
                ["send", "c.yaml", "work", "--file", "-"] + arguments,
                environment: environment,
                folder: folder,
                input: input
            )
            try checking(folder)
        }
        return try #require(finished)
    }

    private static func outcome(_ finished: CommandProcess.Finished) throws -> [String: Any] {
        let line = try #require(finished.output.first, "\(finished)")
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    @Test func theBodyIsStandardInputAndStandardOutputIsTheReply() async throws {
        let finished = try await Self.send("cat", body: #"{"n":1.50,"b":[]}"#)
        #expect(finished.status == 0)
        #expect(
            finished.output.first?.hasSuffix(#""outcome":"handled","reply":{"n":1.50,"b":[]}}"#) == true,
            "\(finished)"
        )
    }

    @Test(arguments: [
        ("printf 'hello\\n'", ", output: text", #""reply":"hello""#), ("true", "", #""outcome":"handled""#),
        ("echo nonsense", ", output: none", #""outcome":"handled""#),
        ("echo nonsense", "", "the program's output is not JSON"),
        ("printf '\\377'", ", output: text", "the program's output is not UTF-8"),
        ("head -c 2000 /dev/zero", ", max_output: 1KiB", "the program's output is larger than 1024 bytes"),
        ("echo first >&2; echo 'out of paper' >&2; exit 3", "", "exit status 3: out of paper"),
        ("exit 4", "", "\"detail\":\"exit status 4\""), ("kill -9 $$", "", "a signal ended the program: Killed"),
        ("sleep 1000", ", timeout: 50ms", "the program did not end within 0.05 seconds, and was ended"),
        // A child that keeps the pipes open does not hold up the call.
        ("sleep 20 & echo 1", "", #""reply":1"#),
    ])
    func theOutcomeIsThatOfTheProgram(_ script: String, _ options: String, _ expected: String) async throws {
        let finished = try await Self.send(script, options)
        #expect(finished.output.first?.contains(expected) == true, "\(finished)")
    }

    @Test func aProgramNeedNotReadItsInput() async throws {
        let body = "{\"text\":\"\(String(repeating: "a", count: 60_000))\"}"
        let finished = try await Self.send("exec 0<&-; echo '\"done\"'", body: body)
        #expect(try Self.outcome(finished)["reply"] as? String == "done")
    }

    @Test func onlyStatus75IsRetried() async throws {
        let retry = ", retry: { attempts: 3, first_delay: 1ms, longest_delay: 1ms }"
        for (status, expected) in [(75, "xxx"), (1, "x")] {
            _ = try await Self.send("printf x >> calls; exit \(status)", retry) { folder in
                let calls = try String(contentsOf: folder.appendingPathComponent("calls"), encoding: .utf8)
                #expect(calls == expected)
            }
        }
    }

    @Test func theEnvironmentIsCleanAndHasTheFacts() async throws {
        let finished = try await Self.send(
            #"env | cut -d = -f 1 | sort | tr '\n' ' '; echo "$# $1 $2 $SIGNALBOX_ACTION $SIGNALBOX_ID $SIGNALBOX_ORIGIN $KEPT""#,
            ", output: text, env: [KEPT]",
            arguments: ["--id", "i-7"],
            environment: ["KEPT": "kept", "HIDDEN": "canary"]
        )
        let reply = try #require(try Self.outcome(finished)["reply"] as? String)
        #expect(reply.hasSuffix(#"2 a b $HOME work i-7 {"source":"internal"} kept"#), "\(reply)")
        let names = Set(reply.split(separator: " ").map(String.init).prefix { $0 != "2" })
        // The shell adds PWD, and some add SHLVL and _.
        #expect(
            names.subtracting(["PWD", "SHLVL", "_", "OLDPWD"]) == [
                "PATH", "KEPT", "SIGNALBOX_ACTION", "SIGNALBOX_ID", "SIGNALBOX_SOURCE", "SIGNALBOX_ORIGIN",
                "SIGNALBOX_BODY_KIND", "SIGNALBOX_RECEIVED_AT", "SIGNALBOX_ATTEMPT",
            ]
        )
    }

    @Test func noProcessOfACallThatTimedOutIsLeft() async throws {
        let script = "trap '' TERM; sleep 1000 & echo $$ $! > pids; wait"
        _ = try await Self.send(script, ", timeout: 300ms") { folder in
            let text = try String(contentsOf: folder.appendingPathComponent("pids"), encoding: .utf8)
            let pids = text.split(whereSeparator: \.isWhitespace).compactMap { pid_t($0) }
            #expect(pids.count == 2)
            // SIGKILL has been sent to both, and the kernel has at most to deliver it.
            for pid in pids { while !ProcessTrial.hasEnded(pid) {} }
        }
    }

    @Test func theNextMessageDoesNotWaitForAProgramThatTimedOut() async throws {
        try await ProcessTrial.with(
            "read line; case $line in *slow*) echo $$ > pid; trap '' TERM; while :; do sleep 1000; done;; esac",
            ", timeout: 2s",
            interpreter: "sh",
            use: "exec"
        ) { trial in
            let lines = try await trial.outcomes(of: "slow", "fast")
            #expect(lines[0].contains(#""reason":"timeout""#), "\(lines)")
            // On a busy machine, it may time out as well. It must not be rejected because of the other.
            #expect(!lines[1].contains(#""unavailable""#), "\(lines)")
            // The program ends although the command goes on, unless it had not even begun.
            for pid in (try? trial.numbers(in: "pid")) ?? [] { while !ProcessTrial.hasEnded(pid) {} }
        }
    }

    @Test func noDescriptorReachesAProgram() async throws {
        let finished = try await Self.send("ls /proc/self/fd | tr '\\n' ' '", ", output: text")
        // 3 is the folder that `ls` reads.
        #expect(try Self.outcome(finished)["reply"] as? String == "0 1 2 3 ")
    }

    @Test(arguments: [
        ("command: []", "name a program"), ("command: ls -l", "expected a list"),
        ("command: [7]", "expected text"), ("", "'command' is missing; write the program"),
        ("command: [a], env: [SIGNALBOX_ID]", "expected the name of a variable"),
        ("command: [a], env: ['A=B']", "expected the name of a variable"),
        ("command: [a], output: xml", "'xml' is not an output; expected json, text, none"),
        ("command: [a], max_output: 0", "plugins[0].max_output"), ("command: [a], inline: true", "only 'use:"),
    ])
    func mistakesAreReported(_ keys: String, _ expected: String) throws {
        let text = """
            sources:
              push: { mqtt: { broker: 'mqtt://h', client_id: c, topics: [ { pattern: a } ] } }
            plugins: [ { action: work, use: exec\(keys.isEmpty ? "" : ", \(keys)"), from: push } ]
            """
        let found = #expect(throws: ConfigurationError.self) { try ConfigurationFixture.read(text) }
        #expect(found?.description.contains(expected) == true, "\(String(describing: found))")
    }
}
