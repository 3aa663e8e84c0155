import SignalboxStore

/// The value of `store`: the file that keeps messages, and its limits.
struct StoreSection: Sendable, Hashable {
    /// The path of the file, relative to the working directory.
    let path: String
    /// The limits of what the file keeps.
    var options = StoreOptions()

    /// Opens the store. The caller closes it.
    ///
    /// - Parameter dispatchesJournal: Whether the journal is worked off, as in a run.
    /// - Throws: `StoreError` if another process uses the file, or if it cannot be used.
    func open(dispatchesJournal: Bool = true) throws(StoreError) -> Store {
        try Store(path: path, options: options, dispatchesJournal: dispatchesJournal)
    }
}
