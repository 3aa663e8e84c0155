import Dispatch
import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// Reloads the configuration of a running program and applies the differences. The program stays unchanged if the new
/// configuration is invalid.
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
    /// Reads files, which may be slow. Tasks must not block on them.
    private let queue = DispatchQueue(label: "signalbox.reload")

    /// - Parameters:
    ///   - file: The path of the configuration.
    ///   - serving: The options of `serve`, if any.
    ///   - supervisor: Runs the configuration of the builder.
    ///   - builder: The builder that made the supervisor. Later configurations use its append logs.
    init(file: String, serving: ServeRequest?, supervisor: Supervisor, builder: SupervisorBuilder) {
        self.file = file
        self.serving = serving
        self.supervisor = supervisor
        self.builder = builder
        logger = builder.logger
        let hasReadInput = builder.configuration.sources.contains(where: \.readsInput)
        state = Mutex(State(running: builder.configuration, hasReadInput: hasReadInput))
    }

    /// The number of reloads, by result.
    var counts: ReloadCounts { state.withLock { $0.counts } }

    /// Serves requests one after the other until the stream ends or the task is cancelled.
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
            try await prepared.apply(to: supervisor)
        } catch {
            state.withLock { $0.counts.refused += 1 }
            let problem = ReloadProblem(error, key: "", in: file)
            logger.error("configuration not applied: the program is ending", metadata: problem.metadata)
            return
        }
        state.withLock { state in
            state.counts.applied += 1
            state.running = prepared.change.next
            state.hasReadInput = state.hasReadInput || state.running.sources.contains(where: \.readsInput)
        }
        logChange(prepared.change)
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
        do throws(CommandFailure) {
            text = try ConfigurationFile.content(of: file)
        } catch {
            throw ReloadRefusal(problems: [ReloadProblem(error, key: "", in: file)])
        }
        let (configuration, findings) = ConfigurationReader.lint(text)
        guard var configuration else {
            let mistakes = findings.filter { $0.severity == .error }
            throw ReloadRefusal(problems: mistakes.map { ReloadProblem($0, in: file) })
        }
        configuration.warnings = findings.filter { $0.code.logMessage != nil }
        do throws(CommandFailure) {
            try serving?.apply(to: &configuration, file: file)
        } catch {
            throw ReloadRefusal(problems: [ReloadProblem(error, key: "", in: file)])
        }
        return configuration
    }

    private func logChange(_ change: ConfigurationChange) {
        for deferred in change.deferred {
            logger.warning(
                "a configuration change needs a restart",
                metadata: ["key": "\(deferred.key)", "reason": "\(deferred.reason)"]
            )
        }
        logger.warn(of: change.warnings, in: file)
        var metadata: Logger.Metadata = ["file": "\(file)"]
        for (field, names) in [
            ("sourcesAdded", change.sources.added.map(\.text)), ("sourcesChanged", change.sources.changed.map(\.text)),
            ("sourcesRemoved", change.sources.removed.map(\.text)),
            ("pluginsAdded", change.plugins.added.map(\.text)), ("pluginsChanged", change.plugins.changed.map(\.text)),
            ("pluginsRemoved", change.plugins.removed.map(\.text)),
        ] where !names.isEmpty {
            metadata[field] = "\(names.joined(separator: " "))"
        }
        logger.info("configuration reloaded\(change.isEmpty ? ": no changes" : "")", metadata: metadata)
    }
}

extension Logger {
    /// Logs the warnings about a configuration file that have a log message.
    func warn(of findings: [ConfigurationProblem], in file: String) {
        for finding in findings {
            guard let message = finding.code.logMessage else { continue }
            warning("\(message)", metadata: finding.metadata(in: file))
        }
    }
}

/// A change that is ready to apply: its sources are created and its files are open.
struct PreparedChange {
    let change: ConfigurationChange
    private let builder: SupervisorBuilder
    private let adapters: [SourceAdapter]
    /// The changes of the plugins. Their registrations keep the files of plugins open.
    private let plugins: [PluginChange]

