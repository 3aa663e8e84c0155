import SignalboxRoutes
import TestSupport
import Testing

/// Random small tables, compared with a naive implementation of the rules.
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

    private static func patterns(_ count: Int, _ random: inout SeededGenerator) -> [TableOracle.Pattern] {
        var known: Set<TableOracle.Pattern> = []
        return (0..<count).map { _ in pattern(&random) }.filter { known.insert($0).inserted }
    }

    private static func location(_ random: inout SeededGenerator) -> TableOracle.Location? {
        guard let start = starts.randomElement(using: &random) else { return nil }
        var pieces = start.slashes == "//" ? [["a", "b", "c"].randomElement(using: &random) ?? "a"] : []
        for _ in 0..<Int.random(in: 0..<6, using: &random) {
            let value = Bool.random(using: &random) ? "a" : values.randomElement(using: &random) ?? "a"
            // Without a host, an empty first segment would be read as the slashes before a host.
            if pieces.isEmpty && value.isEmpty { continue }
            pieces.append(value)
        }
        return TableOracle.Location(start: start, pieces: pieces)
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func aTableFindsTheMostSpecificRoute(seed: UInt64) throws {
        var random = SeededGenerator(printing: seed)
        var matches = 0
        var choices = 0
        for _ in 0..<500 {
            let patterns = Self.patterns(Int.random(in: 1..<12, using: &random), &random)
            let parsed = try patterns.map { (pattern: try URLPattern($0.text), value: $0) }
            let routes = try RouteTable(parsed)
            for _ in 0..<12 {
                guard let location = Self.location(&random) else { continue }
                let url = try URLText(location.text)
                let candidates = patterns.filter { TableOracle.matches($0, location) }
                for (pattern, meaning) in parsed {
                    let isMatched = pattern.match(url) != nil
                    #expect(isMatched == candidates.contains(meaning), "\(pattern) on \(location.text)")
                }
                let expected = candidates.min { $0.ranks.lexicographicallyPrecedes($1.ranks) }
                let found = routes.match(url)
                #expect(found?.value == expected, "\(location.text) in \(patterns.map(\.text))")
                #expect(found?.captures == found.flatMap { $0.pattern.match(url) })
                matches += found == nil ? 0 : 1
                choices += candidates.count > 1 ? 1 : 0
            }
        }
        // Otherwise the test would prove little.
        #expect(matches > 1_000 && choices > 150, "\(matches) matches, \(choices) with a choice")
    }

    @Test func aPatternOfTheSameShapeIsAlwaysRefused() throws {
        var random = SeededGenerator(printing: 5)
        for _ in 0..<500 {
            let patterns = Self.patterns(6, &random)
            let twice = patterns.map(\.text) + [patterns.first?.text.replacing("{n", with: "{m") ?? ""]
            let error = #expect(throws: RoutePatternError.self) {
                try RouteTable(twice.map { (try URLPattern($0), 0) })
            }
            #expect(error?.reason == .ambiguous && error?.otherPattern == patterns.first?.text)
        }
    }
}

/// A naive implementation of the rules for patterns and URLs, with which a table is compared.
enum TableOracle {
    enum Piece: Hashable {
        case literal(String), int, uuid, text, rest

        /// The rank, lower if more specific. The end of a pattern ranks between text and rest.
        var rank: Int {
            switch self {
            case .literal: 0
            case .int, .uuid: 1
            case .text: 2
            case .rest: 4
            }
        }
    }

    struct Pattern: Hashable {
        /// The start of the URL, or `nil` for a path pattern.
        let start: Start?
        let pieces: [Piece]

        var ranks: [Int] {
            let ranks = [start == nil ? 1 : 0] + pieces.map(\.rank)
            return pieces.last == .rest ? ranks : ranks + [3]
        }

        var text: String {
            var names = 0
            let texts = pieces.map { piece -> String in
                names += 1
                switch piece {
                case .literal(let text): return escaped(text)
                case .int: return "{n\(names):int}"
                case .uuid: return "{n\(names):uuid}"
                case .text: return "{n\(names)}"
                case .rest: return "{n\(names)...}"
                }
            }
            return (start?.text ?? "/") + texts.joined(separator: "/")
        }
    }

    struct Start: Hashable {
        let scheme: String
        /// The text after the colon: `//`, after which the first piece is the host, `///`, `/` or nothing.
        let slashes: String

        var text: String { "\(scheme):\(slashes)" }
    }

    struct Location: Hashable {
        let start: Start
        let pieces: [String]

        var text: String { start.text + pieces.map(escaped).joined(separator: "/") }
    }

    static func matches(_ pattern: Pattern, _ url: Location) -> Bool {
        var pieces = url.pieces
        if pieces.count > (url.start.slashes == "//" ? 1 : 0), pieces.last == "" { pieces.removeLast() }
        if let start = pattern.start {
            guard start == url.start else { return false }
        } else if url.start.slashes == "//" {
            pieces.removeFirst()
        } else if url.start.slashes == "" {
            return false
        }
        return matches(pattern.pieces[...], pieces[...])
    }

    private static func matches(_ pattern: ArraySlice<Piece>, _ pieces: ArraySlice<String>) -> Bool {
        guard let first = pattern.first else { return pieces.isEmpty }
        if first == .rest { return !pieces.contains { $0.contains("/") } }
        guard let piece = pieces.first else { return false }
        let fits: Bool
        switch first {
        case .literal(let text): fits = text == piece
        case .int: fits = ["0", "7", "-1"].contains(piece)
        case .uuid: fits = piece.count == 36
        case .text, .rest: fits = !piece.isEmpty
        }
        return fits && matches(pattern.dropFirst(), pieces.dropFirst())
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("/", with: "%2F")
    }
}
