import BrokerKit
import Testing

/// Checks files with very many mistakes, sources, plugins or tags.
@Suite(.timeLimit(.minutes(10))) struct CheckSizeTests {
    private static let trap: [(String, Int, String)] = [
        ("limits:\n" + (0..<60_000).map { "  k\($0): 1\n" }.joined(), 60_000, " [unknownKey]"),
        ("limits:\n" + (0..<60_000).map { "  k\($0 / 2): 1\n" }.joined(), 1, " [duplicateKey]"),
        ("limits:\n  depth: &a [1, 1]\n" + nested(60), 1, " [notYAML]"),
    ]

    /// Returns keys whose aliases stand for 2^count values.
    private static func nested(_ count: Int) -> String {
        let names = ["a"] + (1...count).map { "a\($0)" }
        return zip(names, names.dropFirst()).map { "  \($1): &\($1) [*\($0), *\($0)]\n" }.joined()
    }

    @Test(arguments: trap)
    func aFileWithManyMistakesYieldsAHundredFindingsAndTheirCount(_ text: String, _ errors: Int, _ end: String)
        async throws
    {
        let finished = try await CheckLiveTests.check(["\(CheckLiveTests.good)\n\(text)"])
        #expect(finished.status == 65)
        #expect(finished.output.count == min(errors, 100))
        #expect(finished.output.allSatisfy { $0.hasSuffix(end) })
        let rest = "signalbox: 0.yaml: \(errors - 100) more findings are not shown; correct these first"
        let count = "signalbox: \(errors) error\(errors == 1 ? "" : "s"), 0 warnings in 1 file"
        #expect(finished.errors == (errors > 100 ? [rest, count] : [count]))
    }

    /// If each plugin were compared with each source, the time limit of this suite would not suffice.
    @Test func manySourcesAndPluginsAreNotComparedPairwise() async throws {
        var (sources, plugins) = ("", "")
        for number in 0..<3_000 {
            let name = "a\(number)"
            let links = "{ routes: [ { pattern: '\(name)://b', action: \(name) } ], urls: ['\(name)://b'] }"
            sources += "  s\(number): { links: \(links) }\n"
            plugins += "  - { action: \(name), use: log, from: [ { source: s\(number / 2) } ] }\n"
        }
        let checked = try await CheckLiveTests.check(["sources:\n\(sources)plugins:\n\(plugins)"])
        #expect(checked.status == 65)
        // A route is dead unless its plugin admits its source, which only the first one does.
        #expect(checked.errors.last?.hasPrefix("signalbox: 2999 errors, ") == true, "\(checked.errors)")
    }

    private struct Large: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let sources: [String]
        let plugins: [String]
        let warnings: Int
        /// The end of the first finding's message, before its code.
        var first = ""
    }

    private static let chat = "{ chat: { port: 0, absent_origin: allowed } }"
    private static let link = "{ links: { routes: [ { pattern: 'p://b', action: x } ], urls: ['p://b'] } }"
    private static let join = "a plugin with 'use: join' whose 'from' admits 'c0'"

    private static let large = [
        Large(
            testDescription: "tags of one chat",
            sources: ["c0: \(chat)"],
            plugins: (0..<3_000).map { "action: j\($0), use: join, tag: t\($0), from: [c0]" }
                + (0..<3_000).map { "action: b\($0), use: broadcast, to: c0, tag: u\($0), from: [c0]" },
            warnings: 3_000,
            first: "; did you mean 't0'?; give the chat 'tags: [u0]', or add \(join)"
        ),
        Large(
            testDescription: "one rule that admits many chats",
            sources: ["p: \(link)"] + (0..<1_500).map { "c\($0): \(chat)" },
            plugins: ["action: x, use: log, from: [p]"]
                + (0..<1_500).map { "action: b\($0), use: broadcast, tag: u\($0), from: [ { not: p } ]" },
            warnings: 1_500,
            first: "so its messages reach no one; give the chat 'tags: [u0]', or add \(join)"
        ),
        Large(
            testDescription: "one rule that lists many chats",
            sources: (0..<4_000).map { "c\($0): \(chat)" },
            plugins: [
                "action: j, use: join, from: [ { any: [\((0..<4_000).map { "c\($0)" }.joined(separator: ", "))] } ]"
            ],
            warnings: 0
        ),
    ]

    /// If each tag or source were compared with all others, these files would take minutes.
    @Test(arguments: large) private func manyTagsAndCallersAreNotComparedPairwise(_ large: Large) async throws {
        let sources = large.sources.map { "  \($0)\n" }.joined()
        let plugins = large.plugins.map { "  - { \($0) }\n" }.joined()
        let checked = try await CheckLiveTests.check(["sources:\n\(sources)plugins:\n\(plugins)"])
        #expect(checked.status == 0)
        #expect(checked.output.count == min(large.warnings, 100))
        #expect(checked.output.allSatisfy { $0.hasSuffix("\(Self.join) [tagWithoutConnection]") })
        #expect(checked.output.first?.hasSuffix("\(large.first) [tagWithoutConnection]") != false, "\(checked.output)")
        #expect(checked.errors.last == "signalbox: 0 errors, \(large.warnings) warnings in 1 file")
    }

    @Test(arguments: [[], ["--json"]]) func noFindingIsLongerThanAKilobyte(_ options: [String]) async throws {
        let long = String(repeating: "\\u0007\\\"é", count: 100)
        let sources = (0..<500).map { "  source\($0): { script: { ? \"\(long)\" : 1 } }\n" }.joined()
        let text = CheckLiveTests.good.replacing("plugins:", with: "\(sources)plugins:")
            .replacing("timeout: 3s", with: "? \"\(long)\"\n: 1")
            .replacing("broker: mqtt://127.0.0.1:1883", with: "broker: \"\(long)\"")
        let finished = try await CheckLiveTests.check([text], options)
        #expect(finished.output.count == 100)
        #expect(finished.output.allSatisfy { $0.utf8.count < 1_000 })
        #expect(finished.output.contains { $0.contains("…") })
    }
}
