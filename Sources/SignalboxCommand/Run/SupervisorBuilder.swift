import HTTPActions
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
    /// The sources that may be in a group of MQTT workers. The table is kept when the configuration changes.
    let groups = GroupHandover()
    /// The listeners that sources share. The table is kept when the configuration changes.
    let listeners = ListenerTable()
    /// The processes that plugins use. The table is kept when the configuration changes.
    let processes = ProcessTable()
    /// The sessions of the configuration in use. They are empty for the first configuration.
    var sessions = BrokerSessions()
    /// How much longer the supervisor waits for a plugin that ends its calls itself. The plugin's own reason names the step and the
    /// program, so that it should win on a busy machine too.
    var grace = Duration.seconds(5)
    /// Whether commands and a console can ask the program, as `control` and `observe` say.
    var runsCommands = false
    /// What watches the sources' connections, if anyone wants to know.
    var health: HealthWatch?
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
        bounds.store = store?.messages
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        for plugin in configuration.runningPlugins { try supervisor.register(try registration(of: plugin)) }
        return supervisor
    }

    /// Adds every configured source to the supervisor.
    ///
    /// - Returns: Their adapters.
    /// - Throws: ``NamedFileError``, `JSBridgeError`, `MQTTPushError`, `WebSocketChatError` or `RegistrationError`.
    @discardableResult func addSources(to supervisor: Supervisor) throws -> [any Adapter] {
        supervisor.stopLast(configuration.targets)
        let adapters = try configuration.runningSources.map { source in
            let adapter = try adapter(of: source)
            try add(adapter, of: source, to: supervisor)
            return adapter
        }
        try addProcessMessages(to: supervisor)
        return adapters
    }

    /// Adds the source of what processes and commands send, if there may be any and the source is not there yet.
    ///
    /// - Throws: `RegistrationError` if the supervisor is closing.
    func addProcessMessages(to supervisor: Supervisor) throws {
        let hasProcesses = configuration.plugins.flatMap(\.use.parts).contains {
            if case .process = $0 { true } else { false }
        }
        let isOpen = configuration.control?.isReadOnly == false || configuration.observe?.console == .full
        let hasCommands = isOpen && runsCommands
        guard hasProcesses || hasCommands, processes.addsMessages() else { return }
        try supervisor.add(processes.messages)
    }

    /// Adds a source's adapter to the supervisor.
    ///
    /// - Throws: `RegistrationError` if the supervisor already has the source or is closing.
    func add(_ adapter: any Adapter, of source: SourceSection, to supervisor: Supervisor) throws {
        targets.store(adapter)
        groups.store(adapter)
        health?.add(adapter)
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
            groups.remove(source.name)
            health?.remove(source.name)
            throw error
        }
        if let server = adapter as? WebSocketServer { onChat(server) }
    }

    /// Answers questions about the program, if the configuration says where.
    ///
    /// - Parameter console: Answers the console's questions, if there is one.
    /// - Returns: The attachment, which the caller detaches once the program has ended.
    /// - Throws: ``CommandFailure`` if the token cannot be read or the port is not free.
    func observe(by observation: Observation, _ console: ConsoleService?) async throws -> ListenerAttachment? {
        guard let section = configuration.observe else { return nil }
        let listener = try listeners.listener(section.listener)
        return try await ObservationServer(section, on: listener, observation, console, logger: logger).start()
    }

    /// Returns a source's adapter.
    ///
    /// - Parameter runs: Whether the adapter will run, so that this method reads the source's scripts and documents. It reads
    ///   none if ``appendLogs`` does not open files.
    /// - Throws: ``NamedFileError``, `JSBridgeError`, `MQTTPushError`, `HTTPActionError` or `WebSocketChatError` if set-up fails.
    func adapter(of source: SourceSection, runs: Bool = true) throws -> any Adapter {
        let opensFiles = runs && appendLogs.opensFiles
        switch source.kind {
        case .mqtt(let mqtt):
            var push = mqtt.push(in: configuration)
            sessions.addFormerTopics(to: &push)
            return try MQTTPushAdapter(push, logger: logger)
        case .script(let script):
            #if JavaScriptCore
            let scripts = opensFiles ? try ScriptFiles.read(script.files) : []
            return try JavaScriptCoreEngine(script.page(running: scripts), logger: logger.withoutSecrets)
            #else
            throw CommandFailure(missing: .javaScriptCore, for: "the source '\(source.name)'")
            #endif
        case .links(let links):
            if opensFiles, let file = links.file { try InputDescriptor.checkReadable(file) }
            return LinkAdapter(links, source: source.name, logger: logger)
        case .feed(let feed): return try WebSocketFeed(feed, thread: thread, logger: logger)
        case .chat(let chat):
            let listener = try chat.listener.map { try listeners.listener($0) }
            let server = try opensFiles ? chat.withDocuments() : chat.server
            return try WebSocketServer(server, listener: listener, logger: logger)
        case .http(let http):
            return try HTTPActionServer(http.server, listener: listeners.listener(http.listener), logger: logger)
        }
    }

    /// Returns the registration for the plugin that the section describes.
    ///
    /// - Throws: ``AppendLogError`` if the file of a `file` plugin could not be opened.
    func registration(of section: PluginSection) throws(AppendLogError) -> Registration {
        let use = section.use
        let options = PluginOptions<RawBody>(
            timeout: section.timeout + (section.endsCalls ? grace : .zero),
            order: section.order.lane,
            maxConcurrent: min(section.maxConcurrent * use.processes, 10_000),
            retry: section.retry,
            circuitBreaker: section.circuitBreaker,
            whenUnavailable: section.whenUnavailable,
            runsInline: section.runsInline
        )
        return try builtIn(use, of: section).registration(section.rule, options).described(as: "use: \(use.keyword)")
    }

    /// Returns the plugin for a function: that of the section, or a step of its chain.
    private func builtIn(_ use: PluginUse, of section: PluginSection) throws(AppendLogError) -> BuiltIn {
        let action = section.action
        switch use {
        case .log: return BuiltIn(LogPlugin(action: action))
        case .print: return BuiltIn(PrintPlugin(action: action, output: printing))
        case .fail(let isRetryable): return BuiltIn(FailPlugin(action: action, isRetryable: isRetryable))
        case .suspend: return BuiltIn(SuspendPlugin(action: action))
        case .reply(let value): return BuiltIn(ReplyPlugin(action: action, value: value))
        case .echo: return BuiltIn(action, EchoPlugin.reply)
        case .broadcast(let target, let tag) where !section.backplanes.isEmpty:
            let plugin = BackplaneBroadcast(
                action: action,
                chat: target,
                tag: tag,
                backplanes: section.backplanes,
                targets: targets
            )
            return BuiltIn(action, timeout: section.timeout) { try await plugin.reply(to: $0, $1, timeout: $2) }
        case .deliver(let chats): return BuiltIn(DeliverPlugin(action: action, chats: chats, targets: targets))
        case .broadcast(let target?, let tag):
            return BuiltIn(BroadcastToPlugin(action: action, source: target, tag: tag, targets: targets))
        case .broadcast(nil, let tag): return BuiltIn(BroadcastPlugin(action: action, tag: tag))
        case .join(let tag): return BuiltIn(TagPlugin(action: action, tag: tag, joins: true))
        case .leave(let tag): return BuiltIn(TagPlugin(action: action, tag: tag, joins: false))
        case .publish(let publishing):
            return BuiltIn(PublishPlugin(action: action, section: publishing, targets: targets))
        case .file(let path):
            let plugin = FilePlugin(action: action, log: try appendLogs.log(at: path))
            return BuiltIn(plugin, isKeyed: section.order.isKeyed)
        case .exec, .process, .http, .send, .map, .chain, .filter, .throttle, .aggregate, .sample:
            return BuiltIn(action, timeout: section.timeout, try call(use, of: section))
        }
    }

    /// Returns the call of a function that ends its own calls.
    private func call(_ use: PluginUse, of section: PluginSection) throws(AppendLogError) -> BuiltIn.Call {
        switch use {
        case .exec(let program):
            let plugin = ExecPlugin(program)
            return { try await plugin.reply(to: $0, $1, timeout: $2) }
        case .process(let program):
            let limit = configuration.supervisor.drainLimit
            let plugin = processes.plugin(program, of: section, endLimit: limit, logger: logger)
            return { try await plugin.reply(to: $0, $1, timeout: $2) }
        case .http(let http):
            let plugin = HTTPPlugin(section: http, client: httpClients.client(for: http.security))
            return { try await plugin.reply(to: $0, $1, timeout: $2) }
        case .send(let target, let reply):
            let plugin = SendPlugin(action: section.action, source: target, asksServer: reply, targets: targets)
            return { try await plugin.reply(to: $0, $1, timeout: $2) }
        default:
            var steps: [(step: ChainPlugin.Step, use: PluginUse)] = []
            for part in use.parts { steps.append((try step(part, of: section), part)) }
            let chain = ChainPlugin(steps, limits: configuration.limits)
            return { try await chain.reply(to: $0, $1, timeout: $2) }
        }
    }

    private func step(_ use: PluginUse, of section: PluginSection) throws(AppendLogError) -> ChainPlugin.Step {
        switch use {
        case .filter(let filter): .filter(filter)
        case .map(let template): .map(template)
        case .throttle(let throttle): .throttle(ThrottleStep(throttle))
        case .sample(let sample): .sample(SampleStep(sample))
        case .aggregate(let aggregate): .aggregate(AggregateStep(aggregate))
        default: .call(try builtIn(use, of: section).call)
        }
    }
}
