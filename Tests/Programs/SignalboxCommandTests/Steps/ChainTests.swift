import BrokerKit
import Foundation
import Signalbox
import SignalboxCore
import Testing

@testable import SignalboxCommand

/// The order of the steps, and how a chain ends.
@Suite struct ChainTests {
    private static let fail = "steps[1], use: fail: the plugin 'fail' always fails"

    @Test(arguments: [
        (["use: echo"], #"handled: {"device":"till","n":2}"#),
        (["use: reply, value: 1", "use: reply, value: 2"], "handled: 2"),
        (["use: reply, value: 1", "use: log"], "handled"),
        (["use: map, body: { m: '{/n}' }"], #"handled: {"m":2}"#),
        (
            ["use: map, body: { m: '{/n}' }", "use: map, body: { k: '{/m}', n: '{/n}', id: '{capture(\"device\")}' }"],
            #"handled: {"k":2,"id":"till"}"#
        ),
        (["use: map, body: { m: '{/n}' }", "use: echo"], #"handled: {"m":2}"#),
        (["use: map, body: [x]", "use: log"], "handled"),
        // A reply does not become the body of the next step.
        (["use: reply, value: 1", "use: echo"], #"handled: {"device":"till","n":2}"#),
        (["use: filter, when: /n == 2", "use: echo"], #"handled: {"device":"till","n":2}"#),
        (["use: filter, when: /n > 2", "use: fail"], "handled"),
        (["use: reply, value: 1", "use: filter, when: /n > 2", "use: fail"], "handled"),
        (
            ["use: filter, when: /n > 2, otherwise: reject", "use: fail"],
            "rejected: invalidBody: declined: steps[0], use: filter: its condition 'when' is not true"
        ),
        (
            ["use: filter, when: /n > 2, otherwise: reject"],
            "rejected: invalidBody: declined: steps[0], use: filter: its condition 'when' is not true"
        ),
        (["use: filter, when: /n == 2, otherwise: reject"], "handled"),
        (["use: map, body: { n: 3 }", "use: filter, when: /n > 2", "use: reply, value: 1"], "handled: 1"),
        (["use: reply, value: 1", "use: fail", "use: reply, value: 2"], "failed: threw: \(fail)"),
        (["use: sample, one_in: 9", "use: reply, value: 1"], "handled: 1"),
        (["use: throttle, limit: 1", "use: reply, value: 1"], "handled: 1"),
        (
            ["use: map, body: { b: '{body(\"\")}', c: '{body(\"\")}' }", "use: echo"],
            #"handled: {"b":{"device":"till","n":2},"c":{"device":"till","n":2}}"#
        ),
    ])
    func theOutcomeIsThatOfTheSteps(_ steps: [String], _ expected: String) async throws {
        let found = try await StepFixture.outcome(#"{"n":2}"#, steps)
        #expect(found == expected)
    }

    @Test func aStepThatDeclinesHasItsNameInTheReason() async throws {
        let found = try await StepFixture.outcome("{}", ["use: map, body: {}", "use: broadcast, to: desk"])
        #expect(
            found.hasPrefix("rejected: invalidBody: declined: steps[1], use: broadcast: the body names no tag"),
            "\(found)"
        )
    }

    @Test func aRetryBeginsWithTheFirstStep() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder.appendingPathComponent("lines.jsonl").path
            let steps = ["use: file, path: '\(path)'", "use: fail, retryable: true"]
            let outcome = try await StepFixture.outcome(
                "1",
                steps,
                "retry: { attempts: 2; first_delay: 1ms; longest_delay: 1ms }"
            )
            #expect(outcome == "failed: threw: \(Self.fail)")
            let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            #expect(lines.count == 2)
        }
    }

    @Test func aMappedBodyIsBounded() async throws {
        let body = #"{"t":"\#(String(repeating: "a", count: 40_000))"}"#
        let steps = ["use: map, body: ['{/t}', '{/t}']", "use: log"]
        let outcome = try await StepFixture.outcome(body, steps)
        #expect(
            outcome
                == "rejected: invalidBody: declined: steps[0], use: map: the mapped body is larger than limits.message_bytes, which is 65536"
        )
        let deep = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        let nested = try await StepFixture.outcome(deep, ["use: map, body: [[[[[['{body(\"\")}']]]]]]", "use: log"])
        #expect(nested.contains("the body that it hands on exceeds a limit"), "\(nested)")
    }

    /// The steps share the timeout of the plugin, so that a program cannot run longer because it is the second.
    @Test func aProgramEndsWithinTheTimeoutOfTheChain() async throws {
        let steps = ["use: exec, command: [sleep, '3600']", "use: exec, command: ['true']"]
        let outcome = try await StepFixture.outcome("1", steps, "timeout: 100ms")
        #expect(outcome.hasPrefix("failed: timeout: steps[0], use: exec: the program did not end within"), "\(outcome)")
    }

    @Test func aProgramReceivesTheMappedBody() async throws {
        let steps = ["use: map, body: { m: '{/n}' }", "use: exec, command: [cat]"]
        #expect(try await StepFixture.outcome(#"{"n":1.50}"#, steps) == #"handled: {"m":1.50}"#)
    }
}
