import JSBridge
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxStore
import WebSocketChat

/// Creates a supervisor with the plugins and sources of a configuration.
///
/// To apply a different configuration, copy the builder and change its configuration. The copy shares the original's
/// files, thread and targets.
struct SupervisorBuilder {
    var configuration: RunConfiguration
    /// Where the plugin `print` writes. If `nil`, it writes to standard error.
    let printing: StandardOutput?
    let logger: Logger
    /// The `file` plugins' open files, which are kept when the configuration changes.
    var appendLogs = AppendLogTable()
    /// The thread that serves all feeds. It is kept when the configuration changes.
    let thread = WebSocketThread()
    /// The clients of all `http` plugins. They are kept when the configuration changes.
    let httpClients = HTTPClientTable()
    /// The sources that plugins send to. The table is kept when the configuration changes.
    let targets = TargetTable()
    /// The processes that plugins use. The table is kept when the configuration changes.
    let processes = ProcessTable()
    /// The sessions of the configuration in use. They are empty for the first configuration.
    var sessions = BrokerSessions()
    /// The open store of the configuration. If `nil`, all messages are kept in memory, and no source has a journal.
    var store: Store?
    /// Called for each chat that starts.
    var onChat: @Sendable (WebSocketServer) -> Void = { _ in }

    /// Returns a supervisor that has the configured plugins but no sources yet.
    ///
    /// - Parameter onOutcome: Receives the outcome of each arrival. It must not block.
    /// - Throws: ``AppendLogError`` or `RegistrationError` if a plugin could not be set up.
    func supervisor(onOutcome: (@Sendable (SettledArrival) -> Void)?) throws -> Supervisor {
        var bounds = configuration.supervisor
        bounds.onOutcome = onOutcome
        bounds.store = store
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        for plugin in configuration.plugins { try supervisor.register(try registration(of: plugin)) }
        return supervisor
    }

    /// Adds every configured source to the supervisor.
    ///
    /// - Throws: ``NamedFileError``, `JSBridgeError`, `MQTTPushError`, `WebSocketChatError` or `RegistrationError`.
    func addSources(to supervisor: Supervisor) throws {
        supervisor.stopLast(configuration.targets)
        for source in configuration.sources { try add(try adapter(of: source), of: source, to: supervisor) }
        try addProcessMessages(to: supervisor)
    }

    /// Adds the source of what processes send, if a plugin has processes and the source is not there yet.
    ///
    /// - Throws: `RegistrationError` if the supervisor is closing.
    func addProcessMessages(to supervisor: Supervisor) throws {
        let hasProcesses = configuration.plugins.contains { if case .process = $0.use { true } else { false } }
        guard hasProcesses, processes.addsMessages() else { return }
        try supervisor.add(processes.messages)
    }

    /// Adds a source's adapter to the supervisor.
    ///
    /// - Throws: `RegistrationError` if the supervisor already has the source or is closing.
    func add(_ adapter: any Adapter, of source: SourceSection, to supervisor: Supervisor) throws {
        targets.store(adapter)
        do {
            try supervisor.add(
                adapter,
                window: source.window,
                rateLimit: source.rateLimit,
                deduplication: source.deduplication,
                hold: source.hold,
                durability: store == nil ? .none : source.durability
            )
        } catch {
            // Plugins would wait for a target that never runs.
            targets.remove(source.name)
            throw error
        }
        if let server = adapter as? WebSocketServer { onChat(server) }
    }

    /// Returns a source's adapter.
    ///
    /// - Parameter runs: Whether the adapter will run, so that this method reads the source's scripts and documents. It reads
    ///   none if ``appendLogs`` does not open files.
    /// - Throws: ``NamedFileError``, `JSBridgeError`, `MQTTPushError` or `WebSocketChatError` if set-up fails.
    func adapter(of source: SourceSection, runs: Bool = true) throws -> any Adapter {
        let opensFiles = runs && appendLogs.opensFiles
        switch source.kind {
        case .mqtt(let mqtt):
            var push = mqtt.push(in: configuration)
            sessions.addFormerTopics(to: &push)
            return try MQTTPushAdapter(push, logger: logger)
        case .script(let script):
            let scripts = opensFiles ? try ScriptFiles.read(script.files) : []
            return try JavaScriptCoreEngine(script.page(running: scripts), logger: logger.withoutSecrets)
        case .links(let links):
            if opensFiles, let file = links.file { try InputDescriptor.checkReadable(file) }
            return LinkAdapter(links, source: source.name, logger: logger)
        case .feed(let feed): return try WebSocketFeed(feed, thread: thread, logger: logger)
        case .chat(let chat):
            return try WebSocketServer(opensFiles ? chat.withDocuments() : chat.server, logger: logger)
        }
    }

