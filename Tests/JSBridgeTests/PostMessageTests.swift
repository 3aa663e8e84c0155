import JSBridge
import Signalbox
import SignalboxCore
import Testing

@Suite(.timeLimit(.minutes(10))) struct PostMessageTests {
    @Test func theHandlersNameIsTheActionUnlessTheMessageNamesOne() async throws {
        let trial = try PageTrial(
            """
            const handlers = window.webkit.messageHandlers;
            handlers.report.postMessage('text');
            handlers.report.postMessage({ other: 1 });
            handlers.anything.postMessage({ action: 'report', id: 'x', body: [2] });
            handlers.report.postMessage({ action: 'report' });
            handlers.report.postMessage();
            handlers['report'].postMessage(null);
            """,
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == [#""text""#, #"{"other":1}"#, "[2]", "", "null", "null"])
    }

    @Test func thePromiseSettlesWithTheReplyOrAnError() async throws {
        let trial = try PageTrial(
            """
            const { double, nobody } = webkit.messageHandlers;
            double.postMessage(4).then(report);
            nobody.postMessage(4).catch((error) => report(error.code));
            """,
            configure: { $0.endsWhenIdle = true }
        )
        try trial.supervisor.register("double", as: Int.self, from: .script()) { number, _ in 2 * number }
        #expect(Set(try await trial.untilEnd()) == ["8", #""unknownAction""#])
    }

    @Test func aHandlerWhoseNameIsNoActionNameGivesADeadLetter() async throws {
        let trial = try PageTrial(
            "webkit.messageHandlers['not a name'].postMessage({ a: 1 }).catch((error) => report([error.code, error.outcome]));",
            configure: { $0.endsWhenIdle = true }
        )
        #expect(try await trial.untilEnd() == [#"["malformed","rejected"]"#])
        #expect(trial.supervisor.deadLetters.letters.map(\.original.text) == [#"{"a":1}"#])
    }

    @Test func aFailureNobodyLooksAtIsNoScriptError() async throws {
        let trial = try PageTrial(
            "webkit.messageHandlers.nobody.postMessage(1); signalbox.call('report', 1);",
            configure: { $0.endsWhenIdle = true }
        )
        try await trial.untilEnd()
        #expect(trial.engine.scriptErrors == 0)
        #expect(trial.supervisor.report.total.rejected == 1)
    }
}
