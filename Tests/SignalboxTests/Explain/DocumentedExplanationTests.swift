import Foundation
import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

/// What docs/access.md shows as printed is what is printed.
@Suite(.timeLimit(.minutes(10))) struct DocumentedExplanationTests {
    private struct Refused: Error {}

    private static func guide() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/access.md")
        return try String(contentsOf: root.standardizedFileURL, encoding: .utf8)
    }

    /// As a block of code.
    private static func indented(_ explanation: Explanation) -> String {
        explanation.description.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
    }

    @Test func theGuidesExplanationsAreTrue() async throws {
        let supervisor = Supervisor.make { $0 = SupervisorConfiguration() }
        let rule = AccessRule.all([.not(.source("chat")), .source("page")])
        try supervisor.register("loading", as: Loading.self, from: rule) { _, _ in }
        try supervisor.register("throws", as: Empty.self, from: .source("push")) { _, _ in throw Refused() }
        let intake = try supervisor.intake(for: "push")
        let asked = supervisor.explain(try #require(arrivals([message("loading", id: "7")]).first))
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("throws", id: "4")])) }
        let letter = try #require(supervisor.deadLetters.letters.first)
        let guide = try Self.guide()
        for explanation in [asked, letter.explanation] {
            let block = Self.indented(explanation)
            #expect(guide.contains(block), "docs/access.md has not:\n\(block)")
        }
    }
}
