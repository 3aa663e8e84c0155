import AdapterSupport
import Dispatch
import Logging
import Signalbox
import SignalboxCore
import Synchronization

/// Reloads a running program's configuration and applies the differences. If the new configuration is invalid, the
/// program continues unchanged.
final class ConfigurationReload: Sendable {
    private struct State {
        var running: RunConfiguration
        var hasReadInput: Bool
        /// Whether the program is about to end.
        var isEnding = false
        var sessions: BrokerSessions
        var counts = ReloadCounts()
    }

    /// The result of a request.
    enum Result: Sendable {
        case applied(ConfigurationChange)
        case refused(ReloadRefusal)
        /// The program is ending, and keeps its configuration.
        case ending
    }

    private let file: String
    private let serving: ServeRequest?
    private let supervisor: Supervisor
    private let builder: SupervisorBuilder
    private let logger: Logger
    private let manager: ServiceManager?
    private let state: Mutex<State>
    /// The queue for reading files. Reading can be slow, and a task must not block on it.
    private let queue = DispatchQueue(label: "signalbox.reload")
    /// The commands that wait for a reload, or for the end of all reloads, with what tells them the result.
    private let requests = AsyncStream.makeStream(of: (result: Promise<Result>, isLast: Bool).self)

    /// - Parameters:
    ///   - file: The configuration's path.
    ///   - serving: The options of `serve`, if the program was started with `serve`.
    ///   - supervisor: The supervisor that runs the builder's configuration.
    ///   - builder: The builder that created the supervisor. Later configurations use its append logs.
    ///   - manager: The service manager, which learns when a reload begins and ends.
    init(
        file: String,
        serving: ServeRequest?,
        supervisor: Supervisor,
        builder: SupervisorBuilder,
        manager: ServiceManager? = nil
    ) {
        self.manager = manager
        self.file = file
        self.serving = serving
        self.supervisor = supervisor
        self.builder = builder
        logger = builder.logger
        let hasReadInput = builder.configuration.sources.contains(where: \.readsInput)
        let sessions = BrokerSessions(builder.configuration)
        state = Mutex(State(running: builder.configuration, hasReadInput: hasReadInput, sessions: sessions))
    }

    /// How many reloads were applied and how many were refused.
    var counts: ReloadCounts { state.withLock { $0.counts } }

    /// The configuration in use.
    var configuration: RunConfiguration { state.withLock { $0.running } }

    /// Reloads the configuration, after the reloads that were requested before.
    func request() async -> Result {
        let result = Promise<Result>()
        guard case .enqueued = requests.continuation.yield((result, isLast: false)) else { return .ending }
        return await result.value()
    }

    /// Ignores all further requests. When this method returns, no reload is in progress.
    func end() async {
        state.withLock { $0.isEnding = true }
        let result = Promise<Result>()
        if case .enqueued = requests.continuation.yield((result, isLast: true)) { _ = await result.value() }
    }

    /// Handles requests and signals one after the other, until the task is cancelled.
    ///
    /// - Parameter hangups: Yields for each SIGHUP.
    func serve(_ hangups: AsyncStream<Void>) async {
        await withDiscardingTaskGroup { group in
            group.addTask { [self] in
                // Signals during a reload lead to one more.
                for await _ in hangups { _ = await request() }
            }
            group.addTask { [self] in
                for await request in requests.stream {
                    request.result.set(request.isLast ? .ending : await handleRequest())
                }
                requests.continuation.finish()
            }
        }
        // The requests that came too late.
        for await request in requests.stream { request.result.set(.ending) }
    }

    private func handleRequest() async -> Result {
        guard !supervisor.isEnding, !state.withLock({ $0.isEnding }) else {
            logger.notice("reload ignored: the program is draining", metadata: ["file": "\(file)"])
            return .ending
        }
        manager?.reloading()
        defer { manager?.ready() }
        return await reload()
    }