    /// - Parameters:
    ///   - change: The change to prepare.
    ///   - builder: A builder for the new configuration.
    ///   - file: The path of the configuration, for error messages.
    /// - Throws: ``ReloadRefusal`` with everything that could not be set up.
    init(_ change: ConfigurationChange, with builder: SupervisorBuilder, file: String) throws(ReloadRefusal) {
        self.change = change
        self.builder = builder
        var (problems, adapters) = ([ReloadProblem](), [SourceAdapter]())
        let started = Set(change.sources.added + change.sources.changed)
        for source in change.next.sources where started.contains(source.name) {
            do {
                adapters.append(try builder.adapter(of: source))
            } catch {
                problems.append(ReloadProblem(error, key: "sources.\(source.name)", in: file))
            }
        }
        var plugins = change.plugins.removed.map(PluginChange.remove)
        let (added, replaced) = (Set(change.plugins.added), Set(change.plugins.changed))
        for plugin in change.next.plugins where added.contains(plugin.action) || replaced.contains(plugin.action) {
            do throws(AppendLogError) {
                let registration = try builder.registration(of: plugin)
                plugins.append(replaced.contains(plugin.action) ? .replace(registration) : .add(registration))
            } catch {
                problems.append(ReloadProblem(error, key: "path of the plugin '\(plugin.action)'", in: file))
            }
        }
        guard problems.isEmpty else { throw ReloadRefusal(problems: problems) }
        (self.adapters, self.plugins) = (adapters, plugins)
    }

    /// Applies the change. Removed and changed sources drain first, under the plugins that their messages were sent to.
    /// Then all plugins change in one step, and then new and changed sources start.
    ///
    /// - Throws: `RegistrationError` `closed` if the supervisor has started to drain.
    func apply(to supervisor: Supervisor) async throws {
        try await supervisor.whileSourcesChange {
            await withTaskGroup(of: Void.self) { group in
                for source in change.sources.removed + change.sources.changed {
                    group.addTask { await supervisor.remove(source: source) }
                }
            }
            try supervisor.apply(plugins)
            for adapter in adapters { try builder.add(adapter, to: supervisor) }
        }
    }
}

/// All reasons a new configuration was refused.
struct ReloadRefusal: Error, Sendable, Hashable {
    /// The problems, at least one.
    let problems: [ReloadProblem]
}

/// A reason a new configuration was refused.
struct ReloadProblem: Error, Sendable, Hashable {
    /// The location: `FILE:LINE:COLUMN`, or the file if the position is unknown.
    let location: String
    /// The key, such as `plugins[0].use`, or empty for the whole file.
    let key: String
    /// The machine-readable code of the problem, if it has one.
    let code: ProblemCode?
    /// A description of the problem, with a correction if one is known.
    let message: String

    /// Creates a problem that `signalbox check` reports too.
    init(_ problem: ConfigurationProblem, in file: String) {
        location = "\(file):\(problem.line):\(problem.column)"
        key = problem.path
        code = problem.code
        message = problem.message
    }

    /// Creates a problem that is found only when the configuration is applied.
    ///
    /// - Parameter key: The affected key of the configuration.
    init(_ error: any Error, key: String, in file: String) {
        location = file
        self.key = key
        code = nil
        message = "\(error)"
    }

    /// The metadata of the problem's log line.
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "at": "\(location)", "problem": "\(message)",
            "advice": "the old configuration stays in effect; correct this and send SIGHUP again",
        ]
        if !key.isEmpty { metadata["key"] = "\(key)" }
        if let code { metadata["code"] = "\(code.rawValue)" }
        return metadata
    }
}

/// The number of configuration reloads, by result.
struct ReloadCounts: Sendable, Hashable {
    /// The new configuration is in use.
    var applied = 0
    /// The old configuration stays in use.
    var refused = 0

    /// A part of the last line of a run, or `nil` if no reload was requested.
    var description: String? {
        applied + refused == 0 ? nil : "configuration reloads \(applied + refused), of these refused \(refused)"
    }
}
