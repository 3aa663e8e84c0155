import Foundation
import NavigationChain
import SignalboxRoutes
import Testing

/// The WHATWG's own vectors, which are not part of the repository.
@Suite struct NavigationCorpusTests {
    struct Corpus: Decodable {
        let cases: [Vector]
    }

    struct Vector: Decodable {
        let input: String
        let base: String?
        let failure: Bool?
        let protocolName, hostname, pathname: String?

        enum CodingKeys: String, CodingKey {
            case input, base, failure, hostname, pathname
            case protocolName = "protocol"
        }
    }

    @Test func whatIsDecidedIsWhatAnEngineReads() async throws {
        guard let folder = ProcessInfo.processInfo.environment["SIGNALBOX_CORPORA"] else {
            print("skipped: SIGNALBOX_CORPORA is not set; the repository's own confusion cases have run")
            return
        }
        let file = URL(fileURLWithPath: folder).appendingPathComponent("url_app_scheme.dev.json")
        let vectors = try JSONDecoder().decode(Corpus.self, from: Data(contentsOf: file)).cases
        #expect(vectors.count >= 130)
        let router = try NavigationRouter([], fallback: .all)
        var allowed = 0
        for vector in vectors {
            let verdict = await router.decide(vector.input, kind: .link, frame: .main)
            guard verdict.policy != .cancel, let url = verdict.url else {
                #expect(verdict.decider == NavigationVerdict.byURL)
                continue
            }
            allowed += 1
            #expect(vector.failure != true, "\(vector.input)")
            #expect(url.scheme + ":" == vector.protocolName, "\(vector.input)")
            #expect(url.host ?? "" == vector.hostname, "\(vector.input)")
            #expect(url.path == vector.pathname, "\(vector.input)")
        }
        #expect(allowed > 30)
    }
}
