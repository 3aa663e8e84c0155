import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

/// Messages that a page makes without bridge.js, and messages of a compromised process.
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

    @Test(arguments: ignored) func invalidRecordsNeverLeaveThePage(_ lines: String) async throws {
        let intake = RecordingIntake()
        let trial = try WebViewTrial(intake)
        try await trial.whileRunning(Self.forge + "report(forge(\(lines)) ? 'ignored' : 'heard');") {
            try await trial.evaluate("document.dispatchEvent(new CustomEvent('signalbox:up', { detail: { a: 1 } }));")
            try await trial.evaluate("signalbox.call('last').then(() => report('last'));")
            #expect(await trial.reports.first(2) == ["ignored", "last"])
        }
        #expect(intake.taken.all.count == 1 && trial.counters.value == WebViewCounts())
    }

    @Test func aForgedCallCountsAsACallOfThePage() async throws {
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

    @Test func aPageAnswersEachCallOnce() async throws {
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
            #expect(error?.code == .timeout, "only the first answer of a listener counts, and it names another call")
            let three = try await trial.page.call("ask", 2, returning: Int.self, timeout: .seconds(600))
            #expect(three == 3)
        }
        #expect(trial.counters.value.malformedTexts == 0)
    }

    @Test func forgedProgramEventsHarmOnlyThePage() async throws {
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
    func malformedTextsAreCountedAndDropped(_ text: String) async throws {
        let intake = RecordingIntake()
        let trial = try WebViewTrial(intake)
        try await trial.whileRunning {
            trial.run.received(text)
            #expect(trial.counters.value.malformedTexts == 1)
            try await trial.evaluate("signalbox.call('last').then(() => report('last'));")
            #expect(await trial.reports.first(1) == ["last"])
        }
        #expect(trial.log.all.count { $0.contains("sent a message that the bridge never sends") } == 1)
    }

    @Test func messagesBeyondTheCreditAreDropped() async throws {
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

    @Test func aTextOfAnUnknownDocumentCountsAsLate() async throws {
        let intake = RecordingIntake()
        let trial = try WebViewTrial(intake)
        try await trial.whileRunning {
            trial.run.received("0123456789abcdef https://app.example\ncall 1 0 14\n\n{\"action\":\"a\"}")
            #expect(trial.counters.value.lateTexts == 1 && intake.taken.all.isEmpty)
        }
    }
}

@Suite struct RelayReaderTests {
    private static let header = "0123456789abcdef https://app.example"

    private struct Reading {
        var token = ""
        var origin = ""
        var records: [RelayRecord] = []
        var error: RelayTextError?
    }

    private func read(_ text: String) -> Reading {
        var reading = Reading()
        Array(text.utf8).withUnsafeBytes { bytes in
            var reader = RelayReader(bytes)
            do throws(RelayTextError) {
                (reading.token, reading.origin) = try reader.header()
                while let record = try reader.record() { reading.records.append(record) }
            } catch {
                reading.error = error
            }
        }
        return reading
    }

    @Test func everyKindOfRecordIsRead() {
        let text = """
            \(Self.header)
            hello


            call 7 1.5e+3 12
            "page"
            {"a":"é\r"}
            call 9007199254740991 0 0


            answer 1 returned


            answer 2 threw

            "why"
            warn

            "a"
            error

            "b"
            full 3


            withheld 5 2


            """
        let reading = read(text)
        #expect(reading.error == nil)
        #expect(reading.token == "0123456789abcdef" && reading.origin == "https://app.example")
        let bytes = Array(text.utf8)
        func content(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        let shown = reading.records.map { record -> String in
            switch record {
            case .hello: "hello"
            case .call(let call):
                "call \(call.number) \(call.timeout) \(call.units) \(content(call.handler)) \(content(call.json))"
            case .answer(let number, let kind, let text): "answer \(number) \(kind) \(content(text))"
            case .warn(let text): "warn \(content(text))"
            case .error(let text): "error \(content(text))"
            case .full(let count): "full \(count)"
            case .withheld(let lines, let errors): "withheld \(lines) \(errors)"
            }
        }
        #expect(
            shown == [
                "hello", "call 7 1500.0 12 \"page\" {\"a\":\"é\r\"}", "call 9007199254740991 0.0 0  ",
                "answer 1 returned ", "answer 2 threw \"why\"", "warn \"a\"", "error \"b\"", "full 3", "withheld 5 2",
            ]
        )
    }

    @Test func aTextWithOnlyAHeaderHasNoRecords() {
        #expect(read(Self.header).records.isEmpty && read(Self.header).error == nil)
    }

    @Test(arguments: [
        "", "\n", " ", "0123456789abcdef", "0123456789abcdef ", "0123456789abcdef  https://a",
        "0123456789ABCDEF https://a",
        "0123456789abcde https://a", "0123456789abcdef0 https://a", "0123456789abcdeg https://a",
        " 0123456789abcdef https://a", "0123456789abcdef https://a b", "0123456789abcdef https://ä",
        "0123456789abcdef\thttps://a", "0123456789abcdef https://a\0",
        "0123456789abcdef \(String(repeating: "a", count: 600))",
    ])
    func aTextWithoutTokenAndOriginIsRefused(_ text: String) {
        let reading = read(text)
        #expect(reading.error?.line == 1 || text == "0123456789abcdef ", "\(text)")
        #expect(reading.records.isEmpty)
    }

    @Test(arguments: [
        ("", 2), ("\n", 3), ("hello", 2), ("hello\n", 3), ("call 1 0 0\n\"page\"", 3), ("nothing\n\n", 2),
        ("hello 1\n\n", 2),
        ("hello\nx\n", 2), ("hello\n\nx", 2), ("Hello\n\n", 2), ("hello \n\n", 2), ("call\n\n", 2), ("call 1\n\n", 2),
        ("call 1 0\n\n", 2), ("call 1 0 0 0\n\n", 2), ("call  1 0 0\n\n", 2), ("call -1 0 0\n\n", 2),
        ("call +1 0 0\n\n", 2),
        ("call 1.0 0 0\n\n", 2), ("call 12345678901234567 0 0\n\n", 2), ("call x 0 0\n\n", 2), ("call 1 x 0\n\n", 2),
        ("call 1 -1 0\n\n", 2), ("call 1 nan 0\n\n", 2), ("call 1 inf 0\n\n", 2), ("call 1 1e999 0\n\n", 2),
        ("call 1 0x10 0\n\n", 2), ("call 1 .5 0\n\n", 2), ("call 1 1e 0\n\n", 2), ("call 1 0 x\n\n", 2),
        ("call 1 0 -1\n\n", 2), ("answer 1\n\n", 2), ("answer 1 laughed\n\n", 2), ("answer x threw\n\n", 2),
        ("answer 1 threw\nx\n", 2), ("answer 1 threw 1\n\n", 2), ("warn\nx\n", 2), ("warn 1\n\n", 2), ("error\nx\n", 2),
        ("full\n\n", 2), ("full x\n\n", 2), ("full 1 2\n\n", 2), ("full 1\nx\n", 2), ("full 1\n\nx", 2),
        ("withheld 1\n\n", 2),
        ("withheld 1 x\n\n", 2), ("call 1 0 0\u{a0}\n\n", 2), ("hello\0\n\n", 2), ("hello\r\n\n", 2),
        ("full \(String(repeating: "1", count: 200))\n\n", 2),
    ])
    func invalidRecordsAreRefusedWithTheirLine(_ record: String, line: Int) {
        let reading = read(Self.header + "\n" + record)
        #expect(reading.error?.line == line, "\(record): \(String(describing: reading.error))")
        let good = Self.header + "\nfull 1\n\n\n"
        #expect(read(good + record).records == [.full(1)])
        #expect(read(good + record).error?.line == line + 3)
    }

    @Test(arguments: 0..<200) func arbitraryTextsAreReadOrRefused(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let pieces = [
            "\n", " ", "call", "answer", "1", "hello", "\"", "0123456789abcdef", "https://a", "é", "\0", "full", "e",
            "-",
        ]
        var text = Bool.random(using: &random) ? Self.header + "\n" : ""
        for _ in 0..<Int.random(in: 0..<60, using: &random) { text += pieces.randomElement(using: &random) ?? "" }
        let reading = read(text)
        #expect(
            reading.error != nil || reading.records.count * 3 + 1 == text.utf8.count { $0 == UInt8(ascii: "\n") } + 1
        )
    }

    @Test(arguments: ["", "a", "é", "€", "😀", "a😀é€\n", "\u{FFFF}\u{10000}"])
    func unitsAreCountedAsInJavaScript(_ text: String) {
        #expect(Array(text.utf8).withUnsafeBytes { $0.utf16Length } == text.utf16.count)
    }
}
