import Signalbox
import SignalboxCore

/// What has to be done so that a running program does what another configuration says.
struct ConfigurationChange: Sendable {
    /// Sources by their names. Those that changed are stopped, and started anew.
    let sources: NameChanges<SourceName>
    /// Plugins by their actions.
    let plugins: NameChanges<ActionName>
    /// What the new configuration says and only the next start of the program can do.
    let waiting: [WaitingChange]
    /// Secrets that others can read now, and could not before.
    let exposures: [ConfigurationProblem]
    /// What the program does afterwards: the new configuration without what is ``waiting``.
    let next: RunConfiguration

    /// Whether the program does all that the new configuration says already.
    var isEmpty: Bool { sources.isEmpty && plugins.isEmpty }

    /// - Parameters:
    ///   - old: what the program does.
    ///   - new: what it is to do.
    ///   - hasReadInput: whether a source has read stdin since the program was started, although it may be gone.
    init(from old: RunConfiguration, to new: RunConfiguration, hasReadInput: Bool) {
        var (next, waiting) = (new, [WaitingChange]())
        if hasReadInput { ConfigurationChange.keepInput(of: old, in: &next, &waiting) }
        ConfigurationChange.keepBounds(of: old, in: &next, &waiting)
        sources = NameChanges(
            from: old.sources.map { ($0.name, RunningSource(section: $0, limits: old.limits(of: $0, next))) },
            to: next.sources.map { ($0.name, RunningSource(section: $0, limits: next.limits)) }
        )
        plugins = NameChanges(
            from: old.plugins.map { ($0.action, $0.resolved(in: old)) },
            to: next.plugins.map { ($0.action, $0.resolved(in: next)) }
        )
        self.waiting = waiting
        exposures = new.exposures.filter { exposure in
            !old.exposures.contains { $0.path == exposure.path && $0.code == exposure.code }
        }
        self.next = next
    }

    /// Stdin is read once: whoever reads it goes on as it is, and no other source begins to.
    private static func keepInput(
        of old: RunConfiguration,
        in next: inout RunConfiguration,
        _ waiting: inout [WaitingChange]
    ) {
        next.sources = next.sources.compactMap { source in
            let before = old.sources.first { $0.name == source.name }
            guard source.readsInput else { return source }
            if before == source, old.limits == next.limits { return source }
            let advice = "stdin is read once, and was"
            waiting.append(
                WaitingChange(
                    key: "sources.\(source.name)",
                    reason: before == nil ? "\(advice); the source is left out" : "\(advice); the source stays as it is"
                )
            )
            return before
        }
    }

    private static func keepBounds(
        of old: RunConfiguration,
        in next: inout RunConfiguration,
        _ waiting: inout [WaitingChange]
    ) {
        func keep<Value: Equatable>(_ key: String, _ path: WritableKeyPath<RunConfiguration, Value>) {
            guard old[keyPath: path] != next[keyPath: path] else { return }
            next[keyPath: path] = old[keyPath: path]
            waiting.append(WaitingChange(key: key, reason: "it is a bound of the whole program"))
        }
        keep("dead_letters.count", \.deadLetters.count)
        keep("dead_letters.bytes", \.deadLetters.bytes)
        keep("hold_limit", \.holdLimit)
        keep("drain_limit", \.drainLimit)
        keep("log_lines_per_second", \.logLinesPerSecond)
    }
}

/// A source with all that it is started with.
private struct RunningSource: Hashable {
    let section: SourceSection
    let limits: MessageLimits
}

extension RunConfiguration {
    /// The limits of a running source, as they are compared: one that is kept in any case has those of the configuration
    /// to come.
    fileprivate func limits(of source: SourceSection, _ next: RunConfiguration) -> MessageLimits {
        source.readsInput && next.sources.contains(source) ? next.limits : limits
    }
}

extension PluginSection {
    /// The same with the timeout that its calls really have.
    fileprivate func resolved(in configuration: RunConfiguration) -> PluginSection {
        var section = self
        section.timeout = timeout ?? configuration.timeout
        return section
    }
}

extension SourceSection {
    /// Whether it takes the lines of stdin.
    var readsInput: Bool {
        if case .links(let links) = kind { links.standardInput } else { false }
    }
}

/// Which of the things with names two configurations both have, and which only one of them.
struct NameChanges<Name: Hashable & Sendable>: Sendable, Hashable {
    /// In the new one alone, in its order.
    private(set) var added: [Name] = []
    /// In both, and not the same; in the order of the new one.
    private(set) var changed: [Name] = []
    /// In the old one alone, in its order.
    private(set) var removed: [Name] = []

    var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty }

    /// - Parameters:
    ///   - old: each name at most once.
    ///   - new: each name at most once.
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

/// A part of a new configuration that a running program cannot take over.
struct WaitingChange: Sendable, Hashable {
    /// Which one, as in `dead_letters.count`.
    let key: String
    /// Why not.
    let reason: String
}
