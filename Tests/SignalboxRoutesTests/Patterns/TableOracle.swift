/// Patterns and URLs as what they mean, and the rules in the plainest form: what a table is compared with.
enum TableOracle {
    enum Piece: Hashable {
        case literal(String), int, uuid, text, rest

        /// The lower, the more specific; the end of a pattern stands between text and rest.
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
        /// `nil`: a path pattern.
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
        /// What stands behind the colon: `//`, where the first piece is the host, `///`, `/` or nothing.
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
