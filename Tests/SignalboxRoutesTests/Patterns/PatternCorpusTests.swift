import Foundation
import SignalboxRoutes
import Testing

/// The vectors of URLNavigator's matcher, which are not part of the repository, with its placeholders written as ours.
///
/// Two intended differences: `<float:id>` has no counterpart, as a route's numbers are integers, and is read as text;
/// `https://<path:url>` is refused, as it would accept any site. URLNavigator does not list the values in each vector,
/// so ours may have more.
@Suite struct PatternCorpusTests {
    struct Corpus: Decodable {
        let cases: [Vector]
    }

    struct Vector: Decodable {
        struct Expected: Decodable {
            struct Value: Decodable { let value: String }
            let pattern: String
            let values: [String: Value]
        }
        let test, url: String
        let candidates: [String]
        let expected: Expected?
    }

    @Test func everyVectorHoldsOrIsRefusedForAReason() throws {
        guard let folder = ProcessInfo.processInfo.environment["SIGNALBOX_CORPORA"] else {
            print("skipped: SIGNALBOX_CORPORA is not set; the repository's own URL vectors have run")
            return
        }
        let file = URL(fileURLWithPath: folder).appendingPathComponent("route_urlnavigator.json")
        let vectors = try JSONDecoder().decode(Corpus.self, from: Data(contentsOf: file)).cases
        #expect(vectors.count >= 17)
        var refused = 0
        for vector in vectors {
            if vector.candidates.contains("https://<path:url>") {
                #expect(throws: RoutePatternError.self) { try Self.table(vector) }
                refused += 1
                continue
            }
            let found = try Self.table(vector).match(URLText(vector.url))
            #expect(found?.pattern.text == vector.expected.map { Self.translated($0.pattern) }, "\(vector.test)")
            for (name, expected) in vector.expected?.values ?? [:] {
                #expect(found?.captures[name] == expected.value, "\(vector.test)")
            }
        }
        #expect(refused == 2)
    }

    struct Strings: Decodable {
        let cases: [String]
    }

    /// Whatever text is escaped into a segment comes back as the same bytes, or the URL is refused.
    @Test func anyTextInASegmentIsFoundAsItWasOrRefused() throws {
        guard let folder = ProcessInfo.processInfo.environment["SIGNALBOX_CORPORA"] else {
            print("skipped: SIGNALBOX_CORPORA is not set; the repository's own encoding vectors have run")
            return
        }
        let file = URL(fileURLWithPath: folder).appendingPathComponent("naughty_strings.json")
        let texts = try JSONDecoder().decode(Strings.self, from: Data(contentsOf: file)).cases
        #expect(texts.count >= 515)
        let any = try URLPattern("/text/{text}")
        var found = 0
        for text in texts where !text.isEmpty {
            let path =
                "/text/"
                + text.utf8.map { "%" + (String($0, radix: 16).count == 1 ? "0" : "") + String($0, radix: 16) }.joined()
            guard let url = try? URLText("myapp:" + path) else {
                #expect(throws: RoutePatternError.self, "\(text.debugDescription)") { try URLPattern(path) }
                continue
            }
            found += 1
            #expect(any.match(url)?["text"].map { Array($0.utf8) } == Array(text.utf8), "\(text.debugDescription)")
            // A literal of more bytes than a pattern may have is the one that has no counterpart.
            guard path.utf8.count <= URLPattern.maximumLength else { continue }
            let table = try RouteTable([(URLPattern(path), true), (any, false)])
            #expect(table.match(url)?.value == true, "\(text.debugDescription)")
        }
        #expect(found > 450)
    }

    private static func table(_ vector: Vector) throws -> RouteTable<Int> {
        try RouteTable(vector.candidates.enumerated().map { (try URLPattern(translated($1)), $0) })
    }

    /// `<int:id>` as `{id:int}`, `<path:p>` as `{p...}`, `<id>`, `<string:id>` and `<float:id>` as `{id}`.
    private static func translated(_ pattern: String) -> String {
        pattern.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            guard segment.hasPrefix("<"), segment.hasSuffix(">") else { return String(segment) }
            let parts = segment.dropFirst().dropLast().split(separator: ":")
            let name = parts.last ?? ""
            switch parts.dropLast().first {
            case "int": return "{\(name):int}"
            case "uuid": return "{\(name):uuid}"
            case "path": return "{\(name)...}"
            default: return "{\(name)}"
            }
        }.joined(separator: "/")
    }
}
