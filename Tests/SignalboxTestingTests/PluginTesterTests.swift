import Foundation
import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct PluginTesterTests {
    @Test func aValidBodyIsHandled() async {
        let tester = PluginTester(Registration(LoadingPlugin(), from: .anyOrigin))
        let outcome = await tester.outcome(of: #"{"isShow":true}"#)
        #expect(outcome == .handled(reply: nil))
    }

    @Test func anInvalidBodyIsRejectedWithItsPath() async throws {
        let tester = PluginTester(Registration(LoadingPlugin(), from: .anyOrigin))
        guard case .rejected(let rejection) = await tester.outcome(of: #"{"isShow":1}"#) else {
            Issue.record("the body was not rejected")
            return
        }
        #expect(rejection.reason == .invalidBody)
        #expect(rejection.bodyError?.path == "body.isShow")
    }

    @Test func aDeclinedActionIsRejectedWithItsReason() async throws {
        let tester = PluginTester(
            Registration("pay", as: Int.self, from: .anyOrigin) { _, _ in throw PluginDeclined("it is too much") }
        )
        guard case .rejected(let rejection) = await tester.outcome(of: "10") else {
            Issue.record("the action was not rejected")
            return
        }
        #expect(rejection.reason == .invalidBody)
        #expect(rejection.detail == "declined: it is too much")
    }

    @Test func invalidJSONIsMalformed() async {
        let outcome = await PluginTester(Registration(LoadingPlugin(), from: .anyOrigin)).outcome(of: #"{"isShow":"#)
        #expect(reason(outcome) == "malformed")
    }

    @Test func aReplyIsDecodedAndARejectionIsThrown() async throws {
        let tester = PluginTester(Registration(DoublingPlugin(), from: .anyOrigin))
        #expect(try await tester.reply(as: Int.self, to: "21") == 42)
        #expect(try await tester.outcome(encoding: 4) == .handled(reply: Bytes("8")))
        await #expect(throws: Outcome.Rejection.self) { try await tester.reply(as: Int.self, to: "true") }
        await #expect(throws: BodyError.self) { try await tester.reply(as: String.self, to: "1") }
    }

    @Test @MainActor func aMainActorPluginCanBeTested() async {
        let plugin = ScreenPlugin()
        let outcome = await PluginTester(Registration(plugin, from: .anyOrigin)).outcome(of: "3")
        #expect(outcome == .handled(reply: nil))
        #expect(plugin.seen == [3])
    }

    @Test func everyKindOfPluginAndClosureCanBeTested() async throws {
        let testers = [
            PluginTester(Registration(LaterPlugin(), from: .anyOrigin)),
            PluginTester(
                Registration("later", as: Int.self, from: .anyOrigin) { number, _ in
                    await Task.yield()
                    return -number
                }
            ),
            PluginTester(Registration("now", as: Int.self, from: .anyOrigin) { number, _ in -number }),
        ]
        for tester in testers { #expect(try await tester.reply(as: Int.self, to: "7") == -7) }
        let seen = Watched<[Int]>([])
        let silent = [
            PluginTester(Registration(SilentPlugin(seen: seen), from: .anyOrigin)),
            PluginTester(
                Registration("later", as: Int.self, from: .anyOrigin) { number, _ in
                    await Task.yield()
                    seen.change { $0.append(number) }
                }
            ),
            PluginTester(
                Registration("now", as: Int.self, from: .anyOrigin) { number, _ in seen.change { $0.append(number) } }
            ),
        ]
        for tester in silent { #expect(await tester.outcome(of: "7") == .handled(reply: nil)) }
        #expect(seen.value == [7, 7, 7])
    }

    @Test func aBatchPluginReceivesTheValidBodiesTogether() async {
        let plugin = SummingPlugin()
        let outcomes = await PluginTester(Registration(plugin, from: .anyOrigin)).outcomes(of: ["1", "true", "2"])
        #expect(outcomes.map(reason) == ["handled", "invalidBody", "handled"])
        #expect(plugin.calls.value == [[1, 2]])
    }

    @Test func thePluginReceivesTheTestersSettings() async throws {
        var tester = PluginTester(
            Registration("ask", as: String?.self, from: .anyOrigin) { _, context in
                let label = (context.origin.facts as? InMemoryFacts)?.label ?? "none"
                return "\(context.origin.source) \(label) \(context.id)"
            }
        )
        tester.source = "chat"
        tester.facts = InMemoryFacts(label: "friend")
        tester.payload = .text
        let outcome = await tester.outcome(of: "no JSON", id: ActionID("7"))
        #expect(outcome == .handled(reply: Bytes(#""chat friend 7""#)))
        let late = await tester.outcome(of: "", deadline: .now - .seconds(1))
        #expect(reason(late) == "expired")
    }

    @Test func sentActionsAreRecorded() async throws {
        var tester = PluginTester(
            Registration("greet", as: String.self, from: .anyOrigin) { name, context in
                try context.sender?.send("greeting", "hello \(name)")
            }
        )
        #expect(await tester.outcome(of: #""Ada""#) == .handled(reply: nil))
        #expect(tester.sent == [SentAction(action: "greeting", body: Bytes(#""hello Ada""#))])
        #expect(try tester.sent[0].decode(String.self) == "hello Ada")
        tester.sender = nil
        #expect(await tester.outcome(of: #""Ada""#) == .handled(reply: nil))
        #expect(tester.sent.count == 1)
    }

    @Test func aHungPluginTimesOutOnAManualClock() async {
        let clock = ManualClock()
        let gate = Gate()
        var tester = PluginTester(
            Registration("hang", as: RawBody.self, from: .anyOrigin) { _, _ in await gate.pass() }
        )
        tester.clock = clock
        tester.timeout = .seconds(3_600)
        let outcome = await clock.tick(every: .seconds(60)) { [tester] in await tester.outcome(of: "{}") }
        #expect(reason(outcome) == "timeout")
        gate.open()
    }

    @Test func aThrownErrorIsAFailure() async {
        let tester = PluginTester(Registration("fail", as: RawBody.self, from: .anyOrigin) { _, _ in throw Broken() })
        let outcome = await tester.outcome(of: "{}")
        #expect(reason(outcome) == "threw")
    }
}

struct Broken: Error {}

struct LoadingPlugin: Plugin {
    struct Info: Decodable { let isShow: Bool }

    let action: ActionName = "loading"

    func callAsAction(_ info: Info, context: ActionContext) async throws {}
}

@MainActor final class ScreenPlugin: Plugin {
    nonisolated let action: ActionName = "screen"
    private(set) var seen: [Int] = []

    func callAsAction(_ info: Int, context: ActionContext) async throws { seen.append(info) }
}

struct SilentPlugin: SyncPlugin {
    let action: ActionName = "silent"
    let seen: Watched<[Int]>

    func callAsAction(_ info: Int, context: ActionContext) throws { seen.change { $0.append(info) } }
}

struct DoublingPlugin: SyncPlugin {
    let action: ActionName = "double"

    func callAsAction(_ info: Int, context: ActionContext) throws -> Int { info * 2 }
}

struct LaterPlugin: Plugin {
    let action: ActionName = "later"

    func callAsAction(_ info: Int, context: ActionContext) async throws -> Int {
        await Task.yield()
        return -info
    }
}

final class SummingPlugin: BatchPlugin {
    let action: ActionName = "sum"
    let calls = Watched<[[Int]]>([])

    func callAsActions(_ batch: [(info: Int, context: ActionContext)]) async throws {
        calls.change { $0.append(batch.map(\.info)) }
    }
}

/// Returns the reason of an outcome, or `handled`.
func reason(_ outcome: Outcome) -> String {
    switch outcome {
    case .handled: "handled"
    case .rejected(let rejection): "\(rejection.reason)"
    case .failed(let failure): "\(failure.reason)"
    case .abandoned(let abandonment): "\(abandonment)"
    }
}

/// The examples of docs/testing.md.
@Suite(.timeLimit(.minutes(10))) struct DocumentedTests {
    private struct SlowPlugin: Plugin {
        let action: ActionName = "slow"
        let gate: Gate

        func callAsAction(_ info: RawBody, context: ActionContext) async throws { await gate.pass() }
    }

    @Test(arguments: ["docs/testing.md", "Sources/SignalboxTesting/SignalboxTesting.docc/WriteAnAdapter.md"])
    func documentedCasesMatchTheSuite(_ page: String) throws {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let path = root + "/" + page
        guard FileManager.default.fileExists(atPath: path) else {
            print("skipped: there is no \(path)")
            return
        }
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let listed = lines.compactMap { line in
            line.hasPrefix("- `") ? line.dropFirst(3).split(separator: "`: ").first.map(String.init) : nil
        }
        let cases = listed.filter { !$0.contains("(") && !$0.contains("`") }
        #expect(cases == AdapterConformance.Case.allCases.map(\.rawValue))
    }

    @Test func aHungPluginTimesOut() async {
        let gate = Gate()
        let clock = ManualClock()
        var tester = PluginTester(Registration(SlowPlugin(gate: gate), from: .anyOrigin))
        tester.clock = clock
        tester.timeout = .seconds(30)
        let outcome = await clock.tick { [tester] in await tester.outcome(of: "null") }
        #expect(reason(outcome) == "timeout")
        gate.open()
    }

    @Test func anApplicationSendsAReplyAndAnAction() async throws {
        let page = InMemoryAdapter(source: "page")
        let supervisor = Supervisor(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        try supervisor.add(page)
        try registerPlugins(in: supervisor)
        try await supervisor.whileRunning {
            let outcome = await page.send("double", body: "21")
            #expect(outcome == .handled(reply: Bytes("42")))
        }
        #expect(page.pushed == [SentAction(action: "doubled", body: Bytes("1"))])
    }

    private func registerPlugins(in supervisor: Supervisor) throws {
        try supervisor.register(
            Registration("double", as: Int.self, from: .source("page")) { number, context in
                try context.sender?.send("doubled", 1)
                return number * 2
            }
        )
    }
}
