import JSBridge
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Synchronization
import Testing

/// Who may call from a page: an engine reads the text of a frame's origin, and a rule names an origin.
@Suite(.timeLimit(.minutes(10))) struct ScriptOriginTests {
    /// What engines and browsers report, and whether it is `https://app.example`.
    private static let origins: [(text: String?, isTrusted: Bool)] = [
        ("https://app.example", true), ("HTTPS://APP.Example", true), ("https://app.example:443", true),
        ("https://app.example:", true), ("https://app.example:0443", true), ("https://app.example:8443", false),
        ("https://app.example:80", false), ("http://app.example", false), ("http://app.example:443", false),
        ("wss://app.example", false), ("https://app.example.", false), ("https://app.example.evil.example", false),
        ("https://evil-app.example", false), ("https://evilapp.example", false), ("https://sub.app.example", false),
        ("https://example", false), ("https://app.examplе", false), ("https://user@app.example", false),
        ("https://app.example@evil.example", false), ("https://evil.example#https://app.example", false),
        ("https://app.example/", false), ("https:\\\\app.example", false), ("https://app%2Eexample", false),
        (" https://app.example", false), ("https://app.example\n", false), ("https://app.example\u{0}", false),
        ("null", false), (nil, false), ("", false), ("*", false), ("app.example", false), ("//app.example", false),
        ("file://", false), ("file:///app.example", false), ("data:text/html,https://app.example", false),
        ("blob:https://app.example/1", false), ("about:blank", false), ("about:srcdoc", false),
        ("javascript://app.example", false), ("app://app.example", false), ("https://[::1]", false),
    ]

    private static func facts(_ text: String?, _ frame: ScriptFacts.Knowledge = .yes) -> ScriptFacts {
        ScriptFacts(engine: "Test", isMainFrame: frame, origin: text.flatMap { try? WebOrigin($0) })
    }

    @Test(arguments: origins) func onlyTheNamedOriginIsAllowed(_ text: String?, isTrusted: Bool) throws {
        let origin = Origin(source: "page", facts: Self.facts(text))
        let rule = AccessRule.script(origin: try WebOrigin("https://app.example"))
        #expect(rule.allows(origin) == isTrusted)
        #expect(AccessRule.script().allows(origin), "a rule about the main frame asks for no origin")
        #expect(!AccessRule.script(origin: try WebOrigin("https://other.example")).allows(origin))
    }

    @Test func aFrameInThePageIsAllowedOnlyWhereTheRuleSaysSo() throws {
        let app = try WebOrigin("https://app.example")
        let (main, any) = (AccessRule.script(origin: app), AccessRule.script(origin: app, mainFrameOnly: false))
        for (frame, isMain) in [(ScriptFacts.Knowledge.yes, true), (.no, false), (.unknown, false)] {
            let origin = Origin(source: "page", facts: Self.facts("https://app.example", frame))
            #expect(main.allows(origin) == isMain)
            #expect(any.allows(origin))
            let foreign = Origin(source: "page", facts: Self.facts("https://evil.example", frame))
            #expect(!main.allows(foreign) && !any.allows(foreign))
            #expect(!any.allows(Origin(source: "page", facts: Self.facts("null", frame))))
        }
    }

    @Test func rulesOfScriptsSayInWordsWhatTheyAllow() throws {
        let app = try WebOrigin("HTTPS://App.example:443")
        #expect(AccessRule.script(origin: app).description == "script of https://app.example in the main frame")
        let any = AccessRule.script(origin: app, mainFrameOnly: false, source: "page")
        #expect(any.description == "script of https://app.example in any frame of source page")
        let here = Origin(source: "page", facts: Self.facts("https://app.example"))
        let there = Origin(source: "other", facts: Self.facts("https://app.example"))
        #expect(any.allows(here) && !any.allows(there))
    }

    @Test func factsAreWrittenWithTheOriginWhereThereIsOne() throws {
        let known = try BodyWriter.write(Self.facts("https://app.example:8443"))
        #expect(known.text == #"{"engine":"Test","isMainFrame":"yes","origin":"https://app.example:8443"}"#)
        let unknown = try BodyWriter.write(Self.facts("null"))
        #expect(unknown.text == #"{"engine":"Test","isMainFrame":"yes"}"#)
    }

    @Test func aForeignOriginNeverReachesThePluginAndItsBodyIsNotRead() async throws {
        let supervisor = Supervisor(
            configuration: .patient,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let calls = Atomic(0)
        let rule = AccessRule.script(origin: try WebOrigin("https://app.example"))
        try supervisor.register("pay", as: Spied.self, from: rule) { _, _ in calls.wrappingAdd(1, ordering: .relaxed) }
        let intake = try supervisor.intake(for: "page")
        var batch = ArrivalBatch(pool: ArrivalPool())
        for (token, (text, _)) in Self.origins.enumerated() {
            Array(#"{"action":"pay","body":{}}"#.utf8).withUnsafeBytes { bytes in
                let origin = Origin(source: "page", facts: Self.facts(text))
                batch.append(bytes, token: UInt64(token), origin: origin, receivedAt: WallTime(seconds: 0))
            }
        }
        let arrivals = batch.take()
        let codes = try await supervisor.whileRunning { await intake.deliver(arrivals).map(\.code) }
        #expect(codes == Self.origins.map { $0.isTrusted ? "handled" : "sourceNotAllowed" })
        let trusted = Self.origins.filter(\.isTrusted).count
        #expect(calls.load(ordering: .relaxed) == trusted)
        #expect(Spied.decoded.load(ordering: .relaxed) == trusted)
    }

    /// Counts how often a body becomes one.
    private struct Spied: Decodable, Sendable {
        static let decoded = Atomic(0)

        init(from decoder: any Decoder) {
            Spied.decoded.wrappingAdd(1, ordering: .relaxed)
        }
    }
}
