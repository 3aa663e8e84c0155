import BrokerKit
import Foundation
import SignalboxCore
import Testing

@testable import SignalboxCommand

#if os(Linux)
/// Programs that handle many actions.
@Suite(.timeLimit(.minutes(10))) struct ProcessTests {
    // MARK: - Answers

    @Test func anAnswerIsTheOutcome() async throws {
        let program = """
            import sys
            from signalbox import *

            @action("work")
            def work(body, context):
                print("this goes to stderr")
                if body["text"] == "retry": raise Retry("not now")
                if body["text"] == "invalid": raise Invalid("body.text", "expected another text")
                if body["text"] == "fail": raise ValueError("no such thing")
                return {"attempt": context.attempt, "source": context.origin["source"]}

            run()
            """
        try await ProcessTrial.with(program, ", retry: { attempts: 2, first_delay: 1ms, longest_delay: 1ms }") {
            trial in
            let lines = try await trial.outcomes(of: "good", "retry", "invalid", "fail")
            for (line, expected) in zip(
                lines,
                [
                    #""outcome":"handled""#, #""reason":"threw","detail":"not now""#,
                    #""reason":"invalidBody","detail":"declined: body.text: expected another text""#,
                    #""reason":"threw","detail":"ValueError: no such thing""#,
                ]
            ) { #expect(line.contains(expected), "\(line)") }
            #expect(lines[1].contains("2 of at most 2"), "\(lines[1])")
            #expect(lines[3].contains("1 of at most 2"), "\(lines[3])")
            #expect(trial.process.errors.lines.contains { $0.contains("stderr: this goes to stderr program=python3") })
        }
    }

    @Test func aProcessReceivesTheFactsAndItsReplyIsSent() async throws {
        try await TemporaryFolder.with { folder in
            try ProcessTrial.copySDK(to: folder)
            try """
            import os
            from signalbox import *

            @action("work")
            def work(body, context):
                names = [os.environ.get("KEPT"), os.environ.get("HIDDEN")]
                return [body, context.id, context.attempt, context.origin, context.redelivered, names, os.getcwd()]

            run()
            """.write(to: folder.appendingPathComponent("program.py"), atomically: true, encoding: .utf8)
            try ProcessTrial.write(ProcessTrial.configuration(", env: [KEPT]"), in: folder)
            let finished = try await CommandProcess.run(
                ["send", "\(folder.path)/c.yaml", "work", "--id", "i-7", "--body", #"{"n":1.50,"t":"a\nb"}"#],
                environment: ["KEPT": "kept", "HIDDEN": "canary"]
            )
            let reply = #""reply":[{"n":1.5,"t":"a\nb"},"i-7",1,{"source":"internal"},false,["kept",null],"#
            #expect(finished.output.first?.contains(reply) == true, "\(finished)")
            // Not the folder of the command.
            #expect(finished.output.first?.contains(folder.lastPathComponent) == true, "\(finished)")
        }
    }

    @Test func oddLinesAreReportedAndEndNothing() async throws {
        let program = """
            import json, sys

            for line in sys.stdin:
                call = json.loads(line)
                if "id" not in call: continue
                text, id = call["body"]["text"], call["id"]
                print({
                    "garbage": "Starting\\n\\n[1]\\n{\\"id\\":\\"7\\"}\\n{\\"id\\":99999}",
                    "long": json.dumps({"id": id, "reply": "a" * 3000}),
                    "odd": json.dumps({"id": id, "error": "text"}),
                    "send": json.dumps({"send": {"action": "no such name!"}}),
                }.get(text, ""))
                if text not in ("long", "odd"): print(json.dumps({"id": id, "reply": text}))
                sys.stdout.flush()
            """
        try await ProcessTrial.with(program, ", max_output: 1KiB") { trial in
            let lines = try await trial.outcomes(of: "garbage", "long", "odd", "send", "good")
            for (line, expected) in zip(
                lines,
                [
                    #""handled""#, "the answer cannot be used: it is larger than 'max_output', 1024 bytes",
                    "the answer cannot be used: its error has another form", #""handled""#, #""handled""#,
                ]
            ) { #expect(line.contains(expected), "\(line)") }
            // The lines about stdout may come after the outcomes.
            let ignored = "ignored a line of the process on stdout: it is not a JSON object"
            try await trial.process.errors.untilLine(containing: ignored)
            let name = "the name of the action that it sends is not valid"
            try await trial.process.errors.untilLine(containing: name)
        }
    }

    @Test func callsOverlapAsFarAsTheyMay() async throws {
        // Each call waits until all three have begun: two in one process and one in the other, or the other way round.
        let program = """
            import os
            from signalbox import *

            @action("work")
            def work(body, context):
                open(f"begun-{body['text']}", "w").write(str(os.getpid()))
                while sum(name.startswith("begun-") for name in os.listdir(".")) < 3: os.sched_yield()

            run(threads=2)
            """
        try await ProcessTrial.with(program, ", processes: 2, max_concurrent: 2, order: none, timeout: 60s") { trial in
            let lines = try await trial.outcomes(of: "1", "2", "3")
            #expect(lines.allSatisfy { $0.contains(#""handled""#) }, "\(lines)")
            let pids = try (1...3).flatMap { try trial.numbers(in: "begun-\($0)") }
            #expect(Set(pids).count == 2)
        }
    }

    // MARK: - Ends

    @Test func aCallWhoseProcessEndsIsRetriedOrADeadLetter() async throws {
        let program = """
            import os, signal
            from signalbox import *

            @action("work")
            def work(body, context):
                if context.attempt == 1: os.kill(os.getpid(), signal.SIGKILL)

            run()
            """
        try await ProcessTrial.with(program, ", retry: { attempts: 2, first_delay: 1ms }") { trial in
            let lines = try await trial.outcomes(of: "a", "b")
            #expect(lines.allSatisfy { $0.contains(#""handled""#) }, "\(lines)")
            let errors = trial.process.errors.lines
            #expect(
                errors.contains { $0.contains("a signal ended the process: Killed; 1 call failed with it") },
                "\(errors)"
            )
        }
        try await ProcessTrial.with(program) { trial in
            let line = try await trial.outcomes(of: "a")[0]
            #expect(line.contains(#""detail":"a signal ended the process: Killed""#), "\(line)")
            #expect(line.contains(#""deadLetter":"app://work/a""#), "\(line)")
        }
    }

    @Test func aProcessThatSpinsIsEndedWithTheCallThatTimesOut() async throws {
        let program = """
            from signalbox import *

            @action("work")
            def work(body, context):
                while body["text"] == "spin": pass

            run()
            """
        try await ProcessTrial.with(program, ", timeout: 300ms, start_limit: 60s") { trial in
            let spun = try await trial.outcomes(of: "spin")[0]
            #expect(spun.contains(#""reason":"timeout""#), "\(spun)")
            let line = await trial.process.errors.line(with: "the process was ended: it did not answer in time")
            #expect(line != nil)
            // The next process may need longer to start than a call may take, and is given that time.
            var last = ""
            repeat { last = try await trial.outcomes(of: "go")[0] } while !last.contains(#""handled""#)
        }
    }

    @Test func aProcessThatDoesNotReadIsEnded() async throws {
        // Larger than the pipe, together. The process is not silent.
        let program = """
            while :; do echo '{"pong":1}'; done
            """
        let padding = String(repeating: "a", count: 50_000)
        let keys = ", timeout: 2s, order: none, max_concurrent: 100"
        try await ProcessTrial.with(program, keys, interpreter: "sh") { trial in
            for number in 0..<40 { try trial.process.type("app://work/\(padding)\(number)") }
            #expect(await trial.process.errors.line(with: "or did not read its stdin") != nil)
        }
    }

    @Test func aProcessWithoutASignOfLifeIsEnded() async throws {
        let program = """
            import os, signal, sys

            pings = 0
            print('{"ready":true}', flush=True)
            for line in sys.stdin:
                if '"ping"' in line:
                    pings += 1
                    if pings < 3: print('{"pong":1}', flush=True)
                    else: os.kill(os.getpid(), signal.SIGSTOP)
                else:
                    print('{"id":1,"reply":%d}' % pings, flush=True)
            """
        try await ProcessTrial.with(program, ", heartbeat: 100ms, restart: { first_delay: 1ms, longest_delay: 5ms }") {
            trial in
            for _ in 0..<2 {
                let line = await trial.process.errors.line(with: "it gave no sign of life within 0.1 seconds")
                #expect(line != nil)
            }
        }
    }

    @Test func aProcessThatTakesTooLongToStartIsStartedAgain() async throws {
        let program = """
            if ! [ -e started ]; then touch started; sleep 1000; fi
            echo '{"ready":true}'
            read line
            echo '{"id":1,"reply":null}'
            read line
            """
        let keys = ", start_limit: 5s, restart: { first_delay: 1ms, longest_delay: 1ms }"
        try await ProcessTrial.with(program, keys, interpreter: "sh") { trial in
            let line = await trial.process.errors.line(with: "it wrote nothing within 'start_limit', 5.0 seconds")
            #expect(line != nil)
            let outcome = try await trial.outcomes(of: "a")[0]
            #expect(outcome.contains(#""handled""#), "\(outcome)")
        }
    }

    @Test func noProcessOfTheGroupIsLeft() async throws {
        let program = """
            import os, signal, subprocess
            from signalbox import *

            signal.signal(signal.SIGTERM, signal.SIG_IGN)

            @action("work")
            def work(body, context):
                child = subprocess.Popen(["sleep", "1000"])
                with open("pids", "w") as file: file.write(f"{os.getpid()} {child.pid}")

            run()
            signal.pause()
            """
        var pids: [pid_t] = []
        try await ProcessTrial.with(program, rest: "drain_limit: 200ms") { trial in
            _ = try await trial.outcomes(of: "a")
            pids = try trial.numbers(in: "pids")
        }
        #expect(pids.count == 2)
        // SIGKILL has been sent to both, and the kernel has at most to deliver it.
        for pid in pids { while !ProcessTrial.hasEnded(pid) {} }
    }

    @Test func processesThatEndAgainAndAgainLeaveNothingBehind() async throws {
        let program = #"read line && echo '{"id":1,"reply":null}'"#
        let keys = ", restart: { first_delay: 1ms, longest_delay: 1ms }, retry: { attempts: 5, first_delay: 1ms }"
        try await ProcessTrial.with(program, keys, interpreter: "sh") { trial in
            for number in 0..<5 { _ = try await trial.outcomes(of: "\(number)") }
            let before = try trial.descriptors()
            for number in 0..<30 {
                let line = try await trial.outcomes(of: "\(number)")[0]
                #expect(line.contains(#""handled""#), "\(line)")
            }
            // The process that runs, perhaps one that is being reaped, and the descriptors of both.
            #expect(try trial.descriptors() <= before + 12)
            #expect(try trial.children().count <= 2)
        }
    }

    @Test func aProgramThatCannotStartIsReportedAndTriedAgain() async throws {
        let configuration = ProcessTrial.configuration(", timeout: 200ms")
            .replacing("[python3, ./program.py]", with: "[./missing]")
        try await TemporaryFolder.with { folder in
            try ProcessTrial.write(configuration, in: folder)
            let process = try CommandProcess(["run", "c.yaml", "--outcomes"], folder: folder, isTyped: true)
            for _ in 0..<2 { #expect(await process.errors.line(with: "there is no such program") != nil) }
            try process.type("app://work/a")
            #expect(await process.output.line(with: #""reason":"timeout""#) != nil)
            process.signal(SIGTERM)
            _ = await process.status()
        }
    }

    // MARK: - stderr

    @Test func linesOnStderrAreLoggedWithinLimits() async throws {
        let program = """
            import sys
            from signalbox import *

            @action("work")
            def work(body, context):
                if body["text"] == "many":
                    for number in range(2000): print("line", number, "\\x1b[31m", file=sys.stderr)
                    print("x" * 10000, file=sys.stderr)

            run()
            """
        try await ProcessTrial.with(program) { trial in
            _ = try await trial.outcomes(of: "many")
            _ = try await trial.summary()
            let lines = trial.process.errors.lines.filter { $0.contains("stderr: ") }
            #expect((1...ProcessReader.linesInTenSeconds * 3).contains(lines.count), "\(lines.count)")
            #expect(lines.allSatisfy { !$0.contains("\u{1B}") && $0.utf8.count < 5_000 })
        }
    }

    // MARK: - Unasked actions

    @Test func actionsThatAProcessSendsAreAllHandled() async throws {
        // Five times the window, faster than they are printed.
        let program = """
            from signalbox import *

            @action("work")
            def work(body, context):
                for number in range(5000): send("told", number, id=f"t-{number}")
                send("unknown")
                return "sent"

            run()
            """
        try await ProcessTrial.with(program, ", timeout: 5m", arguments: []) { trial in
            try trial.process.type("app://work/a")
            // Of a drain, the limit would be too short on a busy machine.
            _ = await trial.process.output.line(with: #""id":"t-4999""#)
            try trial.process.closeInput()
            _ = await trial.process.output.rest()
            let lines = trial.process.output.lines
            #expect(lines.count == 5_000)
            let ids = (0..<5_000).map { #""action":"told","id":"t-\#($0)""# }
            #expect(zip(lines, ids).allSatisfy { $0.contains($1) }, "in the order in which they were sent")
            let last = await trial.process.errors.rest().last
            #expect(
                last?.hasPrefix("signalbox: handled 5001, rejected 1, failed 0") == true,
                "\(String(describing: last))"
            )
        }
    }

    @Test func anActionMayGoToTheProcessThatSentIt() async throws {
        let program = """
            from signalbox import *

            @action("work")
            def work(body, context):
                left = int(body["text"])
                if left: send("work", {"text": str(left - 1)})
                else: send("told", "done")

            run()
            """
        try await ProcessTrial.with(program, arguments: []) { trial in
            try trial.process.type("app://work/50")
            #expect(await trial.process.output.line(with: #""body":"done""#) != nil)
            #expect(try await trial.summary().contains("handled 52, "))
        }
    }

    // MARK: - Configurations

    @Test func aReloadKeepsProcessesThatPluginsStillUse() async throws {
        let program = """
            import os, sys
            from signalbox import *

            @action("work")
            @action("more")
            def work(body, context):
                send("told", [os.getpid(), sys.argv[1:]])

            run()
            """
        func rest(_ command: String) -> String {
            "  - { action: more, use: process, command: \(command), from: links }"
        }
        let same = rest("[python3, ./program.py]")
        try await ProcessTrial.with(program, rest: same, arguments: []) { trial in
            func pid(_ action: String) async throws -> Substring {
                try trial.process.type("app://\(action)/a")
                let line = try #require(await trial.process.output.line(with: #""told""#))
                return line.split(separator: #""body":["#)[1].prefix { $0.isNumber }
            }
            let first = try await pid("work")
            // Plugins with the same settings share a process.
            #expect(try await pid("more") == first)
            try ProcessTrial.write(
                ProcessTrial.configuration(rest: rest("[python3, ./program.py, new]")),
                in: trial.folder
            )
            trial.process.signal(SIGHUP)
            try #require(await trial.process.errors.line(with: "configuration reloaded") != nil)
            #expect(try await pid("work") == first)
            let second = try await pid("more")
            #expect(second != first)
            try ProcessTrial.write(ProcessTrial.configuration(rest: same), in: trial.folder)
            trial.process.signal(SIGHUP)
            try #require(await trial.process.errors.line(with: "configuration reloaded") != nil)
            #expect(try await pid("more") == first)
            let replaced = try #require(pid_t(second))
            while !ProcessTrial.hasEnded(replaced) {}
        }
    }

    @Test(arguments: [
        ("", "'command' is missing; write the program"), ("command: []", "name a program"),
        ("command: [a], processes: 0", "plugins[0].processes"),
        ("command: [a], output: json", "only 'use: exec, http'"),
        ("command: [a], restart: { first_delay: 2s, longest_delay: 1s }", "expected at least 'first_delay'"),
        ("command: [a], heartbeat: 1ms", "plugins[0].heartbeat"), ("command: [a], inline: true", "only 'use:"),
    ])
    func mistakesAreReported(_ keys: String, _ expected: String) throws {
        let text = """
            sources:
              push: { mqtt: { broker: 'mqtt://h', client_id: c, topics: [ { pattern: a } ] } }
            plugins: [ { action: work, use: process\(keys.isEmpty ? "" : ", \(keys)"), from: push } ]
            """
        let found = #expect(throws: ConfigurationError.self) { try ConfigurationFixture.read(text) }
        #expect(found?.description.contains(expected) == true, "\(String(describing: found))")
    }
}

/// The libraries for plugins in other languages, with their examples.
@Suite(.timeLimit(.minutes(10))) struct PluginLibraryTests {
    /// Whether the interpreter of a language is there.
    private static func has(_ interpreter: String) -> Bool {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(interpreter)") }
    }

    private static let languages = [("python", "python3"), ("node", "node")].filter { has($0.1) }.map(\.0)

    @Test(arguments: languages) func anExampleHandlesOrders(_ language: String) async throws {
        try await TemporaryFolder.with { folder in
            let copy = folder.appendingPathComponent(language)
            try FileManager.default.copyItem(
                atPath: "\(ProcessTrial.root)/examples/plugins/\(language)",
                toPath: copy.path
            )
            let text = language == "python" ? "text" : "string"
            for (body, expected) in [
                (#"{"item":"tea","count":2}"#, #""outcome":"handled","reply":{"ordered":2,"item":"tea"}"#),
                (#"{"item":"coffee"}"#, #""reply":{"ordered":1,"item":"coffee"}"#),
                (#"{"item":7}"#, "declined: body.item: expected \(text)"),
                (#"{"item":"tea","count":"2"}"#, "declined: body.count: expected "),
                (#"{}"#, "declined: body.item: is missing"), ("[]", "declined: body: expected an object"),
                (#"{"item":"salt"}"#, "declined: body.item: there is no such item"),
                (#"{"item":"tea","count":99}"#, "wait until there is more tea"),
            ] {
                let finished = try await CommandProcess.run(
                    ["send", "signalbox.yaml", "order", "--body", body],
                    folder: copy
                )
                #expect(finished.output.first?.contains(expected) == true, "\(body): \(finished)")
            }
            let running = try CommandProcess(["run", "signalbox.yaml"], folder: copy, isTyped: true)
            try running.type("app://order/tea\napp://order/salt")
            // At the end of the input the program would refuse what the process still sends.
            _ = try #require(await running.output.line(with: #""body":{"item":"tea","left":39}"#))
            _ = try #require(await running.errors.line(with: "there is no such item"))
            try running.closeInput()
            let errors = await running.errors.rest()
            #expect(errors.last?.hasPrefix("signalbox: handled 2, rejected 1, failed 0") == true, "\(errors)")
            #expect(running.output.lines.count == 1)
            _ = await running.status()
        }
    }
}
#endif
