import SignalboxRoutes
import Testing

/// Random small tables against the plainest form of the rules.
@Suite struct TableOracleTests {
    private static let literals = ["a", "b", "7", "a/b", "621425b8-42d1-4ab4-9a58-1e69d708a84b"]
    private static let values = literals + ["0", "-1", "07", "", "c", "/"]
    private static let starts = ["m", "n"].flatMap { scheme in
        ["//", "///", "/", ""].map { TableOracle.Start(scheme: scheme, slashes: $0) }
    }

    private static func pattern(_ random: inout SeededGenerator) -> TableOracle.Pattern {
        let start = Int.random(in: 0..<3, using: &random) == 0 ? nil : starts.randomElement(using: &random)
        var pieces: [TableOracle.Piece] = []
        if start?.slashes == "//" {
            pieces.append([.literal("a"), .literal("b"), .text, .rest].randomElement(using: &random) ?? .text)
        }
        while pieces.last != .rest, Int.random(in: 0..<4, using: &random) > 0, pieces.count < 5 {
            let literal = literals.randomElement(using: &random) ?? "a"
            pieces.append(
                [.literal(literal), .literal("a"), .int, .uuid, .text, .rest].randomElement(using: &random) ?? .int
            )
        }
        return TableOracle.Pattern(start: start, pieces: pieces)
    }

    private static func location(_ random: inout SeededGenerator) -> TableOracle.Location? {
        guard let start = starts.randomElement(using: &random) else { return nil }
        var pieces = start.slashes == "//" ? [["a", "b", "c"].randomElement(using: &random) ?? "a"] : []
        for _ in 0..<Int.random(in: 0..<6, using: &random) {
            let value = Bool.random(using: &random) ? "a" : values.randomElement(using: &random) ?? "a"
            // Without a host, an empty first segment would be read as the slashes of one.
            if pieces.isEmpty && value.isEmpty { continue }
            pieces.append(value)
        }
        return TableOracle.Location(start: start, pieces: pieces)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func aTableFindsWhatTheRulesSay(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var matches = 0
        var choices = 0
        for _ in 0..<1_000 {
            let patterns = Set((0..<Int.random(in: 1..<12, using: &random)).map { _ in Self.pattern(&random) })
            let routes = try RouteTable(patterns.map { (try URLPattern($0.text), $0) })
            for _ in 0..<12 {
                guard let location = Self.location(&random) else { continue }
                let url = try URLText(location.text)
                let candidates = patterns.filter { TableOracle.matches($0, location) }
                for pattern in patterns {
                    let isMatched = try URLPattern(pattern.text).match(url) != nil
                    #expect(isMatched == candidates.contains(pattern), "\(pattern.text) on \(location.text)")
                }
                let expected = candidates.min { $0.ranks.lexicographicallyPrecedes($1.ranks) }
                let found = routes.match(url)
                #expect(found?.value == expected, "\(location.text) in \(patterns.map(\.text))")
                #expect(try found?.captures == found.flatMap { try URLPattern($0.pattern.text).match(url) })
                matches += found == nil ? 0 : 1
                choices += candidates.count > 1 ? 1 : 0
            }
        }
        // Else the tables would say nothing.
        #expect(matches > 2_000 && choices > 500, "\(matches) matches, \(choices) with a choice")
    }

    @Test func aPatternOfTheSameShapeIsAlwaysRefused() throws {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<500 {
            let patterns = Set((0..<6).map { _ in Self.pattern(&random) })
            let twice = patterns.map(\.text) + [patterns.first?.text.replacing("{n", with: "{m") ?? ""]
            let error = #expect(throws: RoutePatternError.self) {
                try RouteTable(twice.map { (try URLPattern($0), 0) })
            }
            #expect(error?.reason == .ambiguous && error?.otherPattern == patterns.first?.text)
        }
    }
}