    private func reload() async -> Result {
        let prepared: PreparedChange
        do {
            prepared = try await prepare()
        } catch {
            let problems = (error as? ReloadRefusal)?.problems ?? [ReloadRefusal.problem(error, in: file)]
            return refuse("configuration refused", problems)
        }
        do {
            try await prepared.apply(to: supervisor)
        } catch {
            let problem = ReloadRefusal.problem(error, in: file)
            _ = refuse("configuration not applied: the program is ending", [problem])
            return .ending
        }
        let abandoned = state.withLock { state in
            state.counts.applied += 1
            state.running = prepared.change.next
            state.hasReadInput = state.hasReadInput || state.running.sources.contains(where: \.readsInput)
            return state.sessions.change(to: state.running)
        }
        logChange(prepared.change)
        await withDiscardingTaskGroup { group in
            for session in abandoned { group.addTask { [logger] in await session.unsubscribe(logger: logger) } }
        }
        return .applied(prepared.change)
    }

    private func prepare() async throws -> PreparedChange {
        let (running, hasReadInput, sessions) = state.withLock { ($0.running, $0.hasReadInput, $0.sessions) }
        var builder = builder
        builder.sessions = sessions
        let prepared = await FileContent.waiting(on: queue) { [self, builder] in
            Swift.Result {
                let change = ConfigurationChange(from: running, to: try read(), hasReadInput: hasReadInput)
                return try PreparedChange(change, with: builder, file: file)
            }
        }
        return try prepared.get()
    }

    private func read() throws -> RunConfiguration {
        let text = try ConfigurationFile.content(of: file)
        let found = ConfigurationReader.lint(text, file: file, readsSecrets: true, readsTests: false)
        guard var configuration = found.configuration else {
            let errors = found.findings.filter { $0.severity == .error }.map { $0.metadata(in: file) }
            let rest: Logger.Metadata = ["at": "\(file)", "problem": "\(found.omitted) more findings are not shown"]
            throw ReloadRefusal(problems: found.omitted > 0 ? errors + [rest] : errors)
        }
        configuration.warnings = found.findings.filter { $0.code.logMessage != nil }
        try serving?.apply(to: &configuration, file: file)
        return configuration
    }

    private func refuse(_ message: Logger.Message, _ problems: [Logger.Metadata]) -> Result {
        state.withLock { $0.counts.refused += 1 }
        for var problem in problems {
            problem["advice"] = "the old configuration stays in effect; correct this and send SIGHUP again"
            logger.error(message, metadata: problem)
        }
        return .refused(ReloadRefusal(problems: problems))
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
        for (field, names) in change.fields where !names.isEmpty {
            metadata[field] = "\(names.joined(separator: " "))"
        }
        logger.info("configuration reloaded\(change.isEmpty ? ": no changes" : "")", metadata: metadata)
    }
}

extension ConfigurationChange {
    /// The names of what changes, by the fields of logs and answers.
    fileprivate var fields: [(field: String, names: [String])] {
        [
            ("sourcesAdded", sources.added.map(\.name.text)),
            ("sourcesChanged", sources.changed.map(\.name.text)),
            ("sourcesRemoved", sources.removed.map(\.name.text)),
            ("pluginsAdded", plugins.added.map(\.action.text)),
            ("pluginsChanged", plugins.changed.map(\.action.text)),
            ("pluginsRemoved", plugins.removed.map(\.action.text)),
        ]
    }

