/// One ledger for each file, however the configuration writes its path: a second one could not lock it.
struct LedgerTable {
    private var ledgers: [FileIdentity: Ledger] = [:]

    /// The ledger of the file, opened when it is not open yet.
    mutating func ledger(at path: String) throws(LedgerError) -> Ledger {
        if let known = FileIdentity(path: path).flatMap({ ledgers[$0] }) { return known }
        let ledger = try Ledger(path: path)
        ledgers[ledger.identity] = ledger
        return ledger
    }
}
