import SignalboxCore
import Testing

@testable import SignalboxCommand

/// What `check` says about chains.
@Suite struct StepConfigurationTests {
    @Test(arguments: [
        ("use: filter", "steps[0]: 'when' is missing"),
        ("use: filter, when: '/a ==='", "steps[0].when: at byte"),
        (
            "use: filter, when: /a == 1, otherwise: fail",
            "steps[0].otherwise: 'fail' is not what happens to the others; expected drop, reject"
        ),
        ("use: filter, when: source", "steps[0].when: expected a condition, found a text: source"),
        ("use: filter, when: 5", "steps[0].when: expected text, found the number 5"),
        ("use: filter, when: 'source == \"pusch\"'", "steps[0].when: there is no source 'pusch'; did you mean 'push'?"),
        (
            "use: filter, when: 'not (/a == 1 and source != \"pag\")'",
            "steps[0].when: there is no source 'pag'; did you mean 'page'?"
        ),
        ("use: map", "steps[0]: 'body' is missing"),
        ("use: map, body: { a: [b, '{/c'] }", "steps[0].body.a[1]: at byte"),
        ("use: map, body: 0x10", "steps[0].body: expected a JSON number"),
        ("use: throttle", "steps[0]: 'limit' is missing"),
        ("use: throttle, limit: 0", "steps[0].limit: expected 1 to 10000, found 0"),
        (
            "use: throttle, limit: 1, above: queue",
            "steps[0].above: 'queue' is not what happens above the limit; expected wait, drop, reject"
        ),
        ("use: aggregate, count: 5", "steps[0]: 'within' is missing"),
        ("use: aggregate, count: 1, within: 1s", "steps[0].count: expected 2 to 1000, found 1"),
        ("use: sample, one_in: 1", "steps[0].one_in: expected 2 to 1000000, found 1"),
        ("use: sample, one_in: 2, by: '/a/~'", "steps[0].by: at byte"),
        ("use: chain, steps: []", "steps[0].use: a chain cannot be a step; write its steps here"),
        ("use: log, when: /a", "steps[0].when: only 'use: filter' can have 'when'"),
        ("use: log, from: [push]", "steps[0].from: unknown key 'from'"),
        ("use: prnt", "steps[0].use: 'prnt' is not a step; expected log, print"),
        ("use: join, tag: a", "from[0]: messages of 'push' come from no connection; only a connection has tags"),
        ("use: send, to: nowhere", "steps[0].to: there is no source 'nowhere'"),
    ])
    func aMistakeInAStepIsReported(_ step: String, _ expected: String) {
        let problems = StepFixture.problems([step, "use: log"])
        #expect(problems.contains { $0.contains(": plugins[0].\(expected)") }, "\(problems)")
    }