    /// How much longer the supervisor waits for a plugin that ends its calls itself.
    private static let grace = Duration.seconds(1)

    /// Returns the registration for the plugin that the section describes.
    ///
    /// - Throws: ``AppendLogError`` if the file of a `file` plugin could not be opened.
    func registration(of section: PluginSection) throws(AppendLogError) -> Registration {
        try builtIn(section).described(as: "use: \(section.use.keyword)")
    }

    private func builtIn(_ section: PluginSection) throws(AppendLogError) -> Registration {
        let (action, rule) = (section.action, section.rule)
        let options = PluginOptions<RawBody>(
            timeout: section.timeout + (section.use.endsCalls ? SupervisorBuilder.grace : .zero),
            order: section.order.lane,
            maxConcurrent: min(section.maxConcurrent * section.use.processes, 10_000),
            retry: section.retry,
            circuitBreaker: section.circuitBreaker,
            whenUnavailable: section.use.whenUnavailable,
            runsInline: section.runsInline
        )
        switch section.use {
        case .log: return Registration(LogPlugin(action: action), from: rule, options: options)
        case .print: return Registration(PrintPlugin(action: action, output: printing), from: rule, options: options)
        case .exec(let program):
            let plugin = ExecPlugin(program, timeout: section.timeout)
            return Registration(action, from: rule, options: options, replyingWithJSON: plugin.reply)
        case .process(let program):
            let limit = configuration.supervisor.drainLimit
            let plugin = processes.plugin(program, of: section, endLimit: limit, logger: logger)
            return Registration(
                action,
                from: rule,
                options: options,
                replyingWithJSON: { try await plugin.reply(to: $0, $1, timeout: section.timeout) }
            )
        case .http(let http):
            let client = httpClients.client(for: http.security)
            let plugin = HTTPPlugin(section: http, client: client, timeout: section.timeout)
            return Registration(action, from: rule, options: options, replyingWithJSON: plugin.reply)
        case .fail(let isRetryable):
            return Registration(FailPlugin(action: action, isRetryable: isRetryable), from: rule, options: options)
        case .suspend: return Registration(SuspendPlugin(action: action), from: rule, options: options)
        case .reply(let value):
            return Registration(ReplyPlugin(action: action, value: value), from: rule, options: options)
        case .echo: return Registration(action, from: rule, options: options, replyingWithJSON: EchoPlugin.reply)
        case .broadcast(let target?, let tag):
            let plugin = BroadcastToPlugin(action: action, source: target, tag: tag, targets: targets)
            return Registration(plugin, from: rule, options: options)
        case .send(let target, let reply):
            let plugin = SendPlugin(
                action: action,
                source: target,
                asksServer: reply,
                timeout: section.timeout,
                targets: targets
            )
            return Registration(action, from: rule, options: options, replyingWithJSON: plugin.reply)
        case .broadcast(nil, let tag):
            return Registration(BroadcastPlugin(action: action, tag: tag), from: rule, options: options)
        case .join(let tag):
            return Registration(TagPlugin(action: action, tag: tag, joins: true), from: rule, options: options)
        case .leave(let tag):
            return Registration(TagPlugin(action: action, tag: tag, joins: false), from: rule, options: options)
        case .publish(let publishing):
            let plugin = PublishPlugin(action: action, section: publishing, targets: targets)
            return Registration(plugin, from: rule, options: options)
        case .file(let path):
            let plugin = FilePlugin(action: action, log: try appendLogs.log(at: path))
            // A batch may contain many keys, so batched calls cannot be ordered by key.
            guard case .key = section.order else { return Registration(plugin, from: rule, options: options) }
            return Registration(FileLinePlugin(file: plugin), from: rule, options: options)
        }
    }
}
