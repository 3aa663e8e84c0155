import JSBridge
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ConsoleTests {
    @Test func consoleLinesHaveALevelAndASource() async throws {
        let trial = try PageTrial(
            "console.debug('d'); console.log('l', 1, null); console.info(['i']); console.warn({ w: 1 }); console.error('e');",
            configure: { $0.endsWhenIdle = true }
        )
        try await trial.untilEnd()
        let lines = trial.log.all.filter { $0.hasSuffix("source=page") }
        #expect(
            lines.prefix(5) == [
                "debug d source=page", "info l 1 null source=page", #"info ["i"] source=page"#,
                #"warning {"w":1} source=page"#, "error e source=page",
            ]
        )
    }

    @Test func anyConsoleArgumentsBecomeOneEscapedLine() async throws {
        let trial = try PageTrial(
            #"""
            console.log('a\nb\u001b[31m\u202e\u061c\ufeff\ud800');
            console.log(new Error('boom'));
            console.log(Symbol('s'), undefined, () => 1, 10n, { toString() { throw 1; }, toJSON() { throw 1; } });
            console.log('x'.repeat(100000));
            """#,
            configure: { $0.endsWhenIdle = true }
        )
        try await trial.untilEnd()
        let lines = trial.log.all.filter { $0.hasPrefix("info ") && $0.hasSuffix("source=page") }
        #expect(lines[0] == #"info a\u{a}b\u{1b}[31m\u{202e}\u{61c}\u{feff}"# + "\u{fffd} source=page")
        #expect(lines[1].hasPrefix("info Error: boom (global code@one.js:2:"))
        #expect(lines[2] == "info Symbol(s) undefined () => 1 10 [a value without text] source=page")
        #expect(lines[3].utf8.count <= "info  source=page".utf8.count + 4_096 && lines[3].contains("xxx…"))
    }

    @Test func linesOverTheLimitAreCountedAndReportedOnce() async throws {
        let trial = try PageTrial(
            "for (let i = 0; i < 500; i += 1) console.log('line ' + i);",
            configure: { configuration in
                configuration.consoleLinesPerSecond = 10
                configuration.endsWhenIdle = true
            }
        )
        try await trial.untilEnd()
        let shown = trial.log.all.count { $0.contains("info line ") }
        let withheld = trial.log.all.compactMap { line in
            line.contains("lines of the page's console") ? Int(line.split(separator: " ")[1]) : nil
        }
        #expect(shown >= 10)
        #expect(shown + withheld.reduce(0, +) == 500)
    }

    @Test func consoleFunctionsCanBeBound() async throws {
        let trial = try PageTrial(
            "const log = console.log.bind(console, 'bound'); setTimeout(log, 0, 1);",
            configure: { $0.endsWhenIdle = true }
        )
        try await trial.untilEnd()
        #expect(trial.log.all.contains("info bound 1 source=page"))
    }
}

@Suite(.timeLimit(.minutes(10))) struct ScriptErrorTests {
    @Test(arguments: [
        ("\n  throw new TypeError('boom');", "one.js:2:22: TypeError: boom"),
        ("\nnot a script", "one.js:2: SyntaxError: "),
        ("throw { a: 1 };", #"thrown: {"a":1}"#),
        ("throw 'text\\n';", #"thrown: text\u{a}"#),
        ("throw undefined;", "thrown: undefined"),
        ("throw { toString() { throw 1; }, toJSON() { throw 1; } };", "thrown: [a value without text]"),
        ("setTimeout(() => { throw new Error('late'); });", "one.js:1:35: Error: late"),
        ("queueMicrotask(() => { throw new Error('micro'); });", "Error: micro"),
        ("Promise.reject(new Error('unseen'));", "Error: unseen"),
        ("(async () => { await null; throw new Error('async'); })();", "Error: async"),
        ("signalbox.call('nobody');", "SignalboxError: "),
        ("signalbox.call('report', () => 1);", "SignalboxError: body: function has no JSON form"),
        ("function f() { f(); } f();", "RangeError: Maximum call stack size exceeded."),
        ("import('other.js');", "Could not import the module 'other.js'"),
    ])
    func anErrorIsLoggedAndCountedAndTheNextScriptRuns(script: String, line: String) async throws {
        let trial = try PageTrial(script, "report('next');", configure: { $0.endsWhenIdle = true })
        #expect(try await trial.untilEnd() == [#""next""#])
        #expect(trial.engine.scriptErrors == 1)
        let errors = trial.log.all.filter { $0.hasPrefix("error script error: ") }
        #expect(errors.count == 1)
        #expect(errors.first?.contains(line) == true, "\(errors)")
    }

    @Test func aRejectionHandledInTheSameTurnIsNoError() async throws {
        let trial = try PageTrial(
            "const p = Promise.reject(new Error('seen')); Promise.resolve().then(() => p.catch(() => report(1)));",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == ["1"])
        #expect(trial.engine.scriptErrors == 0)
    }

    @Test func errorsAreCountedEvenIfTheirLinesAreWithheld() async throws {
        let trial = try PageTrial(
            "for (let i = 0; i < 50; i += 1) setTimeout(() => { throw new Error('again'); });",
            configure: { configuration in
                configuration.consoleLinesPerSecond = 5
                configuration.endsWhenIdle = true
            }
        )
        try await trial.untilEnd()
        #expect(trial.engine.scriptErrors == 50)
    }
}
