import SignalboxCore

/// The plugins that one source has called since the last change of the registry.
///
/// All sources share the registry's lock and the reference counts of its table. With small batches, many sources would spend
/// most of their time on passing these from processor to processor. So a source goes to the registry once for each plugin
/// and change, and otherwise only reads the number of the last change.
struct KnownPlugins: Sendable {
    private var table: PluginTable?
    /// The generation of the registry that the table is part of.
    private var generation: Int?

    /// Returns a table with the plugin of the arrival, or `nil` if the source has to ask the registry.
    func table(for arrival: Arrival, of registry: Registry) -> PluginTable? {
        guard let table, generation == registry.generation, arrival.withNameBytes({ table.entry(named: $0) }) != nil
        else { return nil }
        return table
    }

    /// Remembers the plugin of the arrival, and forgets those of an earlier generation.
    mutating func remember(_ arrival: Arrival, in all: PluginTable) {
        if generation != all.generation { self = KnownPlugins() }
        generation = all.generation
        guard let entry = arrival.withNameBytes({ all.entry(named: $0) }) else { return }
        if table == nil { table = PluginTable() }
        table?.remember(entry)
    }
}
