import AppScheme
import JSBridge
import MQTTPush
import Signalbox
import SignalboxCore
import WebSocketChat

/// An entry of `sources`.
struct SourceSection: Sendable, Hashable {
    /// The key of the entry.
    let name: SourceName
    /// The kind of source and its settings.
    var kind: SourceKind
    /// The limits on arrivals that are not settled.
    var window = WindowLimits()
    /// The rate limit; `nil` for none.
    var rateLimit: RateLimit?
    /// Whether messages are deduplicated.
    var deduplication = DeduplicationPolicy.automatic

    /// The source of actions from `signalbox send`; no entry may have this name.
    static let internalName: SourceName = "internal"
}

/// The kind of a source, which is the key below its name.
enum SourceKind: Sendable, Hashable {
    /// Topics of a broker.
    case mqtt(MQTTSource)
    /// A headless page.
    case script(ScriptSource)
    /// URLs from a list, a file or stdin.
    case links(LinksSource)
    /// A client of a WebSocket server.
    case feed(WebSocketFeedConfiguration)
    /// A WebSocket server in this process.
    case chat(ChatSource)

    /// The keys, in the order in which messages list them.
    static let keys = ["mqtt", "script", "links", "feed", "chat"]
}

/// A broker's source.
struct MQTTSource: Sendable, Hashable {
    /// The configuration without its ack deadline and deliveries, which depend on other parts of the file.
    var push: MQTTPushConfiguration
    /// The broker's configured queue limit for this client, in messages; 0 for no limit. Only a check uses it.
    var brokerQueue = 1_000
    /// The maximum number of deliveries of a message if the process dies while handling it.
    var maxDeliveries = 5
    /// The file that counts deliveries; `nil` for one beside the append log of the first `file` plugin, if there is
    /// one.
    var deliveriesFile: String?

    /// The subscriptions of all connections, in matching order.
    var allTopics: [MQTTTopic] { push.topics + push.connections.flatMap(\.topics) }

    /// Returns the adapter's configuration of this source.
    func push(in configuration: RunConfiguration) -> MQTTPushConfiguration {
        var push = push
        push.ackDeadline = configuration.supervisor.ackDeadline
        let file = deliveriesFile ?? configuration.firstAppendLog.map { "\($0).deliveries.\(push.source)" }
        push.deliveries = file.map { MQTTDeliveryLimit(file: $0, deliveries: maxDeliveries) }
        return push
    }
}

/// A headless page.
struct ScriptSource: Sendable, Hashable {
    /// The configuration without its scripts and its process, which are set at the start.
    var page: JavaScriptCoreConfiguration
    /// The scripts for `run`, in execution order, relative to the working directory.
    var files: [String] = []
    /// The process that runs the scripts. If `nil`, `bridge` starts a separate process and `run` does not.
    var process: ScriptIsolation?
    /// The maximum resident memory of a separate process, in bytes.
    var memoryLimit: Int?

    /// Returns the engine's configuration of this page.
    ///
    /// - Parameters:
    ///   - scripts: The scripts to run; they may differ from ``files``.
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
    /// The command's process.
    case shared
    /// A separate process, which can be killed whatever the scripts do.
    case own
}

/// A source of links.
struct LinksSource: Sendable, Hashable {
    /// The routes that map links to actions.
    let routes: AppRoutes
    /// The limits of one link.
    let limits: MessageLimits
    /// The links to submit first.
    var urls: [String] = []
    /// A file of links to submit next, relative to the working directory.
    var file: String?
    /// Whether to read further links from stdin, after `urls` and `file`.
    var standardInput = false

    /// The application schemes of the routes, which a rule of `from` may name, sorted.
    var schemes: [String] { Set(routes.targets.filter { $0.universalHost == nil }.map(\.scheme)).sorted() }
    /// The hosts of `https` and `http` links, with the port unless it is the scheme's default, sorted.
    var hosts: [String] { Set(routes.targets.compactMap(\.universalHost)).sorted() }
}

/// A WebSocket server.
struct ChatSource: Sendable, Hashable {
    /// The configuration, with empty documents.
    var server: WebSocketServerConfiguration
    /// The file of each document, by path, relative to the working directory.
    var files: [String: String] = [:]

    /// Reads the documents, which happens when the source starts.
    ///
    /// - Returns: The configuration with the content of the documents.
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
