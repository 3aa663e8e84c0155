import SignalboxRoutes
import TestSupport
import Testing

/// An accepted URL means the same to a reader of RFC 3986.
@Suite struct URLAgreementTests {
    @Test(arguments: 0..<8) func acceptedURLsReadAlikeUnderRFC3986(_ seed: UInt64) {
        var random = SeededPieces(seed: seed)
        var accepted = 0
        for _ in 0..<4_000 {
            let text = random.url()
            guard let url = try? URLText(text) else { continue }
            accepted += 1
            let other = RFC3986Reading(text)
            #expect(url.scheme == other.scheme, "\(text)")
            #expect(sameHost(url.decodedHost, other.host), "\(text)")
            #expect(url.segments == other.segments || (url.segments == [""] && other.segments.isEmpty), "\(text)")
        }
        #expect(accepted > 400, "only \(accepted) URLs were accepted")
    }

    private func sameHost(_ one: String?, _ other: String?) -> Bool {
        // An address has several spellings. Other tests compare their meaning.
        if let one, let other, one.hasPrefix("["), other.hasPrefix("[") { return true }
        return one?.lowercased() == other
    }
}

/// A generator of URLs from pieces that readers interpret differently.
struct SeededPieces {
    private var random: SeededGenerator

    init(seed: UInt64) {
        random = SeededGenerator(printing: seed)
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

/// Further vectors, collected from other implementations. They are not part of the repository.
@Suite struct URLCorpusTests {
    struct WebVector: Decodable {
        let input: String
        let base: String?
        let failure: Bool?
        let href, hostname, pathname, search, hash, port: String?
    }

    @Test func webPlatformVectorsAreRefusedOrReadAsExpected() throws {
        guard let vectors = try Corpus.cases("url_app_scheme.dev.json", of: WebVector.self) else { return }
        #expect(vectors.count >= 130)
        var read = 0
        for vector in vectors {
            guard let url = try? URLText(vector.input) else { continue }
            read += 1
            #expect(vector.failure != true, "\(vector.input)")
            #expect(url.text == vector.href, "\(vector.input)")
            #expect(url.host ?? "" == vector.hostname, "\(vector.input)")
            #expect(url.path == vector.pathname, "\(vector.input)")
            #expect(url.port.map(String.init) ?? "" == vector.port, "\(vector.input)")
            #expect(url.query.map { $0.isEmpty ? "" : "?\($0)" } ?? "" == vector.search, "\(vector.input)")
        }
        #expect(read >= 70, "only \(read) of \(vectors.count) vectors were accepted")
    }

    struct Encoding: Decodable {
        let input: String
        let output: [String: String]
    }

    @Test func nonASCIITextIsEscapedAsUTF8() throws {
        guard let vectors = try Corpus.cases("url_percent_encoding.json", of: Encoding.self) else { return }
        for vector in vectors {
            guard !vector.input.unicodeScalars.contains(where: { $0.value < 0x20 }) else {
                #expect(throws: URLTextError.self) { try URLText("https://a/?\(vector.input)") }
                continue
            }
            #expect(try URLText("https://a/?\(vector.input)").query == vector.output["utf-8"])
            #expect(try URLText("https://a/#\(vector.input)").fragment == vector.output["utf-8"])
        }
    }

    struct Resolution: Decodable {
        let kind: String
        let base: String?
        let ref: String
        let expected: String?
    }

    @Test func referencesResolveAccordingToRFC3986() throws {
        guard let vectors = try Corpus.cases("url_rfc3986.json", of: Resolution.self) else { return }
        #expect(vectors.count >= 53)
        for vector in vectors {
            switch vector.kind {
            case "equivalent":
                let (one, other) = (try URLText(vector.ref), try URLText(vector.expected ?? ""))
                #expect(one.scheme == other.scheme && one.host == other.host && one.segments == other.segments)
            case "valid-example":
                #expect(throws: Never.self, "\(vector.ref)") { try URLText(vector.ref) }
            default:
                let resolved = try? URLText(vector.ref, relativeTo: URLText(vector.base ?? ""))
                // The WHATWG standard ignores a scheme without slashes.
                let isAmbiguous = vector.ref == "http:g"
                // A special URL always has a path.
                let expected = vector.expected == "http://g" ? "http://g/" : vector.expected
                #expect(resolved?.text == (isAmbiguous ? nil : expected), "\(vector.ref)")
            }
        }
    }
}

@Suite struct URLResolvingTests {
    /// Each form of reference in RFC 3986, section 5.2.2.
    static let resolved: [(reference: String, base: String, text: String)] = [
        ("", "https://a/b?q#f", "https://a/b?q"),
        ("#g", "https://a/b?q#f", "https://a/b?q#g"),
        ("?r", "https://a/b?q#f", "https://a/b?r"),
        ("/c", "https://a/b/?q", "https://a/c"),
        ("c", "https://a/b/d?q", "https://a/b/c"),
        ("c", "myapp://a", "myapp://a/c"),
        ("../c", "https://a/b/d/e", "https://a/b/c"),
        ("//h/c", "https://a/b", "https://h/c"),
        ("x:c", "https://a/b", "x:c"),
        ("#g", "mailto:a", "mailto:a#g"),
        ("./a:b", "https://a/b", "https://a/a:b"),
        ("c", "file:///a/b", "file:///a/c"),
        ("#f", "file:///C:/a", "file:///C:/a#f"),
    ]

    @Test(arguments: resolved)
    func aReferenceResolvesAgainstItsBase(_ reference: String, _ base: String, _ text: String) throws {
        #expect(try URLText(reference, relativeTo: URLText(base)).text == text)
    }

    static let refused: [(reference: String, base: String, reason: URLTextError.Reason, offset: Int)] = [
        ("https:g", "https://a/b", .ambiguousURL, 6),
        ("\\\\evil", "https://a/b", .ambiguousURL, 0),
        ("/\\evil", "https://a/b", .ambiguousURL, 1),
        ("///evil", "https://a/b", .ambiguousURL, 2),
        ("1a:b", "https://a/b", .ambiguousURL, 2),
        ("c", "mailto:a", .missingScheme, 0),
        (" c", "https://a/b", .surroundingSpace, 0),
        ("c\t", "https://a/b", .controlCharacter, 1),
        ("//u@h", "https://a/b", .userinfo, 3),
        ("c/%zz", "https://a/b", .invalidEscape, 2),
        ("/x", "file:///C:/a", .ambiguousURL, 0),
        ("x", "file:///C:", .ambiguousURL, 0),
        ("/", "file://host/C:/a", .ambiguousURL, 0),
    ]

    @Test(arguments: refused)
    func anAmbiguousReferenceIsRefused(
        _ reference: String,
        _ base: String,
        _ reason: URLTextError.Reason,
        _ offset: Int
    ) throws {
        let base = try URLText(base)
        let error = #expect(throws: URLTextError.self) { try URLText(reference, relativeTo: base) }
        #expect(error?.reason == reason)
        #expect(error?.offset == offset)
    }
}
