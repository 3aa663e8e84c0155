import Foundation
import SignalboxRoutes
import Testing

/// Further vectors, gathered from other implementations, which are not part of the repository.
@Suite struct URLCorpusTests {
    struct Corpus<Vector: Decodable>: Decodable {
        let cases: [Vector]
    }

    struct WebVector: Decodable {
        let input: String
        let base: String?
        let failure: Bool?
        let href, hostname, pathname, search, hash, port: String?
    }

    @Test func aVectorOfTheWebPlatformIsRefusedOrReadAsItSays() throws {
        guard let vectors: [WebVector] = try corpus("url_app_scheme.dev.json") else { return }
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
        #expect(read >= 70, "of \(vectors.count) vectors \(read) were read")
    }

    struct Encoding: Decodable {
        let input: String
        let output: [String: String]
    }

    @Test func textBeyondASCIIIsEscapedAsUTF8() throws {
        guard let vectors: [Encoding] = try corpus("url_percent_encoding.json") else { return }
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

    @Test func referencesResolveAsRFC3986Says() throws {
        guard let vectors: [Resolution] = try corpus("url_rfc3986.json") else { return }
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
                // The WHATWG reads a scheme without slashes as if it were not there.
                let isAmbiguous = vector.ref == "http:g"
                // A special URL always has a path.
                let expected = vector.expected == "http://g" ? "http://g/" : vector.expected
                #expect(resolved?.text == (isAmbiguous ? nil : expected), "\(vector.ref)")
            }
        }
    }

    private func corpus<Vector: Decodable>(_ name: String) throws -> [Vector]? {
        guard let folder = ProcessInfo.processInfo.environment["SIGNALBOX_CORPORA"] else {
            print("skipped: SIGNALBOX_CORPORA is not set; the repository's own URL vectors have run")
            return nil
        }
        let file = URL(fileURLWithPath: folder).appendingPathComponent(name)
        return try JSONDecoder().decode(Corpus<Vector>.self, from: Data(contentsOf: file)).cases
    }
}
