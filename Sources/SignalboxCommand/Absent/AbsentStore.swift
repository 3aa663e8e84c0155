#if !Store
import SignalboxCore
import SignalboxStore

// Without the trait Store, the commands and the language of configurations are the same, but none of these types has a value: whatever
// would create one throws.

extension StoreError {
    fileprivate static func absent(_ path: String) -> StoreError {
        StoreError(.unavailable, "\(path): \(BuildInformation.Trait.store.absence(for: "a store"))")
    }
}

/// A store that cannot exist.
struct Store: Sendable {
    private let never: Never

    init(path: String, options: StoreOptions, dispatchesJournal: Bool) throws(StoreError) {
        throw StoreError.absent(path)
    }

    var path: String { switch never {} }
    var messages: any MessageStore { switch never {} }
    func close() throws(StoreError) { switch never {} }
}

/// An open file that cannot exist.
struct StoreAdministration: Sendable {
    private let never: Never

    init(path: String) throws(StoreError) { throw StoreError.absent(path) }

    var path: String { switch never {} }
    var holder: Int32? { switch never {} }
    func info() throws(StoreError) -> StoreInfo { switch never {} }
    func check() throws(StoreError) -> [String] { switch never {} }
    func backup(to copy: String) throws(StoreError) { switch never {} }
    func forEachLetter(_ filter: DeadLetterFilter, _ body: (DeadLetterEntry) throws -> Void) throws { switch never {} }
    func count(_ filter: DeadLetterFilter) throws(StoreError) -> Int { switch never {} }
    @discardableResult
    func requestReplay(_ filter: DeadLetterFilter, as action: ActionName?, perSecond: Int?) throws(StoreError)
        -> [Int64]
    { switch never {} }
    func purge(_ filter: DeadLetterFilter) throws(StoreError) -> Int { switch never {} }
    func add(_ entries: [DeadLetterEntry]) throws(StoreError) { switch never {} }
    func outcomes(_ filter: HistoryFilter, first count: Int) throws(StoreError) -> [HistoryEntry] { switch never {} }
    func lastOutcome() throws(StoreError) -> Int64 { switch never {} }
}
#else
import SignalboxCore
import SignalboxStore

extension Store {
    /// The store as the supervisor uses it.
    var messages: any MessageStore { self }
}
#endif
