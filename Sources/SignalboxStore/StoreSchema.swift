#if Store
internal import SQLiteDatabase
import SignalboxCore

/// The tables of a store, and the steps that bring an older file up to date.
///
/// A new version adds a step and never changes an earlier one. SQLite's `user_version` counts the steps that were made.
enum StoreSchema {
    /// SQLite's `application_id`, which tells a store from other databases: "sgbx".
    static let applicationID = 0x7367_6278

    /// The steps, oldest first.
    static let steps: [String] = [first, history]

    /// The version of a file with all steps.
    static var version: Int { steps.count }

    private static let first = """
        CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
        CREATE TABLE sources(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

        -- The messages of sources with a journal that have no outcome yet. Times are nanoseconds since 1970.
        CREATE TABLE journal(
            row INTEGER PRIMARY KEY, source INTEGER NOT NULL, received_at INTEGER NOT NULL, expires_at INTEGER,
            facts_kind TEXT NOT NULL, facts TEXT NOT NULL, action TEXT, message_id TEXT, has_sender_id INTEGER NOT NULL,
            envelope TEXT NOT NULL, payload TEXT NOT NULL, original BLOB NOT NULL, crashes INTEGER NOT NULL DEFAULT 0
        );
        CREATE INDEX journal_by_source ON journal(source);

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

        -- Other processes delete and import letters, so the totals are kept in the file.
        CREATE TABLE dead_letter_totals(count INTEGER NOT NULL, bytes INTEGER NOT NULL);
        INSERT INTO dead_letter_totals VALUES (0, 0);
        CREATE TRIGGER dead_letter_added AFTER INSERT ON dead_letters BEGIN
            UPDATE dead_letter_totals SET count = count + 1, bytes = bytes + NEW.size;
        END;
        CREATE TRIGGER dead_letter_deleted AFTER DELETE ON dead_letters BEGIN
            UPDATE dead_letter_totals SET count = count - 1, bytes = bytes - OLD.size;
        END;

        CREATE TABLE handled_ids(
            source INTEGER NOT NULL, event_source TEXT NOT NULL, message_id TEXT NOT NULL, content INTEGER NOT NULL,
            reply BLOB, handled_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
            PRIMARY KEY (source, event_source, message_id)
        ) WITHOUT ROWID;
        CREATE INDEX handled_ids_by_expiry ON handled_ids(expires_at);
        """

    private static let history = """
        -- The last outcomes. The last row is never deleted, so that numbers are never used again.
        CREATE TABLE history(
            entry INTEGER PRIMARY KEY, settled_at INTEGER NOT NULL, received_at INTEGER NOT NULL, source INTEGER NOT NULL,
            action TEXT, message_id TEXT, plugin TEXT, outcome TEXT NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
            path TEXT, attempts INTEGER NOT NULL, is_duplicate INTEGER NOT NULL, is_redelivered INTEGER NOT NULL
        );
        """

    /// Brings a file up to date.
    ///
    /// - Throws: ``StoreError``, or an error of the database.
    static func migrate(_ db: Database, path: String) throws {
        let application = try db.count(sql: "PRAGMA application_id")
        let found = try db.count(sql: "PRAGMA user_version")
        let isEmpty = try db.count(sql: "SELECT COUNT(*) FROM sqlite_schema") == 0
        guard application == applicationID || (application == 0 && found == 0 && isEmpty) else {
            throw StoreError(.damaged, "\(path): this database is not a store of Signalbox; name another file")
        }
        guard found <= version else {
            throw StoreError(
                .newer,
                "\(path): a later version of Signalbox wrote this store (version \(found), this program reads up to"
                    + " \(version)); use that version, or name another file"
            )
        }
        guard found >= 0 else { throw StoreError(.damaged, "\(path): the version \(found) of this store is not one") }
        guard found < version else { return }
        try db.inTransaction(.immediate) {
            for step in steps[found...] { try db.execute(sql: step) }
            try db.execute(sql: "PRAGMA application_id = \(applicationID)")
            try db.execute(sql: "PRAGMA user_version = \(version)")
        }
    }
}
#endif
