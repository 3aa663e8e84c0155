import Logging
import Signalbox
import SignalboxCore
import WebSocketChat

/// Makes a supervisor with the plugins of a configuration, and its sources.
struct SupervisorBuilder {
    let configuration: RunConfiguration
    /// Where the plugin `print` writes.
    let printing: PrintTarget
    let logger: Logger
    /// The files of the plugins `file`, open from one configuration to the next.
    var ledgers = LedgerTable()
    /// The one on which all feeds read and write, from one configuration to the next.
    var thread = WebSocketThread()
    /// Through which plugins publish, from one configuration to the next.
    var publishers = PublisherTable()
    /// Told of each chat that begins.
    var onChat: @Sendable (WebSocketServer) -> Void = { _ in }

    /// The same for another configuration, with the files that are open.
    func with(_ configuration: RunConfiguration) -> SupervisorBuilder {
        SupervisorBuilder(
            configuration: configuration,
            printing: printing,
            logger: logger,
            ledgers: ledgers,
            thread: thread,
            publishers: publishers,
            onChat: onChat
        )
    }

    /// A supervisor with the plugins, and without sources.
    ///
    /// - Parameter onOutcome: told what became of each arrival; must not block.
    /// - Throws: ``LedgerError`` or `RegistrationError`: what could not be set up.
    func supervisor(onOutcome: (@Sendable (SettledArrival) -> Void)?) throws -> Supervisor {
        var bounds = SupervisorConfiguration()
        bounds.timeout = configuration.timeout
        bounds.holdLimit = configuration.holdLimit
        bounds.drainLimit = configuration.drainLimit
        bounds.logLinesPerSecond = configuration.logLinesPerSecond
        bounds.deadLetters = configuration.deadLetters
        bounds.onOutcome = onOutcome
        let supervisor = Supervisor(configuration: bounds, logger: logger)
        for plugin in configuration.plugins { try register(plugin, in: supervisor) }
        return supervisor
    }

    /// Adds every source of the configuration.
    ///
    /// - Throws: ``NamedFileError``, `JSBridgeError`, `MQTTPushError`, `WebSocketChatError` or `RegistrationError`: what could not be set up.
    func addSources(to supervisor: Supervisor) throws {
        for source in configuration.sources { try add(try adapter(of: source), to: supervisor) }
    }

    /// Adds a source.
    ///
    /// - Throws: `RegistrationError`, when the supervisor has such a source or is closing.
    func add(_ adapter: SourceAdapter, to supervisor: Supervisor) throws {
        if let publisher = adapter.publisher { publishers.note(publisher, of: adapter.section.name) }
        try adapter.add(to: supervisor)
        if let server = adapter.server { onChat(server) }
    }

    /// What brings a source to life.
    ///
    /// - Throws: ``NamedFileError``, `JSBridgeError`, `MQTTPushError` or `WebSocketChatError`: what could not be set up.
    func adapter(of source: SourceSection) throws -> SourceAdapter {
        try SourceAdapter(source, configuration: configuration, thread: thread, logger: logger)
    }

    /// Registers the plugin of an entry.
    ///
    /// - Parameter replacing: whether it takes the place of one.
    /// - Throws: ``LedgerError`` or `RegistrationError`: what could not be set up.
    func register(_ section: PluginSection, in supervisor: Supervisor, replacing: Bool = false) throws {
        let action = section.action
        let place = PluginPlace(supervisor: supervisor, section: section, timeout: configuration.timeout, replacing)
        switch section.use {
        case .log: try place.take(LogPlugin(action: action))
        case .print: try place.take(PrintPlugin(action: action, target: printing))
        case .fail(let isRetryable): try place.take(FailPlugin(action: action, isRetryable: isRetryable))
        case .suspend: try place.take(SuspendPlugin(action: action))
        case .reply(let value): try place.take(ReplyPlugin(action: action, value: value))
        case .echo: try place.take(EchoPlugin(action: action))
        case .broadcast(let tag): try place.take(BroadcastPlugin(action: action, tag: tag))
        case .join(let tag): try place.take(TagPlugin(action: action, tag: tag, joins: true))
        case .leave(let tag): try place.take(TagPlugin(action: action, tag: tag, joins: false))
        case .publish(let section):
            try place.take(PublishPlugin(action: action, section: section, publishers: publishers))
        case .file(let path):
            let plugin = FilePlugin(action: action, ledger: try ledgers.ledger(at: path))
            // A batch holds many keys, so that one call cannot be for all of it.
            if case .key = section.order {
                try place.take(FileLinePlugin(file: plugin))
            } else {
                try place.take(plugin)
            }
        }
    }
}
