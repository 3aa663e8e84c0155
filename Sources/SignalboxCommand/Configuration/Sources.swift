import AppScheme
import JSBridge
import MQTTPush
import Signalbox
import SignalboxCore
import WebSocketChat

/// An entry of `sources` in a configuration.
struct SourceSection: Sendable, Hashable {
    /// The key of the entry, which is the name of the source.
    let name: SourceName
    /// The kind of source and its settings.
    var kind: SourceKind
    /// The limits on arrivals that are not settled yet.
    var window = WindowLimits()
    /// The rate limit, or `nil` for none.
    var rateLimit: RateLimit?
    /// Whether messages are deduplicated.
    var deduplication = DeduplicationPolicy.automatic

    /// The name of the source of actions that `signalbox send` submits. No entry may have this name.
    static let internalName: SourceName = "internal"
}

/// The kind of a source, which is the key below its name.
enum SourceKind: Sendable, Hashable {
    /// Receives the messages of topics from a broker.
    case mqtt(MQTTSource)
    /// Runs a headless page.
    case script(ScriptSource)
    /// Reads URLs from a list, a file or stdin.
    case links(LinksSource)
    /// Connects to a WebSocket server as a client.
    case feed(WebSocketFeedConfiguration)
    /// Runs a WebSocket server in this process.
    case chat(ChatSource)

    /// The keys of all kinds, in the order in which messages list them.
    static let keys = ["mqtt", "script", "links", "feed", "chat"]
}

/// The settings of a source that receives messages from a broker.
struct MQTTSource: Sendable, Hashable {
    /// The configuration of the adapter without its ack deadline and deliveries, which depend on other parts of the
    /// file.
    var push: MQTTPushConfiguration
    /// The queue limit that the broker has for this client, in messages. The value 0 means no limit. Only a check uses
    /// this setting.
    var brokerQueue = 1_000
    /// The maximum number of times that a message is delivered if the process dies while it handles the message.
    var maxDeliveries = 5
    /// The file in which deliveries are counted. If `nil`, the file is beside the append log of the first `file`
    /// plugin, if there is such a plugin.
    var deliveriesFile: String?

    /// The subscriptions of all connections, in matching order.
    var allTopics: [MQTTTopic] { push.topics + push.connections.flatMap(\.topics) }

    /// Returns the configuration of the adapter for this source.
    func push(in configuration: RunConfiguration) -> MQTTPushConfiguration {
        var push = push
        push.ackDeadline = configuration.supervisor.ackDeadline
        let file = deliveriesFile ?? configuration.firstAppendLog.map { "\($0).deliveries.\(push.source)" }
        push.deliveries = file.map { MQTTDeliveryLimit(file: $0, deliveries: maxDeliveries) }
        return push
    }
}

/// The settings of a headless page.
struct ScriptSource: Sendable, Hashable {
    /// The configuration of the engine without its scripts and its process, which are set when the source starts.
    var page: JavaScriptCoreConfiguration
    /// The paths of the scripts for `run`, in execution order, relative to the working directory.
    var files: [String] = []
    /// The process that runs the scripts. If `nil`, `bridge` starts a separate process and `run` does not.
    var process: ScriptIsolation?
    /// The maximum resident memory of a separate process, in bytes.
    var memoryLimit: Int?

    /// Returns the configuration of the engine for this page.
    ///
    /// - Parameters:
    ///   - scripts: The scripts to run, which may differ from ``files``.
    ///   - isolation: The process to use if the source does not specify one.
    func page(running scripts: [PageScript], isolation: ScriptIsolation = .shared) -> JavaScriptCoreConfiguration {
        var page = page
        page.scripts = scripts
        if (process ?? isolation) == .own {
            page.process = PageWorker.process
            page.process?.memoryLimit = memoryLimit ?? PageWorker.process.memoryLimit
        }
        return page
    }
}

/// The process that runs the scripts of a page.
enum ScriptIsolation: String, Sendable, Hashable, CaseIterable {
    /// The process of the command.
    case shared
    /// A separate process, which can be killed regardless of what the scripts do.
    case own
}

/// The settings of a source of links.
struct LinksSource: Sendable, Hashable {
    /// The routes that map links to actions.
    let routes: AppRoutes
    /// The limits of one link.
    let limits: MessageLimits
    /// The links that are submitted first.
    var urls: [String] = []
    /// The path of a file of links that are submitted next, relative to the working directory.
    var file: String?
    /// Whether the source reads further links from stdin, after `urls` and `file`.
    var standardInput = false

    /// The application schemes of the routes in sorted order. A rule of `from` may name them.
    var schemes: [String] { Set(routes.targets.filter { $0.universalHost == nil }.map(\.scheme)).sorted() }
    /// The hosts of `https` and `http` links in sorted order. A host includes the port, unless it is the default port
    /// of the scheme.
    var hosts: [String] { Set(routes.targets.compactMap(\.universalHost)).sorted() }
}

/// The settings of a WebSocket server.
struct ChatSource: Sendable, Hashable {
    /// The configuration of the server, in which the documents are empty.
    var server: WebSocketServerConfiguration
    /// The path of the file of each document, relative to the working directory. The keys are the paths of the
    /// documents on the server.
    var files: [String: String] = [:]

    /// Reads the documents. Call this method when the source starts.
    ///
    /// - Returns: The configuration of the server with the content of the documents.
    /// - Throws: ``NamedFileError`` for the first document that is missing or too large.
    func withDocuments() throws(NamedFileError) -> WebSocketServerConfiguration {
        var server = server
        for (path, file) in files.sorted(by: { $0.key < $1.key }) {
            let body = try FileContent.bytes(of: file, limit: FileContent.documentLimit)
            server.pages[path] = server.pages[path].map { WebSocketPage(contentType: $0.contentType, body: body) }
        }
        return server
    }
}

extension SourceKind {
    var mqtt: MQTTSource? { if case .mqtt(let mqtt) = self { mqtt } else { nil } }
    var script: ScriptSource? { if case .script(let script) = self { script } else { nil } }
    var links: LinksSource? { if case .links(let links) = self { links } else { nil } }
    var feed: WebSocketFeedConfiguration? { if case .feed(let feed) = self { feed } else { nil } }
    var chat: ChatSource? { if case .chat(let chat) = self { chat } else { nil } }
}
