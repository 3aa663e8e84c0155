import Signalbox
import SignalboxCore
import WebSocketChat

/// The steps that move a running program to a new configuration.
struct ConfigurationChange: Sendable {
    /// A change that a running program cannot apply. It consists of the key, such as `dead_letters.count`, and the
    /// reason why changing that key needs a restart.
    typealias Deferred = (key: String, reason: String)

    /// The changes to the sources, which are compared by name. A changed source is stopped and restarted.
    let sources: SectionChanges<SourceSection>
    /// The changes to the plugins, which are compared by action.
    let plugins: SectionChanges<PluginSection>
    /// The actions of the new plugins for which a source that stops may hold messages. Plugins that need a source which
    /// the change starts or stops are not among them.
    private let awaited: Set<ActionName>
    /// The sources that plugins of the old or the new configuration send to.
    let targets: Set<SourceName>
    /// Changes that only take effect after the program is restarted.
    let deferred: [Deferred]
    /// The warnings about the new configuration that did not apply to the old one. The reload logs them.
    let warnings: [ConfigurationProblem]
    /// The configuration after the change. This is the new configuration without the ``deferred`` changes.
    let next: RunConfiguration

    /// Whether every source and plugin stays as it is.
    var isEmpty: Bool { sources.isEmpty && plugins.isEmpty }

    /// - Parameters:
    ///   - old: The configuration in use.
    ///   - new: The configuration to apply.
    ///   - hasReadInput: Whether any source has read stdin since the program started, even if that source was removed.
    init(from old: RunConfiguration, to new: RunConfiguration, hasReadInput: Bool) {
        var (next, deferred) = (new, [Deferred]())
        if hasReadInput { ConfigurationChange.keepInput(of: old, in: &next, &deferred) }
        ConfigurationChange.keepBounds(of: old, in: &next, &deferred)
        ConfigurationChange.keepStore(of: old, in: &next, &deferred)
        ConfigurationChange.keepObserve(of: old, in: &next, &deferred)
        ConfigurationChange.keepControl(of: old, new, in: &next, &deferred)
        if old.otlp != next.otlp {
            next.otlp = old.otlp
            deferred.append(("otlp", "its connection is set up when the program starts"))
        }
        sources = SectionChanges(from: old.runningSources, to: next.runningSources, by: \.name)
        plugins = SectionChanges(from: old.runningPlugins, to: next.runningPlugins, by: \.action)
        let moving = Set((sources.added + sources.changed + sources.removed).map(\.name))
        let stopsHold = old.sources.contains { $0.hold != nil && moving.contains($0.name) }
        let ready = plugins.added.filter { $0.targets.isDisjoint(with: moving) }
        awaited = stopsHold ? Set(ready.map(\.action)) : []
        targets = old.targets.union(next.targets)
        self.deferred = deferred
        warnings = new.warnings.filter { warning in
            !old.warnings.contains { $0.path == warning.path && $0.code == warning.code }
        }
        self.next = next
    }

    /// Returns whether the plugin must change before any source stops, because messages may wait for it.
    func isAwaited(_ change: PluginChange) -> Bool {
        guard case .add(let registration) = change else { return false }
        return awaited.contains(registration.action)
    }

    /// Undoes each change to a source that would then read stdin, and leaves out any new source that would read it.
    /// Stdin can be read only once.
    private static func keepInput(
        of old: RunConfiguration,
        in next: inout RunConfiguration,
        _ deferred: inout [Deferred]
    ) {
        next.sources = next.sources.compactMap { source in
            guard source.readsInput else { return source }
            let before = old.sources.first { $0.name == source.name }
            guard before != source else { return source }
            let effect = before == nil ? "does not start" : "continues unchanged"
            deferred.append(("sources.\(source.name)", "stdin can be read only once; the source \(effect)"))
            return before
        }
    }

