import Dispatch
import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// Reads the configuration of a running program anew, and changes the program accordingly; or leaves it as it is, when the
/// new configuration is not right.
final class ConfigurationReload: Sendable {
    private struct State {
        var running: RunConfiguration
        var hasReadInput: Bool
        var counts = ReloadCounts()
    }

    private let file: String
    private let serving: ServeRequest?
    private let supervisor: Supervisor
    private let builder: SupervisorBuilder
    private let logger: Logger
    private let state: Mutex<State>
    /// Files are read here: they may be slow, and the threads of tasks must not wait.
    private let queue = DispatchQueue(label: "signalbox.reload")

    /// - Parameters:
    ///   - file: the configuration's file.
    ///   - serving: what `serve` asks for beside the file.
    ///   - supervisor: runs what the builder's configuration says.
    ///   - builder: made the supervisor; its ledgers go on.
    init(file: String, serving: ServeRequest?, supervisor: Supervisor, builder: SupervisorBuilder) {
        self.file = file
        self.serving = serving
        self.supervisor = supervisor
        self.builder = builder
        logger = builder.logger
        let hasReadInput = builder.configuration.sources.contains(where: \.readsInput)
        state = Mutex(State(running: builder.configuration, hasReadInput: hasReadInput))
    }

    /// What came of all requests so far.
    var counts: ReloadCounts { state.withLock { $0.counts } }

    /// Serves requests one after the other until they end, or the task is cancelled.
    func serve(_ requests: AsyncStream<Void>) async {
        for await _ in requests {
            if supervisor.isEnding {
                logger.notice("SIGHUP ignored: the program is draining", metadata: ["file": "\(file)"])
            } else {
                await reload()
            }
        }
    }

    private func reload() async {
        let prepared: PreparedChange
        do throws(ReloadRefusal) {
            prepared = try await prepare()
        } catch {
            state.withLock { $0.counts.refused += 1 }
            for problem in error.problems { logger.error("configuration refused", metadata: problem.metadata) }
            return
        }
        do {
            try await prepared.carryOut(in: supervisor)
        } catch {
            state.withLock { $0.counts.refused += 1 }
            let problem = ReloadProblem(error, key: "", in: file)
            logger.error("configuration not taken over: the program is ending", metadata: problem.metadata)
            return
        }
        state.withLock { state in
            state.counts.taken += 1
            state.running = prepared.change.next
            state.hasReadInput = state.hasReadInput || state.running.sources.contains(where: \.readsInput)
        }
        tell(of: prepared.change)
    }

    private func prepare() async throws(ReloadRefusal) -> PreparedChange {
        let (running, hasReadInput) = state.withLock { ($0.running, $0.hasReadInput) }
        let result = await withCheckedContinuation { continuation in
            queue.async { [self] in
                let result = Result { () throws(ReloadRefusal) in
                    let new = try read()
                    let change = ConfigurationChange(from: running, to: new, hasReadInput: hasReadInput)
                    return try PreparedChange(change, with: builder.with(change.next), file: file)
                }
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }

    private func read() throws(ReloadRefusal) -> RunConfiguration {
        let text: String
        do throws(CommandRefusal) {
            text = try ConfigurationFile.content(of: file)
        } catch {
            throw ReloadRefusal(problems: [ReloadProblem(error, key: "", in: file)])
        }
        let (configuration, findings) = ConfigurationReader.reviewed(text)
        guard var configuration else {
            let mistakes = findings.filter { $0.severity == .error }
            throw ReloadRefusal(problems: mistakes.map { ReloadProblem($0, in: file) })
        }
        configuration.exposures = findings.filter(\.code.isExposure)
        do throws(CommandRefusal) {
            try serving?.apply(to: &configuration, file: file)
        } catch {
            throw ReloadRefusal(problems: [ReloadProblem(error, key: "", in: file)])
        }
        return configuration
    }

    private func tell(of change: ConfigurationChange) {
        for waiting in change.waiting {
            logger.warning(
                "a change of the configuration needs a restart",
                metadata: ["key": "\(waiting.key)", "why": "\(waiting.reason)"]
            )
        }
        for exposure in change.exposures {
            logger.warning("secret exposed", metadata: exposure.metadata(in: file))
        }
        var metadata: Logger.Metadata = ["file": "\(file)"]
        for (field, names) in [
            ("sourcesAdded", change.sources.added.map(\.text)), ("sourcesChanged", change.sources.changed.map(\.text)),
            ("sourcesRemoved", change.sources.removed.map(\.text)),
            ("pluginsAdded", change.plugins.added.map(\.text)), ("pluginsChanged", change.plugins.changed.map(\.text)),
            ("pluginsRemoved", change.plugins.removed.map(\.text)),
        ] where !names.isEmpty {
            metadata[field] = "\(names.joined(separator: " "))"
        }
        logger.info("configuration read anew\(change.isEmpty ? ": nothing has changed" : "")", metadata: metadata)
    }
}

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

/// Everything that keeps a new configuration from being taken over.
struct ReloadRefusal: Error, Sendable, Hashable {
    /// At least one.
    let problems: [ReloadProblem]
}

/// Why a new configuration is not taken over: one of perhaps several reasons.
struct ReloadProblem: Error, Sendable, Hashable {
    /// The file, and where in it: `FILE:LINE:COLUMN` where that is known.
    let place: String
    /// The key, such as `plugins[0].use`; empty when the whole file is meant.
    let key: String
    /// The word for programs, where the mistake has one.
    let code: ProblemCode?
    /// What is wrong, and what to write instead where that is known.
    let message: String

    /// A mistake that `signalbox check` tells too.
    init(_ problem: ConfigurationProblem, in file: String) {
        place = "\(file):\(problem.line):\(problem.column)"
        key = problem.path
        code = problem.code
        message = problem.message
    }

    /// What shows only when the program does what the configuration says.
    ///
    /// - Parameter key: the part of the configuration it is about.
    init(_ error: any Error, key: String, in file: String) {
        place = file
        self.key = key
        code = nil
        message = "\(error)"
    }

    /// What its log line has beside its message.
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "at": "\(place)", "problem": "\(message)",
            "advice": "the old configuration goes on; correct this and send SIGHUP again",
        ]
        if !key.isEmpty { metadata["key"] = "\(key)" }
        if let code { metadata["code"] = "\(code.rawValue)" }
        return metadata
    }
}

/// How often a running program was asked to read its configuration anew, by what came of it.
struct ReloadCounts: Sendable, Hashable {
    /// The new configuration is in use.
    var taken = 0
    /// The old configuration went on.
    var refused = 0

    /// For the last line of a run; `nil` when it was never asked to.
    var description: String? {
        taken + refused == 0 ? nil : "configuration read anew \(taken + refused), of these refused \(refused)"
    }
}
