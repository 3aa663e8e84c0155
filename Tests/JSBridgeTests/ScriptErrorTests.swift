import JSBridge
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

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

    @Test func aRejectionThatSomebodyLooksAtInTheSameTurnIsNoError() async throws {
        let trial = try PageTrial(
            "const p = Promise.reject(new Error('seen')); Promise.resolve().then(() => p.catch(() => report(1)));",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == ["1"])
        #expect(trial.engine.scriptErrors == 0)
    }

    @Test func errorsAreCountedAlsoWhenTheirLinesAreNotShown() async throws {
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
