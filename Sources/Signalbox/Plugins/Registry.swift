import SignalboxCore
import Synchronization

/// Holds the plugins by action name. Lookups use a snapshot, which no change affects, so plugins can be changed while
/// messages are being processed. A change copies the table only while a snapshot is in use.
final class Registry: Sendable {
    private struct State {
        var table = PluginTable()
        var snapshots = 0
    }

    private let state = Mutex(State())
    private let latest = Atomic<Int>(0)
    private let lanes: LaneTable

    /// - Parameter lanes: The lanes, which must record each replacement before an arrival can reach the new plugin.
    init(lanes: LaneTable) {
        self.lanes = lanes
    }

    /// The plugins. Sources share the lock and the table's reference counts, so a source takes a snapshot only for what it does
    /// not know yet.
    var snapshot: PluginTable {
        state.withLock { state in
            state.snapshots += 1
            return state.table
        }
    }

    /// How often a snapshot has been taken.
    var snapshots: Int { state.withLock { $0.snapshots } }

    /// The number of changes so far. It costs no lock, and sources that read it do not slow each other down.
    var generation: Int { latest.load(ordering: .acquiring) }

    /// Applies the changes in order. They take effect in one step, or not at all.
    ///
    /// - Returns: The plugins that were replaced or removed.
    func apply(
        _ changes: [PluginChange],
        _ configuration: SupervisorConfiguration
    ) throws(RegistrationError) -> [PluginEntry] {
        try state.withLock { (state) throws(RegistrationError) in
            let former = changes.map { state.table.entry(named: $0.action) }
            let lost = try state.table.apply(changes, configuration)
            latest.store(state.table.generation, ordering: .releasing)
            for case let old? in former {
                if let new = state.table.entry(named: old.action), new !== old { lanes.follow(old, by: new) }
            }
            return lost
        }
    }
}

/// Finds registered plugins by the bytes of their names.
///
/// This is a hash table with open addressing that is at most half full, so the cost of a lookup does not grow with the
/// number of plugins. The program chooses the names, so outsiders cannot cause collisions.
struct PluginTable: Sendable {
    /// The plugins by position. The position of a removed plugin holds `nil` until the table is rebuilt.
    private var entries: [PluginEntry?] = []
    private var slots = [Int32](repeating: -1, count: 8)
    /// The number of changes so far. Two tables of one registry with the same number have the same plugins.
    private(set) var generation = 0

    /// The number of slots, of which at most half hold a position.
    var capacity: Int { slots.count }

    /// Identifies the memory of the slots, which differs from that of a copy that has been changed.
    var memory: Int { slots.withUnsafeBytes { Int(bitPattern: $0.baseAddress) } }

    func entry(named name: UnsafeRawBufferPointer) -> PluginEntry? { position(of: name).flatMap { entries[$0] } }

    func entry(named name: ActionName) -> PluginEntry? { name.bytes.withUnsafeBytes { entry(named: $0) } }

    /// Applies the changes in order, or none of them if one is not possible.
    ///
    /// - Returns: The plugins that were replaced or removed.
    mutating func apply(
        _ changes: [PluginChange],
        _ configuration: SupervisorConfiguration
    ) throws(RegistrationError) -> [PluginEntry] {
        try check(changes)
        generation += changes.count
        return changes.compactMap { change in
            switch change {
            case .add(let registration):
                append(PluginEntry(registration, configuration))
                return nil
            case .replace(let registration):
                return exchange(registration.action, for: PluginEntry(registration, configuration))
            case .remove(let action):
                return exchange(action, for: nil)
            }
        }
    }

    private func check(_ changes: [PluginChange]) throws(RegistrationError) {
        // The holders of the actions after the changes so far, or `nil` for an action without a plugin.
        var holders: [ActionName: String?] = [:]
        for change in changes {
            let action = change.action
            let holder = holders[action] ?? entry(named: action)?.outline.holder
            switch change {
            case .add(let registration):
                if let holder { throw .duplicateAction(action, holder: holder) }
                holders[action] = .some(registration.holder)
            case .replace(let registration):
                guard holder != nil else { throw .noSuchAction(action) }
                holders[action] = .some(registration.holder)
            case .remove:
                guard holder != nil else { throw .noSuchAction(action) }
                holders[action] = .some(nil)
            }
        }
    }

    /// Adds a plugin of another table, if this one does not have it.
    mutating func remember(_ entry: PluginEntry) {
        if entry.nameBytes.withUnsafeBytes({ position(of: $0) }) == nil { append(entry) }
    }

    private mutating func exchange(_ action: ActionName, for entry: PluginEntry?) -> PluginEntry? {
        guard let position = action.bytes.withUnsafeBytes({ position(of: $0) }) else { return nil }
        defer { entries[position] = entry }
        return entries[position]
    }

    private mutating func append(_ entry: PluginEntry) {
        entries.append(entry)
        guard entries.count * 2 > slots.count else { return insert(entry, at: entries.count - 1) }
        entries.removeAll { $0 == nil }
        // The table is twice as large as it needs to be, so that it is not rebuilt every time when additions and
        // removals alternate.
        var size = 8
        while size < entries.count * 4 { size *= 2 }
        slots = [Int32](repeating: -1, count: size)
        for case (let position, let entry?) in entries.enumerated() { insert(entry, at: position) }
    }

    private mutating func insert(_ entry: PluginEntry, at position: Int) {
        var slot = entry.nameBytes.withUnsafeBytes { PluginTable.hash($0) } & (slots.count - 1)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Int32(position)
    }

    private func position(of name: UnsafeRawBufferPointer) -> Int? {
        var slot = PluginTable.hash(name) & (slots.count - 1)
        while slots[slot] >= 0 {
            if entries[Int(slots[slot])]?.hasName(name) == true { return Int(slots[slot]) }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Returns the folded FNV-1a hash of a name. There are few names and they are short, so this hash is good enough.
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int(truncatingIfNeeded: hash ^ (hash >> 32))
    }
}

extension PluginChange {
    /// The action whose plugin changes.
    fileprivate var action: ActionName {
        switch self {
        case .add(let registration), .replace(let registration): registration.action
        case .remove(let action): action
        }
    }
}

/// A registered plugin together with its state.
final class PluginEntry: Sendable {
    let action: ActionName
    let nameBytes: [UInt8]
    let options: LaneOptions
    let timeout: Duration
    let call: PluginCall
    let breaker: CircuitBreaker?
    /// Middleware around the calls of this plugin only.
    let middleware = MiddlewareList()
    /// The plugin's description and access rule, which explanations keep.
    let outline: PluginOutline

    init(_ registration: Registration, _ configuration: SupervisorConfiguration) {
        action = registration.action.copied()
        nameBytes = Array(action.bytes)
        options = registration.options
        timeout = options.timeout ?? configuration.timeout
        call = registration.call
        breaker = options.circuitBreaker.map { [action] in CircuitBreaker($0, for: action, configuration) }
        outline = PluginOutline(action, registration.holder, registration.rule, options, breaker)
        for one in options.middleware { middleware.add(one) }
    }

    func hasName(_ name: UnsafeRawBufferPointer) -> Bool {
        nameBytes.withUnsafeBytes { ByteComparison.areEqual($0, name) }
    }
}
