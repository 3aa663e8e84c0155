import JSBridge
import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct PluginTests {
    @Test func aClassicPluginCallsThePageBackThatCalledIt() async throws {
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
        try trial.supervisor.register(plugin, from: .script())
        try await trial.run {
            #expect(Set(await trial.reports.first(3)) == [#"[5,"p"]"#, #""checkout""#, #""threw""#])
        }
    }

    @Test func twoPagesRunBesideEachOtherAndEachIsAnsweredItself() async throws {
        let log = EventList<String>()
        let logger = Logger(label: "two") { _ in RecordingLog(log) }
        let supervisor = Supervisor(configuration: .patient, logger: logger)
        let sums = EventList<String>()
        try supervisor.register("next", as: Int.self, from: .any([.script(source: "left"), .script(source: "right")])) {
            number,
            context in
            "\(context.origin.source) \(number + 1)"
        }
        try supervisor.register("sum", as: String.self, from: .script()) { text, _ in
            sums.append(contentsOf: CollectionOfOne(text))
        }
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

    @Test func theRuleForScriptsAllowsTheMainFrameOfTheNamedSourceAlone() {
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

    @Test func thePagesGlobalsAreWhatTheDocumentationSays() async throws {
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

/// The classic form: whoever has the plugin sets what it does.
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
