import JSBridge
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import WebSocketChat

/// A source of a configuration, ready to be run.
struct SourceAdapter {
    let section: SourceSection
    private let adapter: any Adapter
    /// The adapter, of a chat.
    let server: WebSocketServer?
    /// What a broker's source publishes through, where it does.
    let publisher: MQTTPublisher?

    /// - Parameter thread: on which feeds read and write.
    /// - Throws: ``NamedFileError``, `JSBridgeError`, `MQTTPushError` or `WebSocketChatError`: what could not be set up.
    init(_ section: SourceSection, configuration: RunConfiguration, thread: WebSocketThread, logger: Logger) throws {
        self.section = section
        let (name, limits) = (section.name, configuration.limits)
        var server: WebSocketServer?
        var publisher: MQTTPublisher?
        switch section.kind {
        case .mqtt(let mqtt):
            let push = mqtt.push(
                from: name,
                limits: limits,
                holdLimit: configuration.holdLimit,
                ledger: configuration.firstLedger
            )
            let made = try MQTTPushAdapter(push, logger: logger)
            adapter = made
            publisher = made.publisher
        case .script(let script):
            let scripts = try ScriptFiles.read(script.files)
            let page = script.page(from: name, scripts: scripts, limits: limits)
            adapter = try JavaScriptCoreEngine(page, logger: logger.withoutSecrets)
        case .links(let links):
            if let file = links.file { try InputDescriptor.checkReadable(file) }
            adapter = LinkAdapter(links, source: name, limits: limits, logger: logger)
        case .feed(let feed):
            adapter = try WebSocketFeed(feed.feed(from: name, limits: limits), thread: thread, logger: logger)
        case .chat(let chat):
            let pages = try chat.documents()
            let made = try WebSocketServer(chat.server(from: name, pages: pages, limits: limits), logger: logger)
            adapter = made
            server = made
        }
        self.server = server
        self.publisher = publisher
    }

    /// - Throws: `RegistrationError`, when the supervisor has such a source or is closing.
    func add(to supervisor: Supervisor) throws {
        try supervisor.add(
            adapter,
            window: section.window,
            rateLimit: section.rateLimit,
            repeats: section.repeats
        )
    }
}
