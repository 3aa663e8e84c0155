import Signalbox
import SignalboxCore

/// The steps that move a running program to another configuration.
struct ConfigurationChange: Sendable {
    /// Sources by name. Changed sources are stopped and restarted.
    let sources: NameChanges<SourceName>
    /// Plugins by action.
    let plugins: NameChanges<ActionName>
    /// Changes that take effect only after a restart of the program.
    let deferred: [DeferredChange]
    /// The warnings to log that the old configuration did not have.
    let warnings: [ConfigurationProblem]
    /// The configuration after the change: the new one without the ``deferred`` changes.
    let next: RunConfiguration

    /// Whether the change leaves every source and plugin as it is.
    var isEmpty: Bool { sources.isEmpty && plugins.isEmpty }

    /// - Parameters:
    ///   - old: The configuration in use.
    ///   - new: The configuration to apply.
    ///   - hasReadInput: Whether any source has read stdin since the program started, even if that source was removed.
    init(from old: RunConfiguration, to new: RunConfiguration, hasReadInput: Bool) {
        var (next, deferred) = (new, [DeferredChange]())
        if hasReadInput { ConfigurationChange.keepInput(of: old, in: &next, &deferred) }
        ConfigurationChange.keepBounds(of: old, in: &next, &deferred)
        sources = NameChanges(from: old.sources.map { ($0.name, $0) }, to: next.sources.map { ($0.name, $0) })
        plugins = NameChanges(
            from: old.plugins.map { ($0.action, $0.resolved(in: old)) },
            to: next.plugins.map { ($0.action, $0.resolved(in: next)) }
        )
        self.deferred = deferred
        warnings = new.warnings.filter { warning in
            !old.warnings.contains { $0.path == warning.path && $0.code == warning.code }
        }
        self.next = next
    }

    /// Keeps the source that reads stdin unchanged and leaves out any other, because stdin can be read only once.
    private static func keepInput(
        of old: RunConfiguration,
        in next: inout RunConfiguration,
        _ deferred: inout [DeferredChange]
    ) {
        next.sources = next.sources.compactMap { source in
            let before = old.sources.first { $0.name == source.name }
            guard source.readsInput, before != source else { return source }
            let advice = "stdin can be read only once"
            deferred.append(
                DeferredChange(
                    key: "sources.\(source.name)",
                    reason: before == nil
                        ? "\(advice); the source does not start" : "\(advice); the source continues unchanged"
                )
            )
            return before
        }
    }

    private static func keepBounds(
        of old: RunConfiguration,
        in next: inout RunConfiguration,
        _ deferred: inout [DeferredChange]
    ) {
        func keep<Value: Equatable>(_ key: String, _ path: WritableKeyPath<RunConfiguration, Value>) {
            guard old[keyPath: path] != next[keyPath: path] else { return }
            next[keyPath: path] = old[keyPath: path]
            deferred.append(DeferredChange(key: key, reason: "it is a limit of the whole program"))
        }
        keep("dead_letters.count", \.supervisor.deadLetters.count)
        keep("dead_letters.bytes", \.supervisor.deadLetters.bytes)
        keep("ack_deadline", \.supervisor.ackDeadline)
        keep("drain_limit", \.supervisor.drainLimit)
        keep("log_lines_per_second", \.supervisor.logLinesPerSecond)
    }
}

extension PluginSection {
    /// The section with its effective timeout.
    fileprivate func resolved(in configuration: RunConfiguration) -> PluginSection {
        var section = self
        section.timeout = timeout ?? configuration.supervisor.timeout
        return section
    }
}

extension SourceSection {
    /// Whether the source reads stdin.
    var readsInput: Bool {
        if case .links(let links) = kind { links.standardInput } else { false }
    }
}

/// The names that two configurations share with different values, and the names that only one of them has.
struct NameChanges<Name: Hashable & Sendable>: Sendable, Hashable {
    /// Names only in the new configuration, in its order.
    private(set) var added: [Name] = []
    /// Names in both with different values, in the order of the new configuration.
    private(set) var changed: [Name] = []
    /// Names only in the old configuration, in its order.
    private(set) var removed: [Name] = []

    var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty }

    /// - Parameters:
    ///   - old: The old values. Each name occurs at most once.
    ///   - new: The new values. Each name occurs at most once.
    init<Value: Hashable>(from old: [(name: Name, value: Value)], to new: [(name: Name, value: Value)]) {
        let before = Dictionary(old.map { ($0.name, $0.value) }) { first, _ in first }
        let after = Set(new.map(\.name))
        for (name, value) in new {
            guard let known = before[name] else {
                added.append(name)
                continue
            }
            if known != value { changed.append(name) }
        }
        removed = old.map(\.name).filter { !after.contains($0) }
    }
}

/// A part of a new configuration that a running program cannot apply.
struct DeferredChange: Sendable, Hashable {
    /// The configuration key, such as `dead_letters.count`.
    let key: String
    /// The reason the change needs a restart.
    let reason: String
}
