import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import JSBridge

/// Messages of a page through relay.js, page.js and bridge.js, and their outcomes.
@Suite(.timeLimit(.minutes(10))) struct WebViewCallTests {
    /// Returns an intake that replies with the body, as JSON.
    private static func echo() -> RecordingIntake {
        RecordingIntake { taken in
            guard case .success(let action) = taken.arrival.reading else {
                guard case .failure(let rejection) = taken.arrival.reading else { return }
                return taken.settle(.rejected(rejection))
            }
            taken.settle(.handled(reply: action.body.json))
        }
    }

    @Test(arguments: [false, true]) func aCallIsAnswered(isWebKitFixed: Bool) async throws {
        let intake = Self.echo()
        let trial = try WebViewTrial(intake, isWebKitFixed: isWebKitFixed)
        try await trial.whileRunning(
            "signalbox.call('add', { a: [1, 'é'] }, { id: 'mine', timeout: 36e5 }).then(report);"
        ) {
            #expect(await trial.reports.first(1) == [#"{"a":[1,"é"]}"#])
        }
        let arrival = try #require(intake.taken.all.first?.arrival)
        #expect(intake.taken.all.first?.text == #"{"action":"add","id":"mine","body":{"a":[1,"é"]}}"#)
        let facts = try #require(arrival.origin.facts as? ScriptFacts)
        #expect(facts.engine == "Test" && facts.isMainFrame == .yes)
        #expect(facts.origin?.description == "https://app.example")
        #expect(arrival.origin.source == "page" && arrival.sender as? PageHandle === trial.page)
        let action = try arrival.reading.get()
        #expect(action.name == "add" && action.id.text == "mine")
        let left = try #require(action.deadline) - .now
        #expect(left > .seconds(60) && left <= .seconds(3_600))
        #expect(trial.counters.value == WebViewCounts())
    }

    @Test func aPageOfAnotherListedOriginHasThatOrigin() async throws {
        let intake = Self.echo()
        let trial = try WebViewTrial(intake)
        try await trial.whileRunning {
            try await trial.load("signalbox.call('add', 1).then(report)", origin: "https://other.example:8443")
            #expect(await trial.reports.first(1) == ["1"])
        }
        let facts = intake.taken.all.first?.arrival.origin.facts as? ScriptFacts
        #expect(facts?.origin?.description == "https://other.example:8443")
    }

    @Test func aPageOfAnUnlistedOriginHasNoBridge() async throws {
        let trial = try WebViewTrial(Self.echo())
        try await trial.whileRunning {
            try await trial.load("report(typeof signalbox + typeof signalboxRelay)", isOpaque: true)
            for origin in ["https://evil.example", "https://app.example:444", "http://app.example", "null", ""] {
                try await trial.load("report(typeof signalbox + typeof signalboxRelay)", origin: origin)
                try await trial.evaluate("report(webkit.messageHandlers.page)")
            }
        }
        #expect(Set(trial.reports.all) == ["undefinedundefined", "raw"])
        #expect(trial.counters.value.malformedTexts == 0)
    }

    @Test(arguments: [false, true]) func thePageHasExactlyTheConfiguredHandlers(isWebKitFixed: Bool)
        async throws
    {
        let intake = Self.echo()
        let trial = try WebViewTrial(intake, isWebKitFixed: isWebKitFixed)
        let script = """
            'use strict';
            const { messageHandlers } = window.webkit;
            const refuses = (change) => { try { change(); return false; } catch { return true; } };
            report([
              Object.keys(messageHandlers), messageHandlers.other === undefined, 'toString' in messageHandlers,
              refuses(() => { messageHandlers.page = 1; }), refuses(() => { messageHandlers.more = 1; }),
              refuses(() => { messageHandlers.page.postMessage = 1; }), refuses(() => { webkit.messageHandlers = {}; }),
              refuses(() => { signalbox.call = 1; }),
            ]);
            messageHandlers.page.postMessage('Close').then(report);
            messageHandlers.user.postMessage({ a: 1 }).then(report);
            messageHandlers.user.postMessage().then(report);
            """
        try await trial.whileRunning(script) {
            #expect(
                await trial.reports.first(4) == [
                    #"[["page","user"],true,false,true,true,true,true,true]"#, "Close", #"{"a":1}"#, "null",
                ]
            )
        }
        #expect(intake.taken.all.map(\.name) == ["page", "greet", "greet"])
    }

    @Test func aRefusalReportsTheErrorAndItsPath() async throws {
        let outcomes: [Outcome] = [
            .rejected(Outcome.Rejection(.invalidBody, BodyError(.typeMismatch, path: "body.amount"))),
            .failed(Outcome.Failure(.threw, detail: "a secret")),
            .abandoned(.stop), .handled(reply: nil),
        ]
        let intake = RecordingIntake.holding()
        let trial = try WebViewTrial(intake)
        let script = """
            for (let i = 0; i < 4; i += 1) signalbox.call('work', i).then(
              (reply) => report('reply ' + reply),
              (error) => report([error.name, error.code, error.message, error.path, error.outcome, error instanceof Error]),
            );
            """
        try await trial.whileRunning(script) {
            let taken = await intake.taken.first(4)
            for (one, outcome) in zip(taken, outcomes) { one.settle(outcome) }
            let reports = await trial.reports.first(4)
            #expect(reports[0].hasPrefix(#"["SignalboxError","invalidBody","#))
            #expect(reports[0].hasSuffix(#""body.amount","rejected",true]"#))
            #expect(reports[1] == #"["SignalboxError","threw","the plugin failed",null,"failed",true]"#)
            #expect(reports[2].hasPrefix(#"["SignalboxError","stop","#))
            #expect(reports[3] == "reply undefined")
        }
    }

    /// Texts that could end a line, a string literal or a script.
    private static let texts = [
        "a\nb", "\r\n", "\u{2028}\u{2029}", "'", "\"", "\\", "\\n", "\\'", "`${1}`", "</script>", "\u{0}\u{1}\u{7f}",
        "😀é", "']", "",
    ]

    @Test func textsRoundTripUnchanged() async throws {
        let intake = Self.echo()
        let trial = try WebViewTrial(intake)
        let json = try BodyWriter.write(Self.texts).text ?? ""
        let script = """
            const texts = \(json);
            signalbox.call('echo', texts).then((reply) => report(JSON.stringify(reply) === JSON.stringify(texts) ? 'same' : reply));
            """
        try await trial.whileRunning(script) { #expect(await trial.reports.first(1) == ["same"]) }
        let body = try #require(intake.taken.all.first).arrival.reading.get().body
        #expect(try body.decode([String].self) == Self.texts)
    }

    @Test func refusalTextsAreEscaped() async throws {
        let intake = RecordingIntake {
            $0.settle(.rejected(Outcome.Rejection(.malformed, detail: "a\n'\"\\\u{0}\u{2028}b")))
        }
        let trial = try WebViewTrial(intake)
        try await trial.whileRunning("signalbox.call('a').catch((error) => report(error.message));") {
            #expect(await trial.reports.first(1) == ["a\n'\"\\\u{0}\u{2028}b"])
        }
    }

    @Test func aLoneSurrogateIsMalformedAndAffectsNoOtherCall() async throws {
        let intake = Self.echo()
        let trial = try WebViewTrial(intake)
        let script = """
            signalbox.call('a', '\\ud800').catch((error) => report(error.code));
            signalbox.call('b', 1).then(report);
            """
        try await trial.whileRunning(script) { #expect(await trial.reports.first(2) == ["malformed", "1"]) }
        #expect(trial.counters.value.malformedTexts == 0)
    }

    @Test func aMessageOfEightMebibytesRoundTrips() async throws {
        let intake = Self.echo()
        let trial = try WebViewTrial(intake) { $0.limits = MessageLimits(bytes: 8 * 1_024 * 1_024 + 100) }
        let script = """
            const big = 'é'.repeat(1024) + 'x'.repeat(8 * 1024 * 1024 - 2048);
            signalbox.call('echo', big).then((reply) => report([reply === big, reply.length]));
            """
        try await trial.whileRunning(script) {
            #expect(await trial.reports.first(1) == ["[true,\(8 * 1_024 * 1_024 - 1_024)]"])
        }
    }

    @Test func anOversizedMessageIsRejectedWithItsPrefix() async throws {
        let intake = Self.echo()
        let trial = try WebViewTrial(intake) { $0.limits = MessageLimits(bytes: 300) }
        let script = """
            for (const text of ['x'.repeat(300), 'x'.repeat(264), '😀'.repeat(200), 'é'.repeat(140)]) {
              signalbox.call('echo', text).then((reply) => report('reply ' + reply.length), (error) => report(error.code));
            }
            """
        try await trial.whileRunning(script) {
            #expect(await trial.reports.first(4) == ["malformed", "reply 264", "malformed", "malformed"])
        }
        let taken = intake.taken.all
        #expect(taken[0].text.utf8.count == 100 && taken[0].text.hasPrefix(#"{"action":"echo","body":"xxx"#))
        #expect(taken[2].text.utf8.count <= 300 && taken[2].text.hasSuffix("😀"))
        guard case .failure(let rejection) = taken[3].arrival.reading else { return #expect(Bool(false)) }
        #expect(rejection.bodyError?.code == .tooLarge, "within the limit in units but not in bytes")
    }

    @Test func callsArriveInOrder() async throws {
        let intake = Self.echo()
        let trial = try WebViewTrial(intake) { $0.messagesInFlight = 50 }
        let script = """
            Promise.all(Array.from({ length: 3000 }, (_, i) => i % 2 ? signalbox.call('page', i) : webkit.messageHandlers.page.postMessage(i)))
              .then((replies) => report(replies.every((reply, i) => reply === i)));
            """
        try await trial.whileRunning(script) { #expect(await trial.reports.first(1) == ["true"]) }
        let bodies = try intake.taken.all.map { try $0.arrival.reading.get().body.decode(Int.self) }
        #expect(bodies == Array(0..<3_000))
    }

    @Test func theSupervisorAnswersEachConcurrentCallOnce() async throws {
        let supervisor = Supervisor(
            configuration: .patient,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try supervisor.register(
            Registration("double", as: Int.self, from: .script(origin: WebOrigin("https://app.example"))) { number, _ in
                2 * number
            }
        )
        let trial = try WebViewTrial(supervisor.intake(for: "page", window: WindowLimits(arrivals: 100)))
        let script = """
            (async () => {
              const replies = await Promise.all(Array.from({ length: 3000 }, (_, i) => signalbox.call('double', i)));
              report([replies.length, replies.every((reply, i) => reply === 2 * i)]);
            })();
            """
        try await supervisor.whileRunning {
            try await trial.whileRunning(script) { #expect(await trial.reports.first(1) == ["[3000,true]"]) }
        }
        #expect(supervisor.report.isClean)
    }
}