    @Test func theMistakeHasItsPosition() {
        let problems = StepFixture.problems(["use: log", "use: filter, when: 'foo(/a)'", "use: log"])
        #expect(problems.count == 1)
        #expect(
            problems.first?.hasPrefix("11:30: plugins[0].steps[1].when: at byte 1: unknown function 'foo'") == true,
            "\(problems)"
        )
    }

    @Test(arguments: [
        (["use: filter, when: /a"], "'use: filter' has no effect as the last step"),
        (["use: log", "use: throttle, limit: 1"], "'use: throttle' has no effect as the last step"),
        (["use: sample, one_in: 2"], "'use: sample' has no effect as the last step"),
        (["use: aggregate, count: 2, within: 1s"], "'use: aggregate' has no effect as the last step"),
        (Array(repeating: "use: log", count: 33), "a chain has 1 to 32 steps"),
        ([], "a chain has 1 to 32 steps"),
        (
            ["use: aggregate, count: 2, within: 1s", "use: aggregate, count: 2, within: 1s", "use: log"],
            "at most one 'aggregate'"
        ),
    ])
    func aChainWithoutUseIsRefused(_ steps: [String], _ expected: String) {
        let text = StepFixture.text(steps).replacing("steps:\n    from", with: "steps: []\n    from")
        let problems = ConfigurationFixture.problems(text, for: .plugins)
        #expect(problems.contains { $0.contains(expected) }, "\(problems)")
    }

    @Test(arguments: [
        ["use: filter, when: /a, otherwise: reject"], ["use: log", "use: throttle, limit: 1, above: reject"],
        ["use: map, body: 1"],
    ])
    func aLastStepThatRejectsOrRepliesHasAUse(_ steps: [String]) {
        #expect(StepFixture.problems(steps).isEmpty)
    }

    @Test(arguments: [
        (
            "order: source, max_concurrent: 100",
            "with 'order: source' the messages of a source are called one at a time; add order: none and max_concurrent: 20"
        ),
        ("order: none", "it needs 20 calls at once, but max_concurrent is 1; add max_concurrent: 20"),
        ("order: none, max_concurrent: 19", "it needs 20 calls at once, but max_concurrent is 19"),
        ("order: { key: a }, max_concurrent: 19", "it needs 20 calls at once"),
        (
            "order: none, max_concurrent: 20, timeout: 1s",
            "each call ends after the timeout of 1s, before the list has waited 2s"
        ),
    ])
    func aListThatIsNeverFullIsRefused(_ keys: String, _ expected: String) {
        let problems = StepFixture.problems(["use: log", "use: aggregate, count: 20, within: 2s", "use: log"], keys)
        #expect(problems.count == 1 && problems.first?.contains("steps[1]: ") == true)
        #expect(problems.first?.contains(expected) == true, "\(problems)")
    }

    @Test(arguments: [
        (["use: fail", "use: log"], "warning unreachableStep plugins[0].steps[1]"),
        (["use: log", "use: suspend", "use: log", "use: log"], "warning unreachableStep plugins[0].steps[2]"),
        (["use: filter, when: 'false'", "use: log"], "warning unreachableStep plugins[0].steps[1]"),
        (["use: filter, when: '/a and not (true or /b)'", "use: log"], "warning unreachableStep plugins[0].steps[1]"),
        (["use: filter, when: 'true'", "use: log"], "warning unreachableStep plugins[0].steps[0].when"),
    ])
    func aStepThatIsNeverReachedIsReported(_ steps: [String], _ expected: String) {
        let findings = ConfigurationFixture.findings(StepFixture.text(steps)).filter { $0.contains("Step") }
        #expect(findings == [expected])
    }

    @Test(arguments: PluginUse.stepOnlyKeywords) func aStepIsNoPlugin(_ use: String) {
        let text = StepFixture.sources + "plugins: [ { action: a, use: \(use), from: push } ]"
        let problems = ConfigurationFixture.problems(text, for: .plugins)
        #expect(problems.count == 1 && problems.first?.contains("'\(use)' alone has no effect") == true, "\(problems)")
    }

    @Test func aTagInAStepIsCompared() {
        let text = StepFixture.text(["use: log", "use: broadcast, to: desk, tag: nobody"])
        #expect(ConfigurationFixture.findings(text).contains("warning tagWithoutConnection plugins[0].steps[1].tag"))
    }

    @Test func theDefaultsAreThoseOfTheDocumentation() throws {
        let steps = [
            "use: throttle, limit: 5", "use: aggregate, count: 2, within: 1s", "use: filter, when: /a", "use: log",
        ]
        let uses = try StepFixture.configuration(steps).plugins.first?.use.parts
        #expect(uses?.first == .throttle(ThrottleSection(count: 5, period: .seconds(1), excess: .wait)))
        #expect(uses?[1] == .aggregate(AggregateSection(count: 2, within: .seconds(1), maximumBytes: 1 << 20)))
        #expect(uses?[2] == .filter(FilterSection(condition: .pointer(["a"]), rejects: false)))
    }

    @Test func aTemplateIsBounded() {
        let values = Array(repeating: "1", count: 513).joined(separator: ", ")
        #expect(StepFixture.problems(["use: map, body: [ \(values) ]"]).first?.contains("at most 512 values") == true)
        let deep = String(repeating: "[", count: 34) + String(repeating: "]", count: 34)
        #expect(StepFixture.problems(["use: map, body: \(deep)"]).first?.contains("at most 32 levels") == true)
    }
}
