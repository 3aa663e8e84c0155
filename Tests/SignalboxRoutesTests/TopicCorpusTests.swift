import Foundation
import SignalboxRoutes
import Testing

/// Further vectors, gathered from other implementations, which are not part of the repository.
@Suite struct TopicCorpusTests {
    struct Corpus: Decodable {
        let cases: [Vector]
    }

    struct Vector: Decodable {
        let filter, topic: String
        /// `nil`: filter or topic is not legal.
        let matches: Bool?

        init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            filter = try values.decode(String.self)
            topic = try values.decode(String.self)
            matches = try? values.decode(Bool.self)
        }
    }

    @Test func everyVectorOfTheCorpusHolds() throws {
        guard let folder = ProcessInfo.processInfo.environment["SIGNALBOX_CORPORA"] else {
            print("skipped: SIGNALBOX_CORPORA is not set; the repository's own topic vectors have run")
            return
        }
        let file = URL(fileURLWithPath: folder).appendingPathComponent("mqtt_topic_match.dev.json")
        let vectors = try JSONDecoder().decode(Corpus.self, from: Data(contentsOf: file)).cases
        #expect(vectors.count >= 132)
        for vector in vectors {
            #expect(Self.answer(vector) == vector.matches, "\(vector.filter) on \(vector.topic)")
        }
    }

    private static func answer(_ vector: Vector) -> Bool? {
        guard let filter = try? TopicFilter(vector.filter), let topic = try? TopicName(vector.topic) else { return nil }
        return filter.matches(topic)
    }
}
