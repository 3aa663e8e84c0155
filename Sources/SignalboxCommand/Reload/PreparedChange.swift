import Signalbox
import SignalboxCore

/// A change for which all is there that could be missing: sources are made, files are open.
struct PreparedChange {
    let change: ConfigurationChange
    private let builder: SupervisorBuilder
    private let adapters: [SourceAdapter]
    /// Keeps the files of plugins open until these have them.
    private let ledgers: [Ledger]

    /// - Parameters:
    ///   - change: what is to be done.
    ///   - builder: of the configuration to come.
    ///   - file: the configuration's file, for the problems.
    /// - Throws: ``ReloadRefusal`` with all that is missing.
    init(_ change: ConfigurationChange, with builder: SupervisorBuilder, file: String) throws(ReloadRefusal) {
        self.change = change
        self.builder = builder
        var (problems, adapters, ledgers) = ([ReloadProblem](), [SourceAdapter](), [Ledger]())
        let begun = Set(change.sources.added + change.sources.changed)
        for source in change.next.sources where begun.contains(source.name) {
            do {
                adapters.append(try builder.adapter(of: source))
            } catch {
                problems.append(ReloadProblem(error, key: "sources.\(source.name)", in: file))
            }
        }
        for plugin in PreparedChange.begun(change) {
            guard case .file(let path) = plugin.use else { continue }
            do throws(LedgerError) {
                ledgers.append(try builder.ledgers.ledger(at: path))
            } catch {
                problems.append(ReloadProblem(error, key: "path of the plugin '\(plugin.action)'", in: file))
            }
        }
        guard problems.isEmpty else { throw ReloadRefusal(problems: problems) }
        (self.adapters, self.ledgers) = (adapters, ledgers)
    }

    /// Carries it out. First the sources that go or change are drained, with the plugins their messages came for; then all
    /// plugins change in one step; then sources begin.
    ///
    /// - Throws: `RegistrationError` `closed` when the supervisor began to drain meanwhile.
    func carryOut(in supervisor: Supervisor) async throws {
        try await supervisor.whileSourcesChange {
            await withTaskGroup(of: Void.self) { group in
                for source in change.sources.removed + change.sources.changed {
                    group.addTask { await supervisor.remove(source: source) }
                }
            }
            try supervisor.reconfigure {
                for action in change.plugins.removed { try supervisor.remove(action) }
                let replaced = Set(change.plugins.changed)
                for plugin in PreparedChange.begun(change) {
                    try builder.register(plugin, in: supervisor, replacing: replaced.contains(plugin.action))
                }
            }
            for adapter in adapters { try builder.add(adapter, to: supervisor) }
        }
        withExtendedLifetime(ledgers) {}
    }

    private static func begun(_ change: ConfigurationChange) -> [PluginSection] {
        let begun = Set(change.plugins.added + change.plugins.changed)
        return change.next.plugins.filter { begun.contains($0.action) }
    }
}
