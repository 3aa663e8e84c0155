import Foundation
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

@testable import Signalbox

@Suite(.timeLimit(.minutes(10))) struct DeadLetterExplanationTests {
    private struct Refused: Error {}

    /// Messages that are rejected or fail for every reason, with the lines of their explanations.
    private static let messages: [(text: String, lines: [String])] = [
        (
            "not json",
            [
                "unreadable message of push: malformed: invalidSyntax at byte 0",
                "  envelope        stops   invalidSyntax at byte 0",
            ]
        ),
        (
            message("nobody", id: "1"),
            [
                "nobody 1 of push: unknownAction: no plugin is registered for this action",
                "  envelope        passes  standard",
                "  plugin          stops   no plugin is registered for this action",
            ]
        ),
        (
            message("closed", id: "2"),
            [
                "closed 2 of push: sourceNotAllowed: plugin closed allows all of (not (source chat); source page), which does not cover this origin of push",
                "  envelope        passes  standard", "  plugin          passes  served by a closure for Empty",
                "  access          stops   not allowed: the message comes from push, but 'from' requires source page; "
                    + "the rule is all of (not (source chat); source page)",
            ]
        ),
        (
            message("loading", id: "3", body: "7"),
            [
                "loading 3 of push: invalidBody: typeMismatch at body (byte 36): expected an object, found a number",
                "  envelope        passes  standard", "  plugin          passes  served by a closure for Loading",
                "  access          passes  allowed by source push", "  attempts        passes  1 of at most 1",
                "  body            stops   typeMismatch at body (byte 36): expected an object, found a number",
            ]
        ),
        (
            message("throws", id: "4"),
            [
                "throws 4 of push: threw: Refused()", "  envelope        passes  standard",
                "  plugin          passes  served by a closure for Empty",
                "  access          passes  allowed by source push",
                "  attempts        stops   1 of at most 1; the last failed: Refused()",
            ]
        ),
    ]

    private static func supervisor() throws -> Supervisor {
        let supervisor = Supervisor.make()
        let rule = AccessRule.all([.not(.source("chat")), .source("page")])
        try supervisor.register(Registration("closed", as: Empty.self, from: rule) { _, _ in })
        try supervisor.register(Registration("loading", as: Loading.self, from: .source("push")) { _, _ in })
        try supervisor.register(
            Registration("throws", as: Empty.self, from: .source("push")) { _, _ in throw Refused() }
        )
        return supervisor
    }

    @Test func aDeadLetterNamesTheStageItReached() async throws {
        let supervisor = try Self.supervisor()
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals(Self.messages.map(\.text))) }
        let letters = supervisor.deadLetters.letters
        #expect(letters.count == Self.messages.count)
        for one in Self.messages {
            let letter = try #require(letters.first { $0.original.text == one.text })
            #expect(letter.explanation.description == one.lines.joined(separator: "\n"))
            #expect(letter.explanation.verdict.code == letter.outcome.code)
            #expect(letter.explanation.steps.last?.passes == false)
        }
    }

    @Test func aDeadLetterMatchesTheEarlierExplanation() async throws {
        let supervisor = try Self.supervisor()
        let intake = try supervisor.intake(for: "push")
        let explained = arrivals(Self.messages.map(\.text).filter { !$0.contains("throws") })
        let before = explained.map { supervisor.explain($0) }
        try await supervisor.whileRunning { _ = await intake.deliver(explained) }
        for explanation in before {
            let letter = try #require(supervisor.deadLetters.letters.first { $0.action == explanation.action })
            let first = explanation.steps.first { !$0.passes }
            #expect(letter.explanation.steps.last?.stage == first?.stage)
            #expect(letter.explanation.verdict.code == explanation.verdict.code)
        }
    }

    @Test func observersReceiveTheDeadLetterExplanation() async throws {
        let reported = Mutex<[SettledArrival]>([])
        let supervisor = Supervisor.make { $0.onOutcome = { settled in reported.withLock { $0.append(settled) } } }
        try supervisor.register(Registration("loading", as: Loading.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push", deduplication: .within(DeduplicationLimits()))
        let good = message("loading", id: "1", body: #"{"isShow":true}"#)
        let texts = [good, good, message("loading", id: "2", body: "7"), "not json"]
        try await supervisor.whileRunning { for text in texts { _ = await intake.deliver(arrivals([text])) } }
        let explanations = reported.withLock { $0 }.map(\.explanation)
        #expect(explanations.count == 4 && explanations[0] == nil && explanations[1] == nil)
        let letters = supervisor.deadLetters.letters.map(\.explanation)
        #expect(Array(explanations.dropFirst(2)) == letters)
        #expect(letters.first?.steps.last?.stage == .body)
    }

    @Test func aDuplicateOfAFailureHasNoExplanation() throws {
        let arrival = try #require(arrivals(["not json"]).first)
        let rejected = Outcome.rejected(Outcome.Rejection(.malformed, detail: "why"))
        func settled(isDuplicate: Bool) -> SettledArrival {
            SettledArrival(arrival: arrival, plugin: nil, outcome: rejected, attempts: 0, isDuplicate: isDuplicate)
        }
        #expect(settled(isDuplicate: true).explanation == nil)
        #expect(settled(isDuplicate: false).explanation?.steps.last?.detail == "why")
    }

    private final class Held: Sendable {}

    @Test func aDeadLetterRetainsNeitherPluginNorBatch() async throws {
        let supervisor = Supervisor.make()
        weak var kept: Held?
        do {
            let held = Held()
            kept = held
            try supervisor.register(
                Registration("held", as: Loading.self, from: .source("push")) { [held] _, _ in _ = held }
            )
        }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("held", body: "7")])) }
        try supervisor.remove("held")
        #expect(supervisor.deadLetters.letters.count == 1)
        // The lane releases the plugin in a separate task.
        while !Task.isCancelled, kept != nil { await Task.yield() }
        #expect(kept == nil)
        #expect(supervisor.deadLetters.letters.first?.explanation.verdict.code == "invalidBody")
    }

    @Test func theExplanationReportsTheTimeout() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        let gate = AsyncStream.makeStream(of: Void.self)
        let began = AsyncStream.makeStream(of: Void.self)
        let options = PluginOptions<Empty>(timeout: .seconds(1))
        try supervisor.register(
            Registration("slow", as: Empty.self, from: .source("push"), options: options) { _, _ in
                began.continuation.yield()
                for await _ in gate.stream { return }
            }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            async let outcomes = intake.deliver(arrivals([message("slow")]))
            for await _ in began.stream { break }
            await clock.tick(30)
            #expect(await outcomes.map(\.code) == ["timeout"])
            gate.continuation.yield()
        }
        let explanation = try #require(supervisor.deadLetters.letters.first).explanation
        #expect(explanation.steps.map(\.stage) == [.envelope, .plugin, .access, .attempts, .timeout])
        #expect(explanation.steps.last?.detail == "plugin slow did not return within 1.0 seconds")
    }
}