    /// The change as the answer to a command.
    var line: [UInt8] {
        var object = JSONObject()
        object.add("isApplied", true)
        for (field, names) in fields { object.add(field, texts: names) }
        object.add("needsRestart", objects: deferred) { deferred, entry in
            entry.add("key", deferred.key)
            entry.add("reason", deferred.reason)
        }
        return object.line
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

/// A change that is ready to be applied: its sources are created and its files are open.
struct PreparedChange {
    let change: ConfigurationChange
    private let builder: SupervisorBuilder
    private let adapters: [(source: SourceSection, adapter: any Adapter)]
    /// The changes to the plugins. Their registrations keep the plugins' files open.
    private let plugins: [PluginChange]

    /// - Parameters:
    ///   - change: The change to prepare.
    ///   - builder: The builder of the configuration in use.
    ///   - file: The configuration's path, for error messages.
    /// - Throws: ``ReloadRefusal`` with every part of the change that could not be set up.
    init(_ change: ConfigurationChange, with builder: SupervisorBuilder, file: String) throws(ReloadRefusal) {
        var builder = builder
        builder.configuration = change.next
        var adapters: [(source: SourceSection, adapter: any Adapter)] = []
        var plugins = change.plugins.removed.map { PluginChange.remove($0.action) }
        var problems: [Logger.Metadata] = []
        func add<Value>(_ key: String, to list: inout [Value], _ make: () throws -> Value) {
            do {
                list.append(try make())
            } catch {
                problems.append(ReloadRefusal.problem(error, key: key, in: file))
            }
        }
        for source in change.sources.added + change.sources.changed {
            add("sources.\(source.name)", to: &adapters) { (source, try builder.adapter(of: source)) }
        }
        let replaced = Set(change.plugins.changed.map(\.action))
        for plugin in change.plugins.added + change.plugins.changed {
            add("path of the plugin '\(plugin.action)'", to: &plugins) {
                let registration = try builder.registration(of: plugin)
                return replaced.contains(plugin.action) ? .replace(registration) : .add(registration)
            }
        }
        guard problems.isEmpty else { throw ReloadRefusal(problems: problems) }
        (self.change, self.builder, self.adapters, self.plugins) = (change, builder, adapters, plugins)
    }

    /// Applies the change in three steps:
    ///
    /// 1. The removed and changed sources drain. Their messages still go to the old plugins, and held ones to the new
    ///    plugins that they wait for. The sources that the old plugins send to keep their connections until all messages
    ///    of the draining sources are settled.
    /// 2. All other plugins change at once.
    /// 3. The new and changed sources start.
    ///
    /// - Throws: `RegistrationError` `closed` if the supervisor has started to drain.
    func apply(to supervisor: Supervisor) async throws {
        try await supervisor.whileSourcesChange {
            // If a drain begins meanwhile, the new plugins can still send to their targets.
            supervisor.stopLast(change.targets)
            try supervisor.apply(plugins.filter(change.isAwaited))
            let leaving = Set((change.sources.removed + change.sources.changed).map(\.name))
            for source in await supervisor.remove(sources: leaving) {
                builder.targets.remove(source)
                builder.groups.remove(source)
                builder.health?.remove(source)
            }
            try supervisor.apply(plugins.filter { !change.isAwaited($0) })
            supervisor.stopLast(change.next.targets)
            for (source, adapter) in adapters { try builder.add(adapter, of: source, to: supervisor) }
            try builder.addProcessMessages(to: supervisor)
        }
    }
}

/// The reasons why a new configuration was refused.
struct ReloadRefusal: Error {
    /// The metadata for one log line per reason. There is at least one reason.
    let problems: [Logger.Metadata]

    /// The refusal as the answer to a command.
    var line: [UInt8] {
        var object = JSONObject()
        object.add("isApplied", false)
        object.add("problems", objects: problems) { problem, entry in
            for (field, value) in problem.sorted(by: { $0.key < $1.key }) { entry.add(field, "\(value)") }
        }
        return object.line
    }

    /// Returns the log metadata for a problem that `signalbox check` cannot find.
    ///
    /// - Parameter key: The configuration key with the problem, or `nil` if it concerns the whole file.
    static func problem(_ error: any Error, key: String? = nil, in file: String) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["at": "\(file)", "problem": "\(error)"]
        if let key { metadata["key"] = "\(key)" }
        return metadata
    }
}

/// Counts configuration reloads by result.
struct ReloadCounts: Sendable, Hashable {
    /// The number of reloads that put the new configuration in use.
    var applied = 0
    /// The number of reloads that kept the old configuration in use.
    var refused = 0

    /// The text about reloads in the last line of a run, or `nil` if no reload was requested.
    var description: String? {
        applied + refused == 0 ? nil : "configuration reloads \(applied + refused), of these refused \(refused)"
    }
}
