import AppScheme
import JSBridge
import MQTTPush
import Signalbox
import SignalboxCore
import WebSocketChat

/// An entry in `sources`.
struct SourceSection: Sendable, Hashable {
    /// The entry's key, which is the name of the source.
    let name: SourceName
    /// The kind of source and its settings.
    var kind: SourceKind
    /// The limits on arrivals that have not settled yet.
    var window = WindowLimits()
    /// The rate limit, or `nil` for none.
    var rateLimit: RateLimit?
    /// Whether messages are deduplicated.
    var deduplication = DeduplicationPolicy.automatic
    /// How long messages wait for a plugin, or `nil` to reject those without one at once.
    var hold: HoldLimits?
    /// Whether messages are written to the journal before they are acknowledged.
    var durability = SourceDurability.none

    /// Whether the source has a journal, and so no ack deadline.
    var hasJournal: Bool { durability != .none }

    /// Returns the limits that apply to messages without a plugin, or `nil` if the source rejects them at once.
    func holdBounds(ackDeadline: Duration) -> HoldBounds? {
        hold.map {
            HoldBounds(
                $0,
                window: window,
                unsettled: kind.unsettledLimit?.count,
                ackDeadline: kind.mqtt == nil || hasJournal ? nil : ackDeadline
            )
        }
    }

    /// The name of the source for actions that `signalbox send` submits. No entry may have this name.
    static let internalName: SourceName = "internal"
}

/// The kind of a source. In the file, it is the key below the source's name.
enum SourceKind: Sendable, Hashable {
    /// Receives messages on topics from a broker.
    case mqtt(MQTTSource)
    /// Runs a headless page.
    case script(ScriptSource)
    /// Reads URLs from a list, a file or stdin.
    case links(LinksSource)
    /// Connects to a WebSocket server as a client.
    case feed(WebSocketFeedConfiguration)
    /// Runs a WebSocket server in this process.
    case chat(ChatSource)
    /// Accepts HTTP requests.
    case http(HTTPSource)

    /// The keys of all kinds, in the order in which messages list them.
    static let keys = ["mqtt", "script", "links", "feed", "chat", "http"]
}

/// The settings for a source that receives messages from a broker.
struct MQTTSource: Sendable, Hashable {
    /// The adapter's configuration, without the ack deadline and the delivery limit. These depend on other parts of the
    /// file.
    var push: MQTTPushConfiguration
    /// The number of messages that the broker can queue for this client, or 0 for no limit. Only `check` uses this
    /// setting.
    var brokerQueue = 1_000
    /// How many times a message may be delivered if the process keeps dying while handling it.
    var maxDeliveries = 5
    /// The file in which deliveries are counted. If `nil`, the file is next to the first `file` plugin's append log. If
    /// there is no such plugin either, deliveries are not limited.
    var deliveriesFile: String?
    /// Whether deliveries can be counted. A source whose session ends with its connection receives no message again.
    var countsDeliveries = true

    /// The subscriptions of all connections, in matching order.
    var allTopics: [MQTTTopic] { push.topics + push.connections.flatMap(\.topics) }

    /// Returns the adapter's configuration for this source.
    func push(in configuration: RunConfiguration) -> MQTTPushConfiguration {
        var push = push
        push.ackDeadline = configuration.supervisor.ackDeadline
        guard countsDeliveries else { return push }
        let file = deliveriesFile ?? configuration.firstAppendLog.map { "\($0).deliveries.\(push.source)" }
        push.deliveries = file.map { MQTTDeliveryLimit(file: $0, deliveries: maxDeliveries) }
        return push
    }
}

/// The settings for a headless page.
struct ScriptSource: Sendable, Hashable {
    /// The engine's configuration, without the scripts and the process. These are set when the source starts.
    var page: JavaScriptCoreConfiguration
    /// The paths of the scripts for `run`, in execution order. They are relative to the working directory.
    var files: [String] = []
    /// Which process runs the scripts. If `nil`, `bridge` starts a separate process and `run` does not.
    var process: ScriptIsolation?
    /// The maximum resident memory of a separate process, in bytes.
    var memoryLimit: Int?

    /// Returns the engine's configuration for this page.
    ///
    /// - Parameters:
    ///   - scripts: The scripts to run. They may differ from ``files``.
    ///   - isolation: Which process to use if the source does not specify one.
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

/// The process that runs a page's scripts.
enum ScriptIsolation: String, Sendable, Hashable, CaseIterable {
    /// The command's process.
    case shared
    /// A separate process, which can be killed no matter what the scripts are doing.
    case own
}

/// The settings for a source of links.
struct LinksSource: Sendable, Hashable {
    /// The routes that map links to actions.
    let routes: AppRoutes
    /// The limits for each link.
    let limits: MessageLimits
    /// The links that are submitted first.
    var urls: [String] = []
    /// The path of a file with links to submit next, relative to the working directory.
    var file: String?
    /// Whether the source also reads links from stdin, after `urls` and `file`.
    var standardInput = false

    /// The routes' application schemes, sorted. The rules in `from` may name them.
    var schemes: [String] { Set(routes.targets.filter { $0.universalHost == nil }.map(\.scheme)).sorted() }
    /// The hosts of `https` and `http` links, sorted. A host includes its port, unless that is the scheme's default
    /// port.
    var hosts: [String] { Set(routes.targets.compactMap(\.universalHost)).sorted() }
}

/// The settings for a WebSocket server.
struct ChatSource: Sendable, Hashable {
    /// The server's configuration, with empty documents.
    var server: WebSocketServerConfiguration
    /// The listener that the server shares, or `nil` if it has one of its own.
    var listener: ListenerSection?
    /// The broker through which several programs share the broadcasts of the chat, or `nil` if they do not.
    var backplane: BackplaneSection?
    /// The path of each document's file, relative to the working directory. The keys are the documents' paths on the
    /// server.
    var files: [String: String] = [:]

    /// Reads the documents. Call this method when the source starts.
    ///
    /// - Returns: The server's configuration, including the content of the documents.
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

/// A limit on the messages of a source that have no outcome yet.
struct UnsettledLimit: CustomStringConvertible {
    let count: Int
    /// The key that sets the limit, or `nil` if it is fixed.
    let key: String?

    var description: String {
        key.map { "\($0) is \(count)" } ?? "a source of links has at most \(count) in progress"
    }
}

extension SourceKind {
    /// The limit on messages without an outcome, if the source has one besides its window.
    var unsettledLimit: UnsettledLimit? {
        switch self {
        case .mqtt(let mqtt): UnsettledLimit(count: mqtt.push.receiveMaximum, key: "receive_maximum")
        case .links: UnsettledLimit(count: AppSchemeAdapter<LinkFeed>.maximumInFlight, key: nil)
        case .script, .feed, .chat, .http: nil
        }
    }

    var mqtt: MQTTSource? { if case .mqtt(let mqtt) = self { mqtt } else { nil } }
    var script: ScriptSource? { if case .script(let script) = self { script } else { nil } }
    var links: LinksSource? { if case .links(let links) = self { links } else { nil } }
    var feed: WebSocketFeedConfiguration? { if case .feed(let feed) = self { feed } else { nil } }
    var chat: ChatSource? { if case .chat(let chat) = self { chat } else { nil } }
    var http: HTTPSource? { if case .http(let http) = self { http } else { nil } }
}
