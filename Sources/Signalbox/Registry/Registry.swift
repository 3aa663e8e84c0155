import SignalboxCore
import Synchronization

/// The plugins by action name: a snapshot that is replaced as a whole, while messages flow.
final class Registry: Sendable {
    private let table = Mutex(PluginTable(entries: []))
    private let lanes: LaneTable

    /// - Parameter lanes: told which plugin takes the place of which before any arrival can find it there.
    init(lanes: LaneTable) {
        self.lanes = lanes
    }

    var snapshot: PluginTable { table.withLock { $0 } }

    /// Puts another table in the place of the one there is.
    func exchange<Result>(
        _ change: (PluginTable) throws(RegistrationError) -> (PluginTable, Result)
    ) throws(RegistrationError) -> Result {
        try table.withLock { (table) throws(RegistrationError) in
            let (next, result) = try change(table)
            for entry in next.entries {
                guard let held = table.entry(named: entry.action), held !== entry else { continue }
                lanes.follow(held, by: entry)
            }
            table = next
            return result
        }
    }

    func add(_ entry: PluginEntry) throws(RegistrationError) {
        try table.withLock { (table) throws(RegistrationError) in
            if let held = table.entry(named: entry.action) {
                throw .duplicateAction(held.action, holder: held.holder)
            }
            table = table.adding(entry)
        }
    }

    /// Puts the entry in the place of the one that holds its name, and returns that one.
    func replace(with entry: PluginEntry) throws(RegistrationError) -> PluginEntry {
        try table.withLock { (table) throws(RegistrationError) in
            guard let held = table.entry(named: entry.action) else { throw .noSuchAction(entry.action) }
            lanes.follow(held, by: entry)
            table = table.removing(held).adding(entry)
            return held
        }
    }

    func remove(_ action: ActionName) throws(RegistrationError) -> PluginEntry {
        try table.withLock { (table) throws(RegistrationError) in
            guard let held = table.entry(named: action) else { throw .noSuchAction(action) }
            table = table.removing(held)
            return held
        }
    }
}
