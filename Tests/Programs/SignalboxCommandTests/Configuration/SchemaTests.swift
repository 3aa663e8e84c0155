import Foundation
import Testing

@testable import SignalboxCommand

@Suite struct SchemaTests {
    private static func definitions() throws -> [String: [String: Any]] {
        let root = "/" + #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
        let bytes = try FileContent.read("\(root)/docs/configuration.schema.json", limit: 1 << 20).get()
        let schema = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        return try #require(schema["$defs"] as? [String: [String: Any]])
    }

    @Test func theSchemaHasTheKeysThatTheReaderKnows() throws {
        let definitions = try SchemaTests.definitions()
        for mapping in MappingKeys.all {
            let properties = try #require(definitions[mapping.name]?["properties"] as? [String: Any], "\(mapping.name)")
            #expect(Set(properties.keys) == Set(mapping.keys), "\(mapping.name)")
            #expect(definitions[mapping.name]?["additionalProperties"] as? Bool == false, "\(mapping.name)")
        }
    }

    @Test func theReaderKnowsEachMappingOfTheSchema() throws {
        let described = try SchemaTests.definitions().filter { $0.value["properties"] != nil }.map(\.key)
        #expect(Set(described) == Set(MappingKeys.all.map(\.name)))
        #expect(MappingKeys.all.count == described.count)
    }

    @Test func theWordsOfTheSchemaAreTheReaders() throws {
        let definitions = try SchemaTests.definitions()
        let words = { (definition: String, key: String) throws -> [String]? in
            let properties = try #require(definitions[definition]?["properties"] as? [String: [String: Any]])
            return properties[key]?["enum"] as? [String]
        }
        #expect(try words("plugin", "use") == PluginUse.words)
        #expect(try words("topic", "envelope") == TopicEnvelope.allCases.map(\.rawValue))
        #expect(try words("topic", "payload") == ["json", "text", "bytes"])
    }
}
