import Signalbox
import SignalboxCore
import SignalboxStore
import Testing

@testable import SignalboxCommand

@Suite struct StoreConfigurationTests {
    private static func file(_ source: String = "", _ rest: String = "store: messages.db") -> String {
        """
        sources:
          push: { mqtt: { broker: 'mqtt://h', client_id: c, topics: [ { pattern: a } ] }\(source) }
        plugins: [ { action: work, use: log, timeout: 1m, from: push } ]
        \(rest)
        """
    }

    @Test func aStoreIsAPathOrAMapping() throws {
        #expect(try ConfigurationFixture.read(Self.file()).store == StoreSection(path: "messages.db"))
        #expect(try ConfigurationFixture.read(Self.file("", "")).store == nil)
        let text = "store: { path: a.db, handled_ids: 5, dead_letters: { count: 7, bytes: 1KiB, age: 2h } }"
        let store = try #require(try ConfigurationFixture.read(Self.file("", text)).store)
        #expect(store.path == "a.db")
        #expect(store.options.handledIDs == 5)
        #expect(store.options.deadLetters == DeadLetterRetention(count: 7, bytes: 1_024, age: .seconds(7_200)))
        #expect(store.options.history == nil)
    }

    @Test(arguments: [
        ("{}", HistoryRetention()), ("{ count: 7, age: 2h }", HistoryRetention(count: 7, age: .seconds(7_200))),
    ])
    func aHistoryIsKeptOnRequest(_ value: String, _ expected: HistoryRetention) throws {
        let text = Self.file("", "store: { path: a.db, history: \(value) }")
        #expect(try ConfigurationFixture.read(text).store?.options.history == expected)
    }

    @Test func thePathIsRelativeToTheFolderOfTheConfiguration() throws {
        let read = { (file: String) throws in
            try ConfigurationReader.read(Self.file(), file: file, environment: ConfigurationFixture.environment).store?
                .path
        }
        #expect(try read("f.yaml") == "messages.db")
        #expect(try read("etc/f.yaml") == "etc/messages.db")
        let alone = try ConfigurationReader.store("store: a.db\nsources: 7", file: "etc/f.yaml")
        #expect(alone == StoreSection(path: "etc/a.db"))
    }

    @Test func theDurabilityOfASourceIsRead() throws {
        let small = JournalLimits(rows: 9, bytes: 1_024, age: .seconds(3_600))
        let cases: [(String, SourceDurability)] = [
            ("none", .none), ("journal", .journal()), ("{ journal: {} }", .journal()),
            ("{ journal: { rows: 9, bytes: 1KiB, age: 1h } }", .journal(small)),
        ]
        for (value, expected) in cases {
            let text = Self.file(", durability: \(value)")
            #expect(try ConfigurationFixture.read(text).sources.first?.durability == expected)
        }
    }

    @Test(arguments: [
        ("", "store: 7", "4:8: store: expected text"),
        ("", "store: { handled_ids: 7 }", "4:8: store: 'path' is missing"),
        ("", "store: { path: a, dead_letters: { age: 0s } }", "store.dead_letters.age: expected 1s to 365d"),
        ("", "store: { path: a, history: { count: 0 } }", "store.history.count: expected 1 to"),
        (
            ", durability: disk", "store: a",
            "'disk' is not a durability or a mapping with journal; expected none, journal"
        ),
        (", durability: { journal: { rows: 0 } }", "store: a", "sources.push.durability.journal.rows: expected 1 to"),
        (", durability: {}", "store: a", "'journal' is missing; set its limits"),
        (
            ", durability: journal", "",
            "a journal needs a store; add a store at the top level, such as store: messages.db"
        ),
    ])
    func mistakesAreReportedWithAdvice(_ source: String, _ rest: String, _ words: String) {
        let found = ConfigurationFixture.problems(Self.file(source, rest))
        #expect(found.count == 1 && found.first?.contains(words) == true, "\(found)")
    }

    @Test func aJournalHasNoAckDeadline() {
        let warning = "warning ackDeadlineExceeded plugins[0].timeout"
        #expect(ConfigurationFixture.findings(Self.file()).contains(warning))
        #expect(!ConfigurationFixture.findings(Self.file(", durability: journal")).contains(warning))
    }

    @Test func theFolderOfTheStoreMustExist() {
        let found = ConfigurationFixture.findings(Self.file("", "store: none/messages.db"))
        #expect(found.contains("error missingFile store"), "\(found)")
    }
}
