import MQTTPush
import SignalboxCore
import Testing

@testable import SignalboxCommand

/// The keys `max_deliveries` and `deliveries_file` of a broker's source, and what holds without them.
@Suite struct DeliveriesConfigurationTests {
    private static let ledger = "use: file, path: ledger.jsonl"

    /// - Parameter uses: what each plugin does.
    private static func text(_ keys: [String], _ uses: [String]) -> String {
        let source = ["broker: 'mqtt://h'", "client_id: c", "topics: [ { pattern: 'push/{action}' } ]"] + keys
        let plugins = uses.enumerated().map { number, use in
            "{ action: a\(number), from: [ { source: push } ], \(use) }"
        }
        return """
            sources: { push: { mqtt: { \(source.joined(separator: ", ")) } } }
            plugins: [ \(plugins.joined(separator: ", ")) ]
            """
    }

    private static func section(_ configuration: RunConfiguration) throws -> MQTTSection {
        guard case .mqtt(let section)? = configuration.sources.first?.kind else {
            throw ValueTextError(description: "the source is not one of a broker")
        }
        return section
    }

    /// The limit as the adapter gets it.
    private static func limit(_ keys: String..., uses: [String]) throws -> MQTTDeliveryLimit? {
        let configuration = try ConfigurationFixture.read(text(keys, uses))
        let section = try Self.section(configuration)
        return section.push(from: "push", limits: MessageLimits(), ledger: configuration.firstLedger).deliveries
    }

    @Test func theFileIsBesideTheFirstLedger() throws {
        let other = "use: file, path: folder/other.jsonl"
        let first = try Self.limit(uses: ["use: print", Self.ledger, other])
        #expect(first == MQTTDeliveryLimit(file: "ledger.jsonl.deliveries.push", deliveries: 5))
        let second = try Self.limit(uses: [other, Self.ledger])
        #expect(second == MQTTDeliveryLimit(file: "folder/other.jsonl.deliveries.push", deliveries: 5))
    }

    @Test func withoutALedgerNothingIsCounted() throws {
        #expect(try Self.limit(uses: ["use: print"]) == nil)
        #expect(try Self.limit("max_deliveries: 2", uses: ["use: print"]) == nil)
    }

    @Test func aMessageIsDeliveredFiveTimesUnlessANumberIsSaid() throws {
        let configuration = try ConfigurationFixture.read(Self.text([], ["use: print"]))
        let section = try Self.section(configuration)
        #expect(section.maxDeliveries == 5 && section.deliveriesFile == nil)
        for number in [1, 1_000] {
            let limit = try Self.limit("max_deliveries: \(number)", uses: [Self.ledger])
            #expect(limit?.deliveries == number)
        }
    }

    @Test func aFileThatIsNamedTakesThePlaceOfTheDefault() throws {
        for uses in [["use: print"], [Self.ledger]] {
            let limit = try Self.limit("deliveries_file: own", "max_deliveries: 3", uses: uses)
            #expect(limit == MQTTDeliveryLimit(file: "own", deliveries: 3))
        }
        let kept = try Self.limit("deliveries_file: { file: user.txt }", uses: [Self.ledger])
        #expect(kept?.file == "kiosk")
    }

    @Test(arguments: [
        ("max_deliveries: 0", "invalidValue sources.push.mqtt.max_deliveries"),
        ("max_deliveries: 1001", "invalidValue sources.push.mqtt.max_deliveries"),
        ("deliveries_file: gone/own", "missingFile sources.push.mqtt.deliveries_file"),
        ("deliveries_file: folder", "missingFile sources.push.mqtt.deliveries_file"),
    ])
    func mistakesAreToldWithTheirPlace(_ key: String, _ problem: String) {
        let findings = ConfigurationFixture.findings(Self.text([key], ["use: print"]))
        #expect(findings == ["error \(problem)"])
    }
}
