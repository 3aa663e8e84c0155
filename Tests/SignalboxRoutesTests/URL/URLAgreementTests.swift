import SignalboxRoutes
import Testing

/// What is accepted means the same to a reader of RFC 3986.
@Suite struct URLAgreementTests {
    @Test(arguments: 0..<8) func twoStandardsReadTheSameHostAndPath(_ seed: UInt64) {
        var random = SeededPieces(seed: seed)
        var accepted = 0
        for _ in 0..<4_000 {
            let text = random.url()
            guard let url = try? URLText(text) else { continue }
            accepted += 1
            let other = RFC3986Reading(text)
            #expect(url.scheme == other.scheme, "\(text)")
            #expect(sameHost(url.host, other.host), "\(text)")
            #expect(url.segments == other.segments || (url.segments == [""] && other.segments.isEmpty), "\(text)")
        }
        #expect(accepted > 400, "enough were accepted to say something")
    }

    private func sameHost(_ one: String?, _ other: String?) -> Bool {
        // Addresses have several spellings, whose meaning other tests compare.
        if let one, let other, one.hasPrefix("["), other.hasPrefix("[") { return true }
        return one?.lowercased() == other
    }
}

/// URLs made of pieces that readers disagree about.
struct SeededPieces {
    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    private static let schemes = ["https", "http", "ws", "file", "myapp", "x", "JavaScript"]
    private static let slashes = ["://", "://", "://", "://", "://", "://", ":", ":/", ":///", ":\\\\"]
    private static let hosts = [
        "a", "A.b", "shop.example", "127.0.0.1", "127.1", "0x7f.1", "[::1]", "[1:2::3]", "xn--fa-hia", "a..b", "a.",
        "b\u{FC}cher", "ex%61mple", "", "good@evil", "a!b", "Product",
    ]
    private static let ports = ["", "", "", "", ":", ":80", ":443", ":08", ":99999"]
    private static let segments = [
        "a", "b", "..", ".", "%2e", ".%2E", "", "%2F", "%252e", "%41", "%zz", "\u{FC}", "a b", "<", "\\", "C:", "C|",
        ";x", "@",
        ":", "...", "~",
    ]
    private static let ends = ["", "", "", "?", "?q=1", "#f", "?a#b", "?/../b"]

    mutating func url() -> String {
        let path = (0..<Int.random(in: 0..<6, using: &random)).map { _ in "/" + pick(Self.segments) }.joined()
        return pick(Self.schemes) + pick(Self.slashes) + pick(Self.hosts) + pick(Self.ports) + path + pick(Self.ends)
    }

    private mutating func pick(_ pieces: [String]) -> String {
        pieces[Int.random(in: pieces.indices, using: &random)]
    }
}
