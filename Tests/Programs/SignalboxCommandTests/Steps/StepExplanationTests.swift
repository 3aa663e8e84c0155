import SignalboxCore
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

/// What `explain` and `test` say about chains.
@Suite struct StepExplanationTests {
    private static let steps = [
        "use: filter, when: '/amount >= 10 and source == \"push\"'",
        "use: map, body: { total: '{/amount}', from: 'a {source}' }",
        "use: throttle, limit: 10, above: drop", "use: sample, one_in: 3", "use: aggregate, count: 20, within: 1s",
        "use: publish, source: push, topic: out/a",
    ]

    private static func line(_ body: String, _ steps: [String] = steps) throws -> ExplanationLine {
        let configuration = try StepFixture.configuration(steps)
        let explainer = ConfigurationExplainer(configuration: configuration, file: "f.yaml")
        return try explainer.line(about: StepFixture.message(body, in: configuration))
    }

    @Test func eachStepSaysWhatItWouldDo() throws {
        let shown = try Self.line(#"{"amount":12.50}"#).shown.filter { $0.contains("steps[") || $0.contains("verdict") }
        #expect(
            shown == [
                #"ok  steps[0]        filter: passes: /amount >= 10 is true, as /amount is 12.5; source == "push" is true, as source is "push""#,
                #"ok  steps[1]        map: makes the body: {"total":12.50,"from":"a push"}"#,
                "ok  steps[2]        throttle: at most 10 per 1s; above, it is dropped",
                "ok  steps[3]        sample: passes one in 3, beginning with the first",
                #"ok  steps[4]        aggregate: waits for 20 bodies or 1s; shown for a list of this body alone: [{"total":12.50,"from":"a push"}]"#,
                "ok  steps[5]        publish: publishes to 'out/a' of 'push'",
                "ok  verdict         called",
            ]
        )
    }

    @Test func aDroppedMessageIsCalledAndTheStepSaysWhy() throws {
        let line = try Self.line(#"{"amount":"12"}"#)
        #expect(line.isCalled)
        #expect(
            line.shown.contains(#"no  steps[0]        filter: drops it: /amount >= 10 is false, as /amount is "12""#)
        )
        #expect(
            line.json.hasSuffix(
                #""chain":[{"use":"filter","passes":false,"detail":"drops it: /amount >= 10 is false, as /amount is \"12\""}]}"#
            )
        )
    }

    @Test func aRejectedMessageIsNotCalled() throws {
        let line = try Self.line("1", ["use: log", "use: filter, when: /a, otherwise: reject", "use: log"])
        #expect(!line.isCalled)
        let reason = "declined: steps[1], use: filter: its condition 'when' is not true"
        #expect(line.shown.last == "no  verdict         invalidBody: \(reason)")
        #expect(line.shown.contains("no  steps[1]        filter: rejects it: /a is missing"))
    }

    @Test func aLaterStepDeclinesTheMappedBody() throws {
        let broadcast = "use: broadcast, to: desk"
        #expect(try Self.line("{}", ["use: map, body: { tag: '{capture(\"device\")}' }", broadcast]).isCalled)
        #expect(try !Self.line(#"{"tag":"a"}"#, ["use: map, body: { t: '{/tag}' }", broadcast]).isCalled)
    }

    private static func finding(_ body: String, _ steps: [String]) async throws -> [TestMember: TestValue] {
        let configuration = try StepFixture.configuration(steps)
        let message = try StepFixture.message(body, in: configuration)
        let test = ConfigurationTest(name: "a", line: 1, subject: .message(message), expected: [:])
        return try await TestRun(configuration, file: "f.yaml").result(of: test).finding.values
    }

    @Test(
        arguments: [
            (
                ["use: filter, when: /n == 1", "use: exec, command: ['false']"], "handled", nil,
                "unknown (the plugin 'exec' is not called in a test)"
            ),
            (["use: filter, when: /n == 2", "use: exec, command: ['false']"], "handled", "filter", "null"),
            (["use: map, body: { m: '{/n}' }"], "handled", nil, #"{"m":1}"#),
            (["use: map, body: { m: '{/n}' }", "use: log"], "handled", nil, "null"),
            (["use: exec, command: ['false']", "use: map, body: '{/n}'", "use: echo"], "handled", nil, "1"),
            (["use: log", "use: fail"], "failed", nil, nil), (["use: suspend"], "failed", nil, nil),
            (["use: filter, when: /n == 2, otherwise: reject", "use: log"], "rejected", nil, nil),
            (["use: aggregate, count: 50, within: 2s", "use: map, body: '{/0/n}'"], "handled", nil, "1"),
            (
                ["use: throttle, limit: 1, above: reject", "use: sample, one_in: 5", "use: reply, value: a"], "handled",
                nil, #""a""#
            ),
        ] as [([String], String, String?, String?)]
    )
    func aTestFollowsTheSteps(_ steps: [String], _ outcome: String, _ dropper: String?, _ reply: String?) async throws {
        let values = try await Self.finding(#"{"n":1}"#, steps)
        #expect(values[.outcome]?.shown == outcome)
        #expect(values[.droppedBy]?.shown == dropper)
        #expect(values[.reply]?.shown == reply)
        #expect(values[.plugin]?.shown == "chain")
    }

    @Test func aMapAloneIsCalled() async throws {
        let text = StepFixture.sources + "plugins: [ { action: work, use: map, body: { m: '{/n}' }, from: push } ]"
        let configuration = try ConfigurationFixture.read(text, for: .plugins)
        let message = try StepFixture.message(#"{"n":[1]}"#, in: configuration)
        let test = ConfigurationTest(name: "a", line: 1, subject: .message(message), expected: [:])
        let values = try await TestRun(configuration, file: "f.yaml").result(of: test).finding.values
        #expect(values[.reply]?.shown == #"{"m":[1]}"#)
        let line = try ConfigurationExplainer(configuration: configuration, file: "f.yaml").line(about: message)
        #expect(line.shown.contains(#"ok  steps[0]        map: makes the body: {"m":[1]}"#))
    }
}
