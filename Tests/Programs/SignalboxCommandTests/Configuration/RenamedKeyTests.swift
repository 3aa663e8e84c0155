import Signalbox
import Testing

@testable import SignalboxCommand

/// The former names of keys, which are accepted with a warning.
@Suite struct RenamedKeyTests {
    private static func file(source: String = "", rest: String = "") -> String {
        """
        sources:
          push:
            mqtt: { broker: 'mqtt://127.0.0.1', client_id: c, topics: [ { pattern: 'push/{action}' } ] }
            \(source)
        plugins: [ { action: work, use: log, from: [ { source: push } ] } ]
        \(rest)
        """
    }

    @Test(arguments: [
        ("repeats: never", "", "warning renamedKey sources.push.repeats"),
        ("repeats: { count: 5 }", "", "warning renamedKey sources.push.repeats"),
        ("", "hold_limit: 20s", "warning renamedKey hold_limit"),
    ])
    func aFormerNameIsReadWithAWarning(_ source: String, _ rest: String, _ finding: String) throws {
        let text = Self.file(source: source, rest: rest)
        #expect(ConfigurationFixture.findings(text) == [finding])
        let configuration = try ConfigurationFixture.read(text)
        #expect(configuration.warnings.map { "\($0.severity) \($0.code) \($0.path)" } == [finding])
        #expect(configuration.warnings.first?.code.logMessage != nil)
    }

    @Test func aFormerNameSetsTheSameOption() throws {
        let former = try ConfigurationFixture.read(Self.file(source: "repeats: { count: 5 }", rest: "hold_limit: 20s"))
        let present = try ConfigurationFixture.read(
            Self.file(source: "deduplication: { count: 5 }", rest: "ack_deadline: 20s")
        )
        #expect(former.sources == present.sources && former.supervisor.ackDeadline == present.supervisor.ackDeadline)
        #expect(former.sources.first?.deduplication == .within(DeduplicationLimits(count: 5)))
        #expect(former.supervisor.ackDeadline == .seconds(20))
        #expect(former.warnings.map(\.suggestion) == ["deduplication", "ack_deadline"])
        #expect(present.warnings.isEmpty)
    }

    @Test func anErrorInTheValueNamesTheFormerKey() {
        let found = ConfigurationFixture.problems(Self.file(rest: "hold_limit: 1ms"))
        #expect(found == ["6:13: hold_limit: expected 10ms to 1h"])
    }

    @Test(arguments: [
        ("repeats: never\n    deduplication: never", "", "4:5: sources.push.repeats: 'repeats'", "'deduplication'"),
        ("deduplication: never\n    repeats: never", "", "5:5: sources.push.repeats: 'repeats'", "'deduplication'"),
        ("", "hold_limit: 20s\nack_deadline: 20s", "6:1: hold_limit: 'hold_limit'", "'ack_deadline'"),
    ])
    func usingBothNamesIsAnErrorThatNamesBoth(_ source: String, _ rest: String, _ start: String, _ other: String) {
        let found = ConfigurationFixture.problems(Self.file(source: source, rest: rest))
        #expect(found.count == 1, "found: \(found)")
        #expect(found.first?.hasPrefix(start) == true && found.first?.contains(other) == true, "found: \(found)")
    }

    /// Replacing the former name would write the present one twice.
    @Test func theErrorForBothNamesSuggestsNoReplacement() {
        let error = #expect(throws: ConfigurationError.self) {
            try ConfigurationFixture.read(Self.file(rest: "hold_limit: 20s\nack_deadline: 20s"))
        }
        #expect(error?.problems.map(\.suggestion) == [nil])
    }

    @Test func aFormerNameIsAcceptedOnlyInItsMapping() {
        let found = ConfigurationFixture.problems(Self.file(source: "hold_limit: 20s"))
        #expect(found.first?.contains("unknown key 'hold_limit'") == true, "found: \(found)")
    }

    @Test(arguments: [
        ("configuration", "hold_limit", "ack_deadline"), ("source", "repeats", "deduplication"),
        ("mqtt", "shared_key", "pre_shared_key"),
    ])
    func formerNamesMapToPresentKeys(_ mapping: String, _ former: String, _ present: String) throws {
        let keys = try #require(try KnownKeys.all()[mapping])
        #expect(keys.contains(present) && !keys.contains(former))
    }
}
