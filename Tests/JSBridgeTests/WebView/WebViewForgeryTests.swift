import SignalboxCore
import SignalboxTesting
import Testing

@testable import JSBridge

/// What a page makes itself, past bridge.js, and what a process in a stranger's hands sends.
@Suite(.timeLimit(.minutes(10))) struct WebViewForgeryTests {
    private static let forge = """
        const forge = (...lines) =>
          document.dispatchEvent(new CustomEvent('signalbox:up', { detail: lines.join('\\n'), cancelable: true }));
        """

    private static let ignored = [
        "'hello', '', ''", "'full 7', '', ''", "'withheld 7 7', '', ''", "'call 1 0', ''", "'call 1 0', '', '', ''",
        "''",
        "'call 1', '', '{}'", "'call -1 0', '', '{}'", "'call 1 0 5', '', '{}'", "'call 1 NaN', '', '{}'",
        "'call x 0', '', '{}'",
        "'answer 1 returned 2', '', '1'", "'answer 1 laughed', '', '1'", "'warn', '', JSON.stringify('x'.repeat(9000))",
        "'call 1 0', '', '{\\0}'", "'call 1 0', '', '\\ud800'", "'call 1 0', 'x'.repeat(9000), '{}'",
        "'call' + ' '.repeat(200), '', ''",
    ]

    @Test(arguments: ignored) func whatIsNoRecordOfThePageStaysInIt(_ lines: String) async throws {
        let intake = RecordingIntake()
        let trial = try WebViewTrial(intake)
        try await trial.whileRunning(Self.forge + "report(forge(\(lines)) ? 'ignored' : 'heard');") {
            try await trial.evaluate("document.dispatchEvent(new CustomEvent('signalbox:up', { detail: { a: 1 } }));")
            try await trial.evaluate("signalbox.call('last').then(() => report('last'));")
            #expect(await trial.reports.first(2) == ["ignored", "last"])
        }
        #expect(intake.taken.all.count == 1 && trial.counters.value == WebViewCounts())
    }

    @Test func aForgedCallIsACallOfThePage() async throws {
        let intake = RecordingIntake()
        let trial = try WebViewTrial(intake)
        let script = """
            forge('call 900 0', '', '{"action":"a"}'); forge('call 901 0', '"page"', '1'); forge('call 902 0', '"other"', '1');
            forge('call 903 0', 'page', '1'); forge('call 904 0', '', 'no json'); forge('call 904 1e300', '', '{"action":"b"}');
            signalbox.call('last').then(() => report('last'));
            """
        try await trial.whileRunning(Self.forge + script) { #expect(await trial.reports.first(1) == ["last"]) }
        #expect(intake.taken.all.map(\.name) == ["a", "page", "malformed", "malformed", "malformed", "b", "last"])
        #expect(trial.counters.value == WebViewCounts())
    }

    @Test func aPageAnswersAsOftenAsItIsAsked() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        let script = """
            const forgeAll = () => { for (let i = 0; i < 1000; i += 1) forge('answer ' + i + ' returned', '', '"forged"'); };
            forgeAll();
            signalbox.on('ask', (n) => n + 1);
            signalbox.on('forge', () => { forgeAll(); return 1; });
            """
        try await trial.whileRunning(Self.forge + script) {
            let two = try await trial.page.call("ask", 1, returning: Int.self, timeout: .seconds(600))
            #expect(two == 2)
            let error = await #expect(throws: PageCallError.self) {
                try await trial.page.call("forge", 1, timeout: .milliseconds(50))
            }
            #expect(error?.code == .timeout, "the first forged one was of another call, and all others were too many")
            let three = try await trial.page.call("ask", 2, returning: Int.self, timeout: .seconds(600))
            #expect(three == 3)
        }
        #expect(trial.counters.value.malformedTexts == 0)
    }

    @Test func forgedEventsOfTheProgramHarmThePageAlone() async throws {
        let trial = try WebViewTrial(RecordingIntake())
        let script = """
            const tell = (detail) => document.dispatchEvent(new CustomEvent('signalbox:down', { detail }));
            for (const detail of ['no json', '1', 'null', '[1]', '[["nobody"]]', '[["reply",77,"1"]]', '[["refuse",77]]', undefined]) tell(detail);
            signalbox.call('last').then(() => report('last'));
            """
        try await trial.whileRunning(script) {
            _ = await trial.reports.wait { $0.contains("last") }
            try trial.page.send("show", id: nil, body: Bytes("1"))
            try await trial.evaluate("signalbox.on('show', () => report('shown'));")
            _ = await trial.reports.wait { $0.contains("shown") }
        }
    }

    @Test(arguments: [
        "", "garbage", "0123456789abcdef https://evil.example\nhello\n\n", "0123456789abcdef null\nhello\n\n",
        "0123456789abcdef https://app.example\nnothing\n\n", "0123456789abcdef https://app.example\nhello\n",
        "0123456789abcdef https://app.example:443\nhello\n\n",
    ])
    func aTextThatTheBridgeNeverSendsIsCountedAndDropped(_ text: String) async throws {
        let intake = RecordingIntake()
        let trial = try WebViewTrial(intake)
        try await trial.whileRunning {
            trial.run.received(text)
            #expect(trial.counters.value.malformedTexts == 1)
            try await trial.evaluate("signalbox.call('last').then(() => report('last'));")
            #expect(await trial.reports.first(1) == ["last"])
        }
        #expect(trial.log.all.count { $0.contains("sent what the bridge never sends") } == 1)
    }

    @Test func aProcessThatSendsBeyondItsCreditIsNotHeardAndMemoryStaysBounded() async throws {
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake) { $0.messagesInFlight = 3 }
        let header = "0123456789abcdef https://app.example\n"
        try await trial.whileRunning {
            trial.run.received(header + "hello\n\n")
            while trial.run.nextScript() != nil {}
            let calls = (1...10).map { "call \($0) 0 14\n\n{\"action\":\"a\"}" }.joined(separator: "\n")
            for _ in 0..<100 { trial.run.received(header + calls) }
            #expect(intake.taken.all.count == 3)
            #expect(trial.counters.value.malformedTexts == 100)
            for one in intake.taken.all { one.settle() }
        }
    }

    @Test func aTextOfAnUnknownDocumentIsLate() async throws {
        let intake = RecordingIntake()
        let trial = try WebViewTrial(intake)
        try await trial.whileRunning {
            trial.run.received("0123456789abcdef https://app.example\ncall 1 0 14\n\n{\"action\":\"a\"}")
            #expect(trial.counters.value.lateTexts == 1 && intake.taken.all.isEmpty)
        }
    }
}
