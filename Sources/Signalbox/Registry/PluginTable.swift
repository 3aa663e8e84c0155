import SignalboxCore

/// An immutable snapshot of the registered plugins, found by the bytes of a name.
///
/// Open addressing, at most half full: the cost of a look-up does not grow with the number of plugins. The names are the
/// program's own, so nobody outside can choose them to collide.
final class PluginTable: Sendable {
    let entries: [PluginEntry]
    private let slots: [Int32]
    private let mask: Int

    init(entries: [PluginEntry]) {
        self.entries = entries
        var size = 8
        while size < entries.count * 2 { size *= 2 }
        var slots = [Int32](repeating: -1, count: size)
        for (position, entry) in entries.enumerated() {
            var slot = entry.action.bytes.withUnsafeBytes { PluginTable.hash($0) } & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = Int32(position)
        }
        self.slots = slots
        mask = size - 1
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
        PluginTable(entries: entries + [entry])
    }

    func removing(_ entry: PluginEntry) -> PluginTable {
        PluginTable(entries: entries.filter { $0 !== entry })
    }

    /// FNV-1a, folded: names are short and few.
    private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int(truncatingIfNeeded: hash ^ (hash >> 32))
    }
}

extension PluginEntry {
    func hasName(_ name: UnsafeRawBufferPointer) -> Bool {
        action.bytes.count == name.count
            && action.bytes.withUnsafeBytes { own in own.elementsEqual(name) }
    }
}