    private static func keepBounds(
        of old: RunConfiguration,
        in next: inout RunConfiguration,
        _ deferred: inout [Deferred]
    ) {
        func keep<Value: Equatable>(_ key: String, _ path: WritableKeyPath<RunConfiguration, Value>) {
            guard old[keyPath: path] != next[keyPath: path] else { return }
            next[keyPath: path] = old[keyPath: path]
            deferred.append((key, "it is a limit of the whole program"))
        }
        keep("dead_letters.count", \.supervisor.deadLetters.count)
        keep("dead_letters.bytes", \.supervisor.deadLetters.bytes)
        keep("ack_deadline", \.supervisor.ackDeadline)
        keep("drain_limit", \.supervisor.drainLimit)
        keep("output_wait", \.outputWait)
        keep("log_lines_per_second", \.supervisor.logLinesPerSecond)
    }

    /// Undoes a change to the store, which is open. Without one, no source can have a journal.
    private static func keepStore(
        of old: RunConfiguration,
        in next: inout RunConfiguration,
        _ deferred: inout [Deferred]
    ) {
        guard old.store != next.store else { return }
        next.store = old.store
        deferred.append(("store", "it is opened when the program starts"))
        guard old.store == nil else { return }
        for index in next.sources.indices where next.sources[index].hasJournal {
            next.sources[index].durability = .none
            deferred.append(("sources.\(next.sources[index].name).durability", "the program runs without a store"))
        }
    }

    /// Undoes a change to the control socket, which is open.
    private static func keepControl(
        of old: RunConfiguration,
        _ new: RunConfiguration,
        in next: inout RunConfiguration,
        _ deferred: inout [Deferred]
    ) {
        guard old.control != new.control else { return }
        next.control = old.control
        // What follows from the store is said with the store.
        let followsStore = [old.control, new.control].allSatisfy { $0?.isImplied != false }
        guard old.store == new.store || !followsStore else { return }
        deferred.append(("control", "its socket is opened when the program starts"))
    }

    /// Undoes a change to `observe`, and to the listener that it shares, whose port stays open.
    private static func keepObserve(
        of old: RunConfiguration,
        in next: inout RunConfiguration,
        _ deferred: inout [Deferred]
    ) {
        if let kept = old.observe?.listener, let name = kept.name {
            var isChanged = false
            for index in next.sources.indices {
                isChanged = next.sources[index].kind.keep(kept) || isChanged
            }
            if isChanged { deferred.append(("listeners.\(name)", "'observe' keeps its port open")) }
        }
        guard old.observe != next.observe else { return }
        next.observe = old.observe
        deferred.append(("observe", "its port is opened when the program starts"))
    }
}

extension SourceKind {
    /// Uses these settings of the listener, if the source shares it.
    ///
    /// - Returns: Whether its settings were others.
    fileprivate mutating func keep(_ listener: ListenerSection) -> Bool {
        switch self {
        case .chat(var chat):
            guard chat.listener?.name == listener.name, chat.listener != listener else { return false }
            chat.listener = listener
            chat.server.adopt(listener.configuration)
            self = .chat(chat)
        case .http(var http):
            guard http.listener.name == listener.name, http.listener != listener else { return false }
            http.listener = listener
            self = .http(http)
        default: return false
        }
        return true
    }
}

extension SourceSection {
    /// Whether the source reads stdin.
    var readsInput: Bool {
        if case .links(let links) = kind { links.standardInput } else { false }
    }
}

/// The differences between the sections of two configurations. Sections are compared by name.
struct SectionChanges<Section: Hashable & Sendable>: Sendable {
    /// The sections that only the new configuration has, in the order of the new configuration.
    let added: [Section]
    /// The sections that both configurations have but with different values. These are the new values, in the order of
    /// the new configuration.
    let changed: [Section]
    /// The sections that only the old configuration has, in the order of the old configuration.
    let removed: [Section]

    var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty }

    /// - Parameters:
    ///   - old: The old sections.
    ///   - new: The new sections.
    ///   - name: Returns the name of a section. A name must not occur more than once in a configuration.
    init<Name: Hashable>(from old: [Section], to new: [Section], by name: (Section) -> Name) {
        let before = Dictionary(old.map { (name($0), $0) }) { first, _ in first }
        let after = Set(new.map(name))
        added = new.filter { before[name($0)] == nil }
        changed = new.filter { section in before[name(section)].map { $0 != section } ?? false }
        removed = old.filter { !after.contains(name($0)) }
    }
}
