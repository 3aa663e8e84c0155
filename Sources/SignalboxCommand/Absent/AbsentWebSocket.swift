#if !WebSocket
import BrowserBridge
import HTTPActions
import JSBridge
import Logging
import SignalboxCore
import WebSocketChat

// Without the trait WebSocket, the commands and the language of configurations are the same, but none of these types has a value:
// whatever would create one throws.

extension WebSocketChatError {
    fileprivate init(absentFor what: String, source: SourceName? = nil) {
        self.init(.invalidConfiguration, BuildInformation.Trait.webSocket.absence(for: what), source: source)
    }
}

/// A chat that cannot exist.
struct WebSocketServer: ListeningAdapter {
    private let never: Never

    init(_ configuration: WebSocketServerConfiguration, listener: WebListener? = nil, logger: Logger)
        throws(WebSocketChatError)
    {
        throw WebSocketChatError(absentFor: "a chat", source: configuration.source)
    }

    var configuration: WebSocketServerConfiguration { switch never {} }
    var source: SourceName { switch never {} }
    var features: AdapterFeatures { switch never {} }
    var connectionProblem: String? { switch never {} }
    var isRunning: Bool { switch never {} }
    func port() async -> UInt16? { switch never {} }
    func broadcast(_ action: ActionName, _ body: Bytes, to tag: String) -> BroadcastReport { switch never {} }
    func run(into intake: any Intake) async throws { switch never {} }
}

/// A feed that cannot exist.
struct WebSocketFeed: ConnectingAdapter {
    private let never: Never

    init(_ configuration: WebSocketFeedConfiguration, thread: WebSocketThread = WebSocketThread(), logger: Logger)
        throws(WebSocketChatError)
    {
        throw WebSocketChatError(absentFor: "a feed", source: configuration.source)
    }

    var source: SourceName { switch never {} }
    var features: AdapterFeatures { switch never {} }
    var connectionProblem: String? { switch never {} }
    var connection: ChatConnection? { switch never {} }
    func run(into intake: any Intake) async throws { switch never {} }
}

/// A thread that would serve feeds.
struct WebSocketThread: Sendable {}

/// A listener that cannot exist.
struct WebListener: Sendable {
    private let never: Never

    init(_ configuration: WebListenerConfiguration) throws(WebSocketChatError) {
        throw WebSocketChatError(absentFor: "a listener")
    }

    func attach(
        isAuxiliary: Bool = false,
        requests make: @escaping @Sendable (any HTTPAnswerer) -> any HTTPRequestReceiver
    ) async throws(WebSocketChatError) -> ListenerAttachment { switch never {} }
}

/// What a listener that cannot exist would serve.
struct ListenerAttachment: Sendable {
    private let never: Never

    var port: UInt16 { switch never {} }
    func detach() async { switch never {} }
}

/// A source of requests that cannot exist.
struct HTTPActionServer: ListeningAdapter {
    private let never: Never

    init(_ configuration: HTTPActionConfiguration, listener: WebListener, logger: Logger) throws(HTTPActionError) {
        let detail = BuildInformation.Trait.webSocket.absence(for: "a source of HTTP requests")
        throw HTTPActionError(.invalidConfiguration, detail, source: configuration.source)
    }

    var source: SourceName { switch never {} }
    var features: AdapterFeatures { switch never {} }
    var connectionProblem: String? { switch never {} }
    func port() async -> UInt16? { switch never {} }
    func run(into intake: any Intake) async throws { switch never {} }
}

/// An engine for browsers that cannot exist.
struct BrowserEngine: Adapter {
    private let never: Never

    init(_ configuration: BrowserConfiguration, logger: Logger) throws(BrowserBridgeError) {
        let detail = BuildInformation.Trait.webSocket.absence(for: "the engine browser")
        throw BrowserBridgeError(.invalidConfiguration, detail, source: configuration.source)
    }

    var source: SourceName { switch never {} }
    var features: AdapterFeatures { switch never {} }
    func url() async throws(BrowserBridgeError) -> String? { switch never {} }
    func run(into intake: any Intake) async throws { switch never {} }
}
#endif
