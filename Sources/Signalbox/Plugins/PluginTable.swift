import SignalboxCore

/// An immutable snapshot of the registered plugins, keyed by the bytes of their names.
///
/// A hash table with open addressing, at most half full, so that the cost of a lookup does not grow with the number of
/// plugins. The program chooses the names, so outsiders cannot cause collisions.
final class PluginTable: Sendable {
    let entries: [PluginEntry]
    private let slots: [Int32]
    private let mask: Int

    convenience init(entries: [PluginEntry]) {
        var size = 8
        while size < entries.count * 2 { size *= 2 }
        var slots = [Int32](repeating: -1, count: size)
        for (position, entry) in entries.enumerated() {
            PluginTable.insert(entry, at: position, into: &slots)
        }
        self.init(entries: entries, slots: slots)
    }

    private init(entries: [PluginEntry], slots: [Int32]) {
        self.entries = entries
        self.slots = slots
        mask = slots.count - 1
    }

    private static func insert(_ entry: PluginEntry, at position: Int, into slots: inout [Int32]) {
        let mask = slots.count - 1
        var slot = entry.nameBytes.withUnsafeBytes { hash($0) } & mask
        while slots[slot] >= 0 { slot = (slot + 1) & mask }
        slots[slot] = Int32(position)
    }

    func entry(named name: UnsafeRawBufferPointer) -> PluginEntry? {
        var slot = PluginTable.hash(name) & mask
        while slots[slot] >= 0 {
            let entry = entries[Int(slots[slot])]
            if entry.hasName(name) { return entry }
            slot = (slot + 1) & mask
        }
        return nil
    }

    func entry(named name: ActionName) -> PluginEntry? {
        name.bytes.withUnsafeBytes { entry(named: $0) }
    }

    func adding(_ entry: PluginEntry) -> PluginTable {
        let entries = entries + [entry]
        guard entries.count * 2 <= slots.count else { return PluginTable(entries: entries) }
        var slots = slots
        PluginTable.insert(entry, at: entries.count - 1, into: &slots)
        return PluginTable(entries: entries, slots: slots)
    }

    func removing(_ entry: PluginEntry) -> PluginTable {
        PluginTable(entries: entries.filter { $0 !== entry })
    }

    /// Returns the folded FNV-1a hash, which suffices for few, short names.
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int(truncatingIfNeeded: hash ^ (hash >> 32))
    }
}

extension PluginEntry {
    func hasName(_ name: UnsafeRawBufferPointer) -> Bool {
        nameBytes.withUnsafeBytes { ByteComparison.areEqual($0, name) }
    }
}

/// A registration: an action name, its access rule and its call.
final class PluginEntry: Sendable {
    let action: ActionName
    let nameBytes: [UInt8]
    /// A description of the plugin, for the error of a second registration.
    let holder: String
    let rule: AccessRule
    let options: LaneOptions
    let timeout: Duration
    let call: PluginCall
    let breaker: CircuitBreaker?
    /// The middleware for this plugin's calls only.
    let middleware = MiddlewareList()
    /// The plugin's description in explanations.
    let outline: PluginOutline

    init(
        action: ActionName,
        holder: String,
        rule: AccessRule,
        options: LaneOptions,
        timeout: Duration,
        call: PluginCall,
        breaker: CircuitBreaker?
    ) {
        self.action = action.copied()
        nameBytes = Array(action.bytes)
        self.holder = holder
        self.rule = rule
        self.options = options
        self.timeout = timeout
        self.call = call
        self.breaker = breaker
        outline = PluginOutline(holder, rule, options, breaker)
        for one in options.middleware { middleware.add(one) }
    }
}
