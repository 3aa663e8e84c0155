import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

/// Messages and calls from the program to a page.
@Suite(.timeLimit(.minutes(10))) struct WebViewToPageTests {
    @Test func aListenerReceivesMessagesInOrder() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        try await trial.whileRunning("signalbox.on('show', (body, info) => report([body, info]));") {
            try trial.page.send("show", id: ActionID("mine"), body: Bytes(#"{"card":"a'\n\\b"}"#))
            try trial.page.send("show", id: nil, body: Bytes(" [1,\n\t2] "))
            #expect(
                await trial.reports.first(2) == [
                    #"[{"card":"a'\n\\b"},{"action":"show","id":"mine"}]"#, #"[[1,2],{"action":"show"}]"#,
                ]
            )
        }
    }

    @Test func messagesSentBeforeThePageLoadsWait() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        try trial.page.send("show", id: nil, body: Bytes("1"))
        let page = trial.page
        let call = Task { try await page.call("ask", 20, returning: Int.self, timeout: .seconds(600)) }
        try await trial.whileRunning("signalbox.on('show', report); signalbox.on('ask', (n) => n + 1);") {
            #expect(await trial.reports.first(1) == ["1"])
            let answer = try await call.value
            #expect(answer == 21)
        }
    }

    @Test func aListenersResultAnswersTheCall() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        let script = """
            signalbox.on('later', async (n) => n * 2); signalbox.on('nothing', () => {}); signalbox.on('text', () => '\\ud800');
            signalbox.on('throws', () => { throw new Error('no\\n\\ud800'); }); signalbox.on('function', () => () => 1);
            signalbox.on('long', () => 'x'.repeat(70000)); signalbox.on('é', () => ['é', '😀', "'"]);
            """
        try await trial.whileRunning(script) {
            let page = trial.page
            func call(_ action: ActionName) async -> PageCallError? {
                do throws(PageCallError) {
                    _ = try await page.call(action, 1, returning: Int.self, timeout: .seconds(600))
                    return nil
                } catch {
                    return error
                }
            }
            #expect(try await page.call("later", 4, returning: Int.self, timeout: .seconds(600)) == 8)
            try await page.call("nothing", 1, timeout: .seconds(600))
            #expect(await call("nothing")?.code == .invalidReply, "a missing value is not a number")
            #expect(await call("throws") == PageCallError(.threw, "Error: no\n\u{FFFD}"))
            #expect(await call("function")?.code == .invalidReply)
            #expect(await call("text")?.code == .invalidReply)
            #expect(await call("long") == PageCallError(.invalidReply, "the answer has more than 65536 bytes"))
        }
        #expect(trial.counters.value == WebViewCounts())
    }

    @Test func aThrowingListenerDoesNotAffectOthers() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        try await trial.whileRunning("signalbox.on('a', () => { throw new Error('bad'); }); signalbox.on('b', report);")
        {
            for _ in 0..<2 {
                try trial.page.send("a", id: nil, body: Bytes("1"))
                try trial.page.send("b", id: nil, body: Bytes("2"))
            }
            #expect(await trial.reports.first(2) == ["2", "2"])
            _ = await trial.log.line(containing: "script error: bad (https://app.example/a.js:3:4)", times: 2)
        }
        #expect(trial.counters.value.scriptErrors == 2)
        #expect(!trial.log.all.contains { $0.contains("secret") })
    }

    @Test func scriptErrorsAreCountedAndLoggedUpToTheBound() async throws {
        let trial = try WebViewTrial(RecordingIntake()) { $0.consoleLinesPerSecond = 2 }
        let script = """
            Promise.reject(new TypeError('a\\u001b[31m\\nb')); Promise.reject('why'); Promise.reject({ toString() { throw 1; } });
            setTimeout(() => { for (let i = 0; i < 5; i += 1) fake.failed('error ' + i); }, 0);
            """
        try await trial.whileRunning(script) {
            try await trial.view.fireTimers()
            _ = await trial.log.line(containing: "lines of the page's console were withheld")
        }
        let shown = trial.log.all.filter { $0.contains("script error") }
        #expect(shown.count == 2 && trial.counters.value.scriptErrors == 8)
        #expect(
            trial.log.all.contains { $0.hasPrefix("warning 6 lines of the page's console were withheld") },
            "\(trial.log.all)"
        )
        #expect(!shown.joined().contains("\u{1b}"))
    }

    @Test func theDocumentsTitleIsUsedOnlyIfConfigured() async throws {
        for overrides in [false, true] {
            let configuration = try WebViewConfiguration.testing(title: "Shop", overridesTitle: overrides)
            let trial = try WebViewTrial(RecordingIntake(), configuration: configuration)
            #expect(trial.page.title == "Shop")
            try await trial.whileRunning {
                trial.run.titleChanged("Cards")
                #expect(trial.page.title == (overrides ? "Cards" : "Shop"))
                trial.run.titleChanged(String(repeating: "é", count: 5_000))
                #expect(trial.page.title?.count == (overrides ? 1_000 : 4))
                for none in [nil, ""] {
                    trial.run.titleChanged(none)
                    #expect(trial.page.title == "Shop")
                }
                trial.run.titleChanged("Cards")
            }
            #expect(trial.page.title == "Shop")
        }
    }
}