/// The explanations printed in docs/access.md match the real output.
@Suite(.timeLimit(.minutes(10))) struct DocumentedExplanationTests {
    private struct Refused: Error {}

    private static func guide() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/access.md")
        return try String(contentsOf: root.standardizedFileURL, encoding: .utf8)
    }

    /// Returns the explanation as an indented code block.
    private static func indented(_ explanation: Explanation) -> String {
        explanation.description.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
    }

    @Test func documentedExplanationsMatchTheOutput() async throws {
        let supervisor = Supervisor.make { $0 = SupervisorConfiguration() }
        let rule = AccessRule.all([.not(.source("chat")), .source("page")])
        try supervisor.register(Registration("loading", as: Loading.self, from: rule) { _, _ in })
        try supervisor.register(
            Registration("throws", as: Empty.self, from: .source("push")) { _, _ in throw Refused() }
        )
        let intake = try supervisor.intake(for: "push")
        let explained = supervisor.explain(try #require(arrivals([message("loading", id: "7")]).first))
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("throws", id: "4")])) }
        let letter = try #require(supervisor.deadLetters.letters.first)
        let guide = try Self.guide()
        for explanation in [explained, letter.explanation] {
            let block = Self.indented(explanation)
            #expect(guide.contains(block), "docs/access.md lacks:\n\(block)")
        }
    }
}
