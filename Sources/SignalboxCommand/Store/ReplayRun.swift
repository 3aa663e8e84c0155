import AdapterSupport
import Logging
import Signalbox
import SignalboxCore
import SignalboxStore

/// Replays dead letters in this process, with the plugins of a configuration. Its sources are not connected.
struct ReplayRun {
    private let configuration: RunConfiguration
    private let logger: Logger

    /// - Parameters:
    ///   - letters: The letters to replay.
    ///   - action: The action as which they are dispatched, or `nil` for their own.
    ///   - configuration: The configuration. It must have a store.
    /// - Throws: ``CommandFailure`` if the plugin of a letter needs a connection.
    init(
        _ letters: [ReplayedLetter],
        as action: ActionName?,
        _ configuration: RunConfiguration,
        logger: Logger
    ) throws(CommandFailure) {
        for letter in letters {
            let plugin = configuration.plugins.first { $0.action == action ?? letter.action }
            guard let plugin, let target = plugin.targets.min(by: { $0.text < $1.text }) else { continue }
            throw CommandFailure(
                .unavailable,
                "dead letter \(letter.number): the plugin '\(plugin.action)' sends to the source '\(target)', which does not run in "
                    + "this command; start 'signalbox run' with the configuration, and replay then"
            )
        }
        self.configuration = configuration
        self.logger = logger
    }

    /// Runs a supervisor until all letters have a result, or until a signal or the timeout.
    ///
    /// - Returns: The exit status for the signal or the timeout, or `nil`.
    /// - Throws: The error that prevented the start or ended the run.
    func replay(_ watch: ReplayWatch, _ timeout: Duration?) async throws -> CommandStatus? {
        guard let store = try openedStore() else { return await watch.follow(for: timeout) }
        let end: SupervisorSession.End
        do {
            end = try await run(watch, timeout, store)
        } catch {
            try? store.close()
            throw error
        }
        try store.close()
        if let failure = end.failure { throw failure }
        return end.interruption
    }

    /// Returns the store, or `nil` if a program has just started to use it, which then replays the letters.
    private func openedStore() throws(StoreError) -> Store? {
        do throws(StoreError) {
            return try configuration.store?.open(dispatchesJournal: false)
        } catch {
            guard error.code == .inUse else { throw error }
            return nil
        }
    }

    private func run(_ watch: ReplayWatch, _ timeout: Duration?, _ store: Store) async throws -> SupervisorSession.End {
        var builder = SupervisorBuilder(configuration: configuration, printing: nil, logger: logger)
        builder.store = store
        let supervisor = try builder.supervisor(onOutcome: nil)
        for source in configuration.sources {
            guard let adapter = try builder.adapter(of: source, runs: false) as? any RestoringAdapter else { continue }
            try supervisor.addForReplay(adapter)
        }
        let session = SupervisorSession(supervisor: supervisor, output: watch.output, timeout: timeout)
        return await session.run {
            await watch.waitForResults(whileHeld: false)
            supervisor.shutDown()
        }
    }
}

/// Shows what the replay of dead letters would do, with the plugins and rules of a configuration. Starts nothing.
struct ReplayPreview {
    private let configuration: RunConfiguration
    private let supervisor: Supervisor
    private let adapters: [SourceName: any RestoringAdapter]

    /// - Throws: The error that prevented the configuration from being set up.
    init(_ configuration: RunConfiguration) throws {
        let builder = SupervisorBuilder(
            configuration: configuration,
            printing: nil,
            logger: Logger(label: "signalbox") { _ in SwiftLogNoOpLogHandler() },
            appendLogs: AppendLogTable(opensFiles: false)
        )
        self.configuration = configuration
        supervisor = try builder.supervisor(onOutcome: nil)
        var adapters: [SourceName: any RestoringAdapter] = [:]
        for source in configuration.sources {
            let adapter = try builder.adapter(of: source)
            try builder.add(adapter, of: source, to: supervisor)
            adapters[source.name] = adapter as? any RestoringAdapter
        }
        self.adapters = adapters
    }

    /// Returns the explanation of what would happen to a letter.
    ///
    /// - Parameter action: The action as which it is dispatched, or `nil` for its own.
    /// - Throws: ``CommandFailure`` if the letter cannot be explained.
    func line(about entry: DeadLetterEntry, as action: ActionName?) throws(CommandFailure) -> ExplanationLine {
        var line = try explanation(of: entry.letter.message, as: action)
        line.number = entry.number
        return line
    }

    private func explanation(of message: StoredMessage, as action: ActionName?) throws(CommandFailure)
        -> ExplanationLine
    {
        let section = configuration.sources.first { $0.name == message.source }
        guard let section, let restored = adapters[message.source]?.restore([message], at: .now()).first else {
            let detail = "the configuration has no source \(message.source) that can read stored messages"
            return ExplanationLine(unmatched: Outcome.Rejection(.unknownAction, detail: detail))
        }
        let arrival = try action.map { action throws(CommandFailure) in try restored.renamed(to: action) } ?? restored
        let explained = ExplainedMessage(restored: arrival, of: section)
        return ExplanationLine(explained, supervisor.explain(arrival), plugins: configuration.plugins)
    }
}

extension Arrival {
    /// Returns the arrival as one of another action, with the same body. If the message could not be read, its bytes are the body.
    fileprivate func renamed(to name: ActionName) throws(CommandFailure) -> Arrival {
        let action = try? reading.get()
        let body = action.flatMap { try? $0.body.decode(RawBody.self) }
        let bytes = body.map { $0.kind == .json ? action?.body.json ?? $0.bytes : $0.bytes } ?? original
        let naming = RouteNaming(action: name, id: action?.senderID.flatMap { ActionID($0) })
        let limits = MessageLimits(bytes: 1 << 30, depth: 512)
        return try .single(Array(bytes), from: origin, .route(naming), payload: body?.kind ?? .json, limits: limits)
    }
}
