import Foundation
import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

/// What docs/testing.md shows.
@Suite(.timeLimit(.minutes(10))) struct DocumentedTests {
    private struct SlowPlugin: Plugin {
        let action: ActionName = "slow"
        let gate: Gate

        func callAsAction(_ info: RawBody, context: ActionContext) async throws { await gate.pass() }
    }

    @Test(arguments: ["docs/testing.md", "Sources/SignalboxTesting/SignalboxTesting.docc/WriteAnAdapter.md"])
    func theListOfCasesIsTheSuites(_ page: String) throws {
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

    @Test func aPluginThatHangs() async {
        let gate = Gate()
        let clock = ManualClock()
        var tester = PluginTester(SlowPlugin(gate: gate))
        tester.clock = clock
        tester.timeout = .seconds(30)
        let outcome = await clock.tick { [tester] in await tester.outcome(of: "null") }
        #expect(reason(outcome) == "timeout")
        gate.open()
    }

    @Test func anApplication() async throws {
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
        try supervisor.register("double", as: Int.self, from: .source("page")) { number, context in
            try context.sender?.send("doubled", 1)
            return number * 2
        }
    }
}
