import JSBridge
import Logging
import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct PluginTests {
    @Test func aClassicPluginCallsBackThePageThatCalledIt() async throws {
        let trial = try PageTrial(
            """
            signalbox.on('confirm', ({ amount }) => amount < 100);
            signalbox.on('paid', (amount, { id }) => { report([amount, id]); });
            (async () => {
              report(await signalbox.call('pay', { amount: 5, currency: 'EUR' }));
              report(await signalbox.call('pay', { amount: 500, currency: 'EUR' }).catch((error) => error.code));
            })();
            """,
            configure: { $0.title = "checkout" }
        )
        let plugin = await PayPlugin()
        await plugin.set { info, page in
            guard try await page?.call("confirm", info, returning: Bool.self, timeout: .seconds(60)) == true else {
                throw PayPlugin.Refused()
            }
            try page?.send("paid", id: ActionID("p"), body: Bytes("\(info.amount)"))
            return page?.title ?? ""
        }
        try trial.supervisor.register(Registration(plugin, from: .script()))
        try await trial.run {
            #expect(Set(await trial.reports.first(3)) == [#"[5,"p"]"#, #""checkout""#, #""threw""#])
        }
    }

    @Test func twoConcurrentPagesGetTheirOwnReplies() async throws {
        let log = EventList<String>()
        let logger = Logger(label: "two") { _ in RecordingLog(log) }
        let supervisor = Supervisor(configuration: .patient, logger: logger)
        let sums = EventList<String>()
        try supervisor.register(
            Registration("next", as: Int.self, from: .any([.script(source: "left"), .script(source: "right")])) {
                number,
                context in
                "\(context.origin.source) \(number + 1)"
            }
        )
        try supervisor.register(
            Registration("sum", as: String.self, from: .script()) { text, _ in
                sums.append(contentsOf: CollectionOfOne(text))
            }
        )
        for name in ["left", "right"] {
            let script = """
                (async () => {
                  let last;
                  for (let i = 0; i < 500; i += 1) {
                    last = await signalbox.call('next', i);
                    if (last !== '\(name) ' + (i + 1)) throw new Error(last);
                  }
                  signalbox.call('sum', last);
                })();
                """
            var configuration = JavaScriptCoreConfiguration(
                source: try SourceName(name),
                scripts: [PageScript(name: "\(name).js", source: script)]
            )
            configuration.endsWhenIdle = true
            try supervisor.add(try JavaScriptCoreEngine(configuration, logger: logger))
        }
        try await supervisor.run()
        #expect(Set(sums.all) == ["left 500", "right 500"])
        #expect(supervisor.report.total.handled == 1_002)
    }

    @Test func aScriptRuleAllowsOnlyTheMainFrameOfItsSource() {
        struct OtherFacts: OriginFacts {
            static let kind = "other"
        }
        func origin(_ source: SourceName, _ isMainFrame: ScriptFacts.Knowledge) -> Origin {
            Origin(source: source, facts: ScriptFacts(engine: "JavaScriptCore", isMainFrame: isMainFrame))
        }
        let (rule, named) = (AccessRule.script(), AccessRule.script(source: "page"))
        #expect(rule.allows(origin("page", .yes)) && rule.allows(origin("other", .yes)))
        #expect(!rule.allows(origin("page", .no)) && !rule.allows(origin("page", .unknown)))
        #expect(!rule.allows(Origin(source: "page", facts: OtherFacts())))
        #expect(named.allows(origin("page", .yes)) && !named.allows(origin("other", .yes)))
        #expect(named.description == "script in the main frame of source page")
    }

    @Test func thePagesGlobalsMatchTheDocumentation() async throws {
        let trial = try PageTrial(
            """
            report([window === globalThis, typeof fetch, typeof document, typeof WebSocket, typeof Atomics.wait, typeof WebAssembly]);
            report([typeof signalbox.call, typeof signalbox.on, Object.isFrozen(signalbox)]);
            """,
            configure: { $0.endsWhenIdle = true }
        )
        let reports = try await trial.untilEnd()
        #expect(
            reports == [
                #"[true,"undefined","undefined","undefined","undefined","undefined"]"#,
                #"["function","function",true]"#,
            ]
        )
    }
}

/// A plugin in the classic form, whose owner sets its work.
@MainActor
final class PayPlugin: Plugin {
    struct Refused: Error {}

    nonisolated let action: ActionName = "pay"
    private var work: (Payment, PageHandle?) async throws -> String = { _, _ in "" }

    func set(_ work: @escaping @Sendable (Payment, PageHandle?) async throws -> String) {
        self.work = work
    }

    func callAsAction(_ info: Payment, context: ActionContext) async throws -> String {
        try await work(info, context.page)
    }
}

/// Access from pages. An engine reads the text of a frame's origin, and a rule names an origin.
@Suite(.timeLimit(.minutes(10))) struct ScriptOriginTests {
    /// Origins that engines and browsers report, and whether each is `https://app.example`.
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
        #expect(AccessRule.script().allows(origin), "a rule about the main frame does not check the origin")
        #expect(!AccessRule.script(origin: try WebOrigin("https://other.example")).allows(origin))
    }

    @Test func aSubframeIsAllowedOnlyIfTheRulePermitsIt() throws {
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

    @Test func scriptRulesDescribeWhatTheyAllow() throws {
        let app = try WebOrigin("HTTPS://App.example:443")
        #expect(AccessRule.script(origin: app).description == "script of https://app.example in the main frame")
        let any = AccessRule.script(origin: app, mainFrameOnly: false, source: "page")
        #expect(any.description == "script of https://app.example in any frame of source page")
        let here = Origin(source: "page", facts: Self.facts("https://app.example"))
        let there = Origin(source: "other", facts: Self.facts("https://app.example"))
        #expect(any.allows(here) && !any.allows(there))
    }

    @Test func factsIncludeTheOriginIfItIsKnown() throws {
        let known = try BodyWriter.write(Self.facts("https://app.example:8443"))
        #expect(known.text == #"{"engine":"Test","isMainFrame":"yes","origin":"https://app.example:8443"}"#)
        let unknown = try BodyWriter.write(Self.facts("null"))
        #expect(unknown.text == #"{"engine":"Test","isMainFrame":"yes"}"#)
    }

    @Test func aForeignOriginIsRefusedWithoutDecodingItsBody() async throws {
        let supervisor = Supervisor(
            configuration: .patient,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let calls = Atomic(0)
        let rule = AccessRule.script(origin: try WebOrigin("https://app.example"))
        try supervisor.register(
            Registration("pay", as: Spied.self, from: rule) { _, _ in calls.wrappingAdd(1, ordering: .relaxed) }
        )
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

    /// A body type that counts how often it is decoded.
    private struct Spied: Decodable, Sendable {
        static let decoded = Atomic(0)

        init(from decoder: any Decoder) {
            Spied.decoded.wrappingAdd(1, ordering: .relaxed)
        }
    }
}
