import AdapterSupport
public import Logging
public import SignalboxCore
import Synchronization

/// Accepts WebSocket clients and receives their messages, at most once. Answers them, and lets plugins send to one
/// client or to all with a tag.
///
/// Each run owns one thread, which serves all connections. Permissions are checked before a connection opens; see
/// ``WebSocketServerConfiguration``. Any thread may call.
public final class WebSocketServer: Adapter {
    /// The configuration of the server.
    public let configuration: WebSocketServerConfiguration
    let hub: ChatHub
    let counters = ServerCounters()
    let log: ServerLog
    private let lifecycle = ServerLifecycle()

    /// - Parameters:
    ///   - configuration: The configuration, which is validated.
    ///   - logger: The logger for refusals and rule violations. It never receives messages or secrets.
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration`.
    public init(_ configuration: WebSocketServerConfiguration, logger: Logger) throws(WebSocketChatError) {
        try configuration.validate()
        self.configuration = configuration
        if configuration.identity != nil { WebSocketVulnerabilities.warn(to: logger) }
        log = ServerLog(logger, source: configuration.source)
        hub = ChatHub(
            ChatHub.Limits(
                tags: configuration.tags,
                tagsPerConnection: configuration.tagsPerConnection,
                waitingBytes: configuration.waitingBytes
            )
        )
    }

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// Supports pushes, and replies if the configuration enables answers.
    public var features: AdapterFeatures { configuration.answers ? [.replies, .pushes] : [.pushes] }

    /// The port the server listens on, even if the configured port is 0. Waits until a run listens.
    ///
    /// - Returns: `nil` if the run has ended, possibly before it listened, or if the caller is cancelled.
    public func port() async -> UInt16? { await lifecycle.port() }

    /// The counters since the server was created.
    public var counts: WebSocketServerCounts {
        var counts = counters.value
        counts.slowReaders = hub.slowReaders
        return counts
    }

    /// Sends an envelope to every connection with the tag. See ``ChatConnection/broadcast(_:_:to:)``.
    @discardableResult
    public func broadcast(_ action: ActionName, _ body: Bytes, to tag: String) -> BroadcastReport {
        hub.broadcast(action, body, to: tag)
    }

    /// Listens until its task is cancelled or the intake closes. Runs may follow one another but not overlap.
    ///
    /// Cancellation stops the server gracefully, and takes effect immediately, even while tokens are read. New clients
    /// are refused with 503, and reading stops. Accepted messages are settled and answered; messages read but not
    /// accepted are answered with `abandoned`. Connections close with 1001 after their pending data, or after 1 s.
    ///
    /// - Throws: ``WebSocketChatError`` `alreadyRunning`; `secretUnavailable` if a token cannot be read, and
    ///   `invalidConfiguration` if one is too short or two are equal; `notListening`; `noResources`.
    public func run(into intake: any Intake) async throws {
        guard lifecycle.begin() else {
            throw WebSocketChatError(
                .alreadyRunning,
                "the server is already running: one run at a time",
                source: source
            )
        }
        defer {
            hub.attach(nil)
            lifecycle.end()
        }
        guard let tokens = try await PrincipalTokens.reading(configuration), !Task.isCancelled else { return }
        let run = ServerRun(self, tokens: tokens, intake: intake)
        let transport = try await run.listen()
        let before = counters.value.notTaken
        lifecycle.listens(on: transport.port)
        log.listening(configuration, port: transport.port)
        await run.serve(on: transport)
        log.stopped(notTaken: counters.value.notTaken - before)
    }

}

/// The counters of a chat server since it was created. A refused request or a connection closed by the server is
/// counted once.
public struct WebSocketServerCounts: Sendable, Hashable, Encodable {
    /// Connections that are open.
    public internal(set) var open = 0
    /// Connections that have opened, including those still open.
    public internal(set) var opened = 0
    /// Connections admitted by a token in the query; see ``WebSocketServerConfiguration/queryTokens``.
    public internal(set) var queryTokens = 0
    /// Upgrades refused with 400, 405, 426 or 431: invalid WebSocket requests, or only unsupported subprotocols.
    public internal(set) var malformed = 0
    /// Upgrades refused with 401: the token was missing or unknown.
    public internal(set) var unauthorized = 0
    /// Upgrades refused with 403: the origin was not allowed, repeated, or missing although required.
    public internal(set) var forbidden = 0
    /// Upgrades refused with 404: wrong path. Requests for missing pages do not count.
    public internal(set) var notFound = 0
    /// Upgrades refused with 503: too many connections, a stopping server, or a source without room to announce one.
    public internal(set) var unavailable = 0
    /// Connections cut before their request because the process was almost out of descriptors.
    public internal(set) var outOfDescriptors = 0
    /// HTTP connections evicted to make room for others.
    public internal(set) var evicted = 0
    /// Connections closed on arrival or at their first request because the limit of HTTP connections was reached.
    public internal(set) var overLimit = 0
    /// Connections closed with 1013 because they read too slowly.
    public internal(set) var slowReaders = 0
    /// Connections closed with 1001 because they sent no message within the idle timeout.
    public internal(set) var idle = 0
    /// Connections closed with 1008 because a message exceeded the message timeout.
    public internal(set) var unfinished = 0
    /// Connections closed with 1009 because a message was too large or had too many empty pieces.
    public internal(set) var tooBig = 0
    /// Connections closed with 1003 because a message was binary and the configuration rejects binary messages.
    public internal(set) var unacceptable = 0
    /// Connections that ended because the client violated RFC 6455 (1002) or sent text that is not UTF-8 (1007).
    public internal(set) var protocolViolations = 0
    /// Connections lost without a close frame: reset, or silent beyond the silence limit.
    public internal(set) var lost = 0
    /// Messages read but not accepted by the supervisor because it or the server stopped. Those with an id were
    /// answered with `abandoned`.
    public internal(set) var notTaken = 0
}

/// The counters, which live as long as the server. Any thread.
final class ServerCounters: Sendable {
    private let counts = Mutex(WebSocketServerCounts())

    var value: WebSocketServerCounts { counts.withLock { $0 } }

    func change(_ body: (inout WebSocketServerCounts) -> Void) {
        counts.withLock { body(&$0) }
    }

    /// - Parameter status: The HTTP status with which an upgrade was refused.
    func refused(_ status: Int) {
        change { counts in
            switch status {
            case 401: counts.unauthorized += 1
            case 403: counts.forbidden += 1
            case 404: counts.notFound += 1
            case 503: counts.unavailable += 1
            default: counts.malformed += 1
            }
        }
    }

    func ended(_ reason: DisconnectReason) {
        change { counts in
            counts.open -= 1
            switch reason {
            case .protocolViolation: counts.protocolViolations += 1
            case .lost: counts.lost += 1
            default: break
            }
        }
    }
}

/// The run state and port of a server. Any thread.
final class ServerLifecycle: Sendable {
    /// Whether a run is active, whether the last one has ended, and the port of the current or next run, which is `nil`
    /// once that run has ended.
    private let state = Mutex((isRunning: false, hasEnded: false, port: Promise<UInt16?>()))

    /// - Returns: `false` if a run is already active.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isRunning else { return false }
            // A task that asked before the first run waits for that run.
            if state.hasEnded { state.port = Promise() }
            state.isRunning = true
            state.hasEnded = false
            return true
        }
    }

    func listens(on port: UInt16) {
        state.withLock { $0.port }.set(port)
    }

    func end() {
        let port = state.withLock { state in
            defer { state = (isRunning: false, hasEnded: true, port: Promise(.some(nil))) }
            return state.port
        }
        port.set(nil)
    }

    /// Waits for the port of the run; `nil` if the run has ended or the caller is cancelled.
    func port() async -> UInt16? {
        await state.withLock { $0.port }.valueUnlessCancelled() ?? nil
    }
}
