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
