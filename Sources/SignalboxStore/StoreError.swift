internal import SQLiteDatabase
import SignalboxCore

/// The reason why a store could not be opened, read or written. Later versions may add more codes.
public struct StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error.
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The code's name in logs.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Another process uses the store.
        public static let inUse = Code(rawValue: "inUse")
        /// The file cannot be created, opened, read or written.
        public static let unavailable = Code(rawValue: "unavailable")
        /// The file is not a store, or it is damaged.
        public static let damaged = Code(rawValue: "damaged")
        /// A later version of Signalbox has written the file.
        public static let newer = Code(rawValue: "newer")
        /// There is no space on the device.
        public static let full = Code(rawValue: "full")
    }

    /// The kind of error.
    public let code: Code
    /// What happened, to which file, and what to do, on one line.
    public let detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The detail, followed by the code, such as `[StoreError.full]`.
    public var description: String { coded(detail) }

    /// Creates the error for a file whose end is missing.
    init(cut path: String) {
        self.init(.damaged, "\(path): the end of the file is missing; restore a backup or move the file away")
    }

    /// Creates the error for a write-ahead log of which SQLite would ignore what was committed.
    init(damagedLogOf path: String, at position: Int) {
        self.init(
            .damaged,
            "\(path)-wal: the log is damaged at byte \(position), before other commits; restore a backup, or give up what"
                + " follows with 'truncate -s \(position) \(path)-wal'"
        )
    }
}

extension StoreError: CodedError {
    /// The name of ``code``.
    package var codeName: String { code.rawValue }
}

#if Store
extension StoreError {
    /// Creates the error for an error of the database library.
    init(_ error: any Error, path: String) {
        guard let error = error as? DatabaseError else {
            self = error as? StoreError ?? StoreError(.unavailable, "\(path): \(error)")
            return
        }
        let text = error.message
        switch error.resultCode {
        case .full: self.init(.full, "\(path): there is no space on the device; free some")
        case .corrupt, .notADatabase:
            self.init(
                .damaged,
                "\(path): \(text); run 'signalbox store check', and restore a backup or move the file away"
            )
        default: self.init(.unavailable, "\(path): \(text); check the device, the folder and their permissions")
        }
    }
}
#endif
