import JSBridge
import SignalboxCore
import Testing

@testable import SignalboxCommand

@Suite struct ScriptConfigurationTests {
    private static func file(script: String, rule: String = "{ source: page }", rest: String = "") -> String {
        """
        sources:
          page: { script: \(script), window: { arrivals: 5 } }
        plugins: [ { action: a, use: log, from: [ \(rule) ] } ]
        \(rest)
        """
    }

    private static func section(
        _ script: String,
        for use: ConfigurationUse = .run,
        rest: String = ""
    ) throws -> ScriptSource {
        let configuration = try ConfigurationFixture.read(file(script: script, rest: rest), for: use)
        guard case .script(let section)? = configuration.sources.first?.kind else {
            Issue.record("the source is not a page")
            return ScriptSource(page: JavaScriptCoreConfiguration(source: "none", scripts: []))
        }
        return section
    }

    @Test func everyKeyOfAPageIsRead() throws {
        let section = try ScriptConfigurationTests.section(
            """
            { files: [a.js, { env: BROKER }], title: Kiosk, execution_time_limit: 500ms, heap_limit: 8MiB,
              timer_limit: 3, messages_to_page: 4, messages_without_listener: 5 }
            """,
            rest: "limits: { message_bytes: 100, depth: 3 }"
        )
        #expect(section.files == ["a.js", "mqtt://127.0.0.1:1883"])
        let limits = MessageLimits(bytes: 100, depth: 3)
        let page = section.page(running: [PageScript(name: "n", source: "s")])
        #expect(page.source == "page")
        #expect(page.scripts == [PageScript(name: "n", source: "s")])
        #expect(page.title == "Kiosk")
        #expect(page.executionTimeLimit == .milliseconds(500))
        #expect(page.heapLimit == 8 << 20)
        #expect(page.timerLimit == 3)
        #expect(page.messagesToPage == 4)
        #expect(page.messagesWithoutListener == 5)
        #expect(page.limits == limits)
        #expect(!page.endsWhenIdle)
    }

    @Test func omittedKeysHaveThePagesDefaults() throws {
        let section = try ScriptConfigurationTests.section("{}", for: .plugins)
        let page = section.page(running: [])
        let standard = JavaScriptCoreConfiguration(source: "page", scripts: [])
        #expect(section.files.isEmpty)
        #expect(page.title == nil)
        #expect(page.executionTimeLimit == standard.executionTimeLimit)
        #expect(page.heapLimit == standard.heapLimit)
        #expect(page.timerLimit == standard.timerLimit)
        #expect(page.messagesToPage == standard.messagesToPage)
        #expect(page.messagesWithoutListener == standard.messagesWithoutListener)
    }

    @Test(arguments: [
        ("{ files: [] }", "2:28: sources.page.script.files: 'files' is empty; list the scripts"),
        ("{ files: a.js }", "2:28: sources.page.script.files: expected a list, found text"),
        ("{ files: [7] }", "2:29: sources.page.script.files[0]: expected text, found the number 7"),
        ("{ fiels: [a] }", "2:21: sources.page.script.fiels: unknown key 'fiels'; did you mean 'files'?"),
        ("{ files: [a], title: 7 }", "2:40: sources.page.script.title: expected text, found the number 7"),
        (
            "{ files: [a], execution_time_limit: 61m }",
            "2:55: sources.page.script.execution_time_limit: expected 1ms to 1h"
        ),
        ("{ files: [a], heap_limit: 1KiB }", "2:45: sources.page.script.heap_limit: expected 1048576 to"),
        ("{ files: [a], timer_limit: 0 }", "2:46: sources.page.script.timer_limit: expected 1 to 1000000, found 0"),
        (
            "{ files: [a], messages_to_page: many }",
            "2:51: sources.page.script.messages_to_page: expected a whole number, found text"
        ),
        (
            "{ files: [a], messages_without_listener: 1000001 }",
            "2:60: sources.page.script.messages_without_listener: expected 1 to 1000000, found 1000001"
        ),
        ("7", "2:19: sources.page.script: expected a mapping of keys to values, found the number 7"),
        (
            "{ files: [a] }, mqtt: {}",
            "2:19: sources.page.script: 'mqtt' and 'script' exclude each other; keep one of them"
        ),
    ])
    func anErrorIsReportedWithItsPosition(_ script: String, _ problem: String) {
        let found = ConfigurationFixture.problems(ScriptConfigurationTests.file(script: script))
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(problem) == true, "found: \(found)")
    }

    @Test(arguments: [
        (
            "{ source: page, topic: a }",
            "3:66: plugins[0].from[0].topic: the source 'page' has no topics; remove 'topic'"
        ),
        ("{ source: internal, topic: a }", "3:70: plugins[0].from[0].topic: the source 'internal' has no topics;"),
        (
            "{ source: intrenal }",
            "3:53: plugins[0].from[0].source: there is no source 'intrenal'; did you mean 'internal'?; sources are: page,"
        ),
    ])
    func aRuleForASourceWithoutTopicsCannotNameATopic(_ rule: String, _ problem: String) {
        let found = ConfigurationFixture.problems(ScriptConfigurationTests.file(script: "{ files: [a] }", rule: rule))
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(problem) == true, "found: \(found)")
    }

    @Test func aRuleMayNameTheInternalSource() throws {
        let file = ScriptConfigurationTests.file(script: "{ files: [a] }", rule: "{ source: internal }")
        #expect(try ConfigurationFixture.read(file).plugins.first?.from == [.origin("internal", [])])
    }

    @Test func internalIsAReservedSourceName() {
        let found = ConfigurationFixture.problems(line: 2, "  internal:")
        let problem = "2:3: sources.internal: 'internal' is reserved for messages of 'signalbox send'; choose another"
        #expect(found.first?.hasPrefix(problem) == true, "found: \(found)")
    }

    @Test(arguments: [
        ("    mqttt:", ["3:5: sources.push.mqttt: unknown key 'mqttt'; did you mean 'mqtt'?"]),
        ("    window:", ["2:8: sources.push: 'mqtt', 'script', 'links', 'feed', 'chat' or 'http' is missing;"]),
    ])
    func aSourceHasExactlyOneKind(_ line: String, _ problems: [String]) {
        let lines = ["sources:", "  push: ", line + " {}"] + ConfigurationFixture.lines[7...]
        let found = ConfigurationFixture.problems(lines.joined(separator: "\n"))
        #expect(found.count == problems.count, "found: \(found)")
        for (line, problem) in zip(found, problems) { #expect(line.contains(problem.dropFirst(5)), "found: \(found)") }
    }
}
