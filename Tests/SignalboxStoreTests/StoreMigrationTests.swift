import SQLiteDatabase
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import SignalboxStore

/// Files of earlier versions are brought up to date and keep everything.
@Suite(.timeLimit(.minutes(10))) struct StoreMigrationTests {
    /// A store as version 1 wrote it, with one row in each table: these texts never change.
    private static let firstVersion = """
        CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
        INSERT INTO meta VALUES ('secret', '1 2 3'), ('running', 0);
        CREATE TABLE sources(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        INSERT INTO sources VALUES (1, 'push');
        CREATE TABLE journal(
            row INTEGER PRIMARY KEY, source INTEGER NOT NULL, received_at INTEGER NOT NULL, expires_at INTEGER,
            facts_kind TEXT NOT NULL, facts TEXT NOT NULL, action TEXT, message_id TEXT, has_sender_id INTEGER NOT NULL,
            envelope TEXT NOT NULL, payload TEXT NOT NULL, original BLOB NOT NULL, crashes INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX journal_by_source ON journal(source);
        INSERT INTO journal VALUES (7, 1, 1767225600000000000, NULL, 'memory', '{"label":""}', 'payment', 'p-7', 1,
            'action', 'json', CAST('{"action":"payment","id":"p-7","body":{"amount":7}}' AS BLOB), 0);
        CREATE TABLE dead_letters(
            letter INTEGER PRIMARY KEY AUTOINCREMENT, source INTEGER NOT NULL, received_at INTEGER NOT NULL,
            expires_at INTEGER, facts_kind TEXT NOT NULL, facts TEXT NOT NULL, action TEXT, message_id TEXT,
            has_sender_id INTEGER NOT NULL, envelope TEXT NOT NULL, payload TEXT NOT NULL, original BLOB NOT NULL,
            outcome TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL, path TEXT, explanation TEXT NOT NULL,
            attempts INTEGER NOT NULL, plugin TEXT, failures INTEGER NOT NULL DEFAULT 1, size INTEGER NOT NULL,
            first_at INTEGER NOT NULL, last_at INTEGER NOT NULL, replay_at INTEGER, replay_as TEXT
        );
        CREATE INDEX dead_letters_by_time ON dead_letters(last_at);
        CREATE INDEX dead_letters_to_replay ON dead_letters(replay_at, letter) WHERE replay_at IS NOT NULL;
        CREATE TABLE dead_letter_totals(count INTEGER NOT NULL, bytes INTEGER NOT NULL);
        INSERT INTO dead_letter_totals VALUES (0, 0);
        CREATE TRIGGER dead_letter_added AFTER INSERT ON dead_letters BEGIN
            UPDATE dead_letter_totals SET count = count + 1, bytes = bytes + NEW.size;
        END;
        CREATE TRIGGER dead_letter_deleted AFTER DELETE ON dead_letters BEGIN
            UPDATE dead_letter_totals SET count = count - 1, bytes = bytes - OLD.size;
        END;
        INSERT INTO dead_letters VALUES (3, 1, 1767225600000000000, NULL, 'memory', '{"label":""}', 'note', 'n-3', 1,
            'action', 'json', CAST('{"action":"note","id":"n-3"}' AS BLOB), 'rejected', 'unknownAction', 'no plugin', NULL,
            '[]', 0, NULL, 1, 28, 1767225600000000000, 1767225600000000000, NULL, NULL);
        CREATE TABLE handled_ids(
            source INTEGER NOT NULL, event_source TEXT NOT NULL, message_id TEXT NOT NULL, content INTEGER NOT NULL,
            reply BLOB, handled_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
            PRIMARY KEY (source, event_source, message_id)
        ) WITHOUT ROWID;
        CREATE INDEX handled_ids_by_expiry ON handled_ids(expires_at);
        INSERT INTO handled_ids VALUES (1, '', 'p-1', 42, NULL, 1767225600000000000, 9000000000000000000);
        PRAGMA application_id = 1936155256;
        PRAGMA user_version = 1;
        """

    private func fileOfFirstVersion(_ folder: StoreFolder) throws {
        let queue = try DatabaseQueue(path: folder.store)
        try queue.writeWithoutTransaction { try $0.execute(sql: StoreMigrationTests.firstVersion) }
        queue.close()
    }

    @Test func aFileOfTheFirstVersionKeepsEverything() async throws {
        let folder = try StoreFolder()
        try fileOfFirstVersion(folder)
        let store = try Store(path: folder.store)
        #expect(store.secret == StoreSecret(words: [1, 2, 3]))
        #expect(!store.wasInterrupted)
        #expect(store.lastRow == 7)
        let left = try await store.unfinished(of: "push", after: 0, count: 10, bytes: 1_000)
        #expect(left.map(\.message.id) == [ActionID("p-7")])
        #expect(try await store.handledIDs(of: "push", count: 10).map(\.content) == [42])
        try store.close()
        let administration = try StoreAdministration(path: folder.store)
        let info = try administration.info()
        #expect(info.version == StoreSchema.version)
        #expect(info.deadLetters == 1)
        #expect(info.outcomes == 0)
        var letters: [DeadLetterEntry] = []
        try administration.forEachLetter(DeadLetterFilter()) { letters.append($0) }
        #expect(letters.map(\.letter.reason) == ["unknownAction"])
        #expect(try administration.check().isEmpty)
    }

    @Test func anUpdatedFileHasTheTablesOfANewOne() throws {
        func tables(_ path: String) throws -> Set<String> {
            try DatabaseQueue(path: path).read { db in
                // Without the comments and line breaks, in which the texts may differ.
                let texts = try db.fetchAll(sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL") {
                    $0.text(at: 0)
                }
                return Set(texts.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") })
            }
        }
        let (old, new) = (try StoreFolder(), try StoreFolder())
        try fileOfFirstVersion(old)
        for folder in [old, new] { try Store(path: folder.store).close() }
        #expect(try tables(old.store) == tables(new.store))
    }

    @Test func messagesOfAnEarlierVersionAreDispatched() async throws {
        let folder = try StoreFolder()
        try fileOfFirstVersion(folder)
        let calls = EventList<Int>()
        try await run(at: folder.store, durability: .journaled) { supervisor in
            try supervisor.register(
                Registration("payment", as: Payment.self, from: .source("push")) { info, _ in
                    calls.append(info.amount)
                }
            )
        } _: { _ in
            _ = await calls.first(1)
        }
        #expect(calls.all == [7])
        #expect(try StoreAdministration(path: folder.store).info().journal.isEmpty)
    }

    @Test func anUpdateThatFailsLeavesTheFileAsItWas() throws {
        let folder = try StoreFolder()
        try fileOfFirstVersion(folder)
        let queue = try DatabaseQueue(path: folder.store)
        // Another program has used a name that a later version needs.
        try queue.write { try $0.execute(sql: "CREATE TABLE history(x)") }
        #expect(throws: StoreError.self) { try Store(path: folder.store) }
        #expect(try queue.read { try $0.number(sql: "PRAGMA user_version") } == 1)
        try queue.write { try $0.execute(sql: "DROP TABLE history") }
        queue.close()
        try Store(path: folder.store).close()
    }
}
