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
