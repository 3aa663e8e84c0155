import Synchronization

/// One ledger for each file, however the configuration writes its path: a second one could not lock it. A file is open as
/// long as a plugin has it.
final class LedgerTable: Sendable {
    private struct Entry {
        weak var ledger: Ledger?
    }

    private let opensFiles: Bool
    private let ledgers = Mutex<[FileIdentity: Entry]>([:])

    /// - Parameter opensFiles: whether lines are to be appended; where no plugin is ever called no file is touched.
    init(opensFiles: Bool = true) {
        self.opensFiles = opensFiles
    }

    /// The ledger of the file, opened when it is not open yet.
    func ledger(at path: String) throws(LedgerError) -> Ledger {
        guard opensFiles else { return Ledger() }
        return try ledgers.withLock { (ledgers) throws(LedgerError) in
            if let known = FileIdentity(path: path).flatMap({ ledgers[$0]?.ledger }) { return known }
            let ledger = try Ledger(path: path)
            ledgers = ledgers.filter { $0.value.ledger != nil }
            ledgers[ledger.identity] = Entry(ledger: ledger)
            return ledger
        }
    }
}
