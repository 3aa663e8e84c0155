#if WebSocket
import AdapterSupport
public import Logging
public import SignalboxCore
import Synchronization

/// Accepts WebSocket clients, receives their messages and answers them.
///
/// Use a server when other programs or browsers connect to yours. For example:
///
/// ```swift
/// var configuration = WebSocketServerConfiguration(source: "chat", port: 8080)
/// configuration.origins = [try WebOrigin("https://app.example")]
/// configuration.principals = [WebSocketPrincipal("kitchen", token: .file("/run/secrets/kitchen"))]
/// let server = try WebSocketServer(configuration, logger: logger)
/// ```
///
/// Plugins can also send messages, either to one client with ``ChatConnection`` or to all clients that have a tag.
/// Messages are received at most once. The server checks whether a client may connect before its connection opens, as
/// described in ``WebSocketServerConfiguration``.
///
/// Each run has a single thread, which serves all connections. This type is safe to use from any thread.
public final class WebSocketServer: ListeningAdapter {
    /// The server's configuration.
    public let configuration: WebSocketServerConfiguration
    let hub: ChatHub
    let listener: WebListener
    /// What the server serves on the listener.
    let traits: SiteTraits
    let counters = ServerCounters()
    let log: ServerLog
    private let lifecycle = ServerLifecycle()

    /// Creates a server, which starts listening when you run it.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which the initializer validates.
    ///   - listener: The listener that the server shares with other sources, or `nil`, the default, for one of its own. A
    ///     shared listener decides about address, port, certificate, HTTP limits, handshake timeout, pings and
    ///     `allWaitingBytes`, so those values of `configuration` do not apply.
    ///   - logger: The logger for refusals and rule violations. Messages and secrets are never logged.
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration`.
    public init(
        _ configuration: WebSocketServerConfiguration,
        listener: WebListener? = nil,
        logger: Logger
    ) throws(WebSocketChatError) {
        var configuration = configuration
        if let listener { configuration.adopt(listener.configuration) }
        try configuration.validate()
        traits = configuration.traits(isAlone: listener == nil)
        self.listener = listener ?? WebListener(of: configuration)
        self.configuration = configuration
        if configuration.identity != nil { WebSocketVulnerabilities.warn(to: logger) }
        log = ServerLog(logger, source: configuration.source)
        hub = ChatHub(
            ChatHub.Limits(
                tags: configuration.tags,
                tagsPerConnection: configuration.tagsPerConnection,
                waitingBytes: configuration.waitingBytes,
                calls: ChatHub.Calls(
                    inFlight: configuration.callsInFlight,
                    configuration.frames,
                    configuration.limits
                )
            )
        )
        listener?.announce(traits, of: configuration.source)
    }

    /// The source named in the configuration.
    public var source: SourceName { configuration.source }

    package var connectionProblem: String? { lifecycle.problem }

    /// The supported features. A server supports pushes, and replies if the configuration enables answers.
    public var features: AdapterFeatures { configuration.answers ? [.replies, .pushes] : [.pushes] }

    /// Returns the port that the server listens on, even if the configured port is 0. This method waits until the
    /// server is listening.
    ///
    /// - Returns: The port, or `nil` if the calling task is cancelled or the run has ended, even if the server never
    ///   listened.
    public func port() async -> UInt16? { await lifecycle.port() }

    /// Whether the server is running. Before and after a run, a broadcast reaches no connection.
    public var isRunning: Bool { hub.isAttached }

    /// The events counted since the server was created.
    public var counts: WebSocketServerCounts {
        var counts = counters.value
        counts.slowReaders = hub.slowReaders
        counts.lateAnswers = hub.lateAnswers
        return counts
    }

    /// Sends an envelope to every connection that has the tag, as ``ChatConnection/broadcast(_:_:to:)`` does.
    @discardableResult
    public func broadcast(_ action: ActionName, _ body: Bytes, to tag: String) -> BroadcastReport {
        hub.broadcast(action, body, to: tag)
    }

    /// Listens until the task is cancelled or the intake closes. You can run the server again after a run has ended,
    /// but two runs cannot overlap.
    ///
    /// Cancellation stops the server gracefully and takes effect immediately, even while the server is reading tokens.
    /// The server refuses new clients with 503 and stops reading. Accepted messages are settled and answered; messages
    /// that were read but not accepted are answered with `abandoned`. Each connection is then closed with 1001, either
    /// when its pending data has been sent or after 1 s.
    ///
    /// - Throws: ``WebSocketChatError`` with one of these codes:
    ///   - `alreadyRunning`, `notListening` or `noResources`.
    ///   - `secretUnavailable` if a token cannot be read.
    ///   - `invalidConfiguration` if a token is too short or two tokens are equal.
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
        let before = counters.value.notTaken
        try await run.serve { transport in
            lifecycle.listens(on: transport.port)
            log.listening(configuration, port: transport.port)
        }
        log.stopped(notTaken: counters.value.notTaken - before)
    }
}

extension WebSocketServer: RestoringAdapter {
    /// Reads stored messages again, with the current frames and limits. The messages have no ``ChatConnection``.
    ///
    /// The facts are those that the server established when each message arrived. A text message and a binary one can be told
    /// apart unless text messages are read as bytes, too.
    public func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        // A port that the system has chosen is another one in each run.
        let pagesOrigin = configuration.port == 0 ? nil : configuration.pagesOrigin(port: configuration.port)
        let reader = RestoredMessages(source: source, frames: configuration.frames, limits: configuration.limits)
        return reader.arrivals(of: messages, at: now) { $0.comparing(with: pagesOrigin) }
    }
}

/// Counters for a chat server's events since it was created. Use them to monitor the server.
///
/// Each refused request, and each connection that the server closed, is counted only once.
public struct WebSocketServerCounts: Sendable, Hashable, Encodable {
    /// Connections that are open now.
    public internal(set) var open = 0
    /// Connections that have opened, including those that are still open.
    public internal(set) var opened = 0
    /// Connections that were admitted with a token in the query (``WebSocketServerConfiguration/queryTokens``).
    public internal(set) var queryTokens = 0
    /// Upgrades refused with 400, 405, 426 or 431 because the request was invalid or offered only unsupported
    /// subprotocols.
    public internal(set) var malformed = 0
    /// Upgrades refused with 401 because the token was missing or unknown.
    public internal(set) var unauthorized = 0
    /// Upgrades refused with 403 because the origin was repeated, was not allowed, or was required but missing.
    public internal(set) var forbidden = 0
    /// Upgrades refused with 404 because the path was wrong. Requests for missing pages are not included.
    public internal(set) var notFound = 0
    /// Upgrades refused with 503 because there were too many connections, the server was stopping, or the source had no
    /// room to announce the connection.
    public internal(set) var unavailable = 0
    /// Connections that were cut before their request because the process was almost out of descriptors.
    public internal(set) var outOfDescriptors = 0
    /// HTTP connections that were evicted to make room for others.
    public internal(set) var evicted = 0
    /// Connections that were closed on arrival or at their first request because the limit of HTTP connections was
    /// reached.
    public internal(set) var overLimit = 0
    /// Connections closed with 1013 because they read too slowly.
    public internal(set) var slowReaders = 0
    /// Answers to calls that had already ended, such as after their timeout. They were dropped.
    public internal(set) var lateAnswers = 0
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
    /// Connections lost without a close frame, because they were reset or silent beyond the silence limit.
    public internal(set) var lost = 0
    /// Messages that were read, but that the supervisor did not accept because the supervisor or the server was
    /// stopping. Messages with an id were answered with `abandoned`.
    public internal(set) var notTaken = 0
}

/// The counters, which live as long as the server. Safe to use from any thread.
final class ServerCounters: Sendable {
    private let counts = Mutex(WebSocketServerCounts())

    var value: WebSocketServerCounts { counts.withLock { $0 } }

    func change(_ body: (inout WebSocketServerCounts) -> Void) {
        counts.withLock { body(&$0) }
    }

    /// Counts a refused upgrade.
    ///
    /// - Parameter status: The HTTP status of the response.
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

/// Tracks a server's runs and its port. Safe to use from any thread.
package final class ServerLifecycle: Sendable {
    private struct State {
        var isRunning = false
        /// Whether the last run has ended.
        var hasEnded = false
        /// The port of the current or next run, or `nil` once that run has ended.
        var port = Promise<UInt16?>()
    }

    private let state = Mutex(State())

    package init() {}

    /// Starts a run.
    ///
    /// - Returns: `false` if a run is already active.
    package func begin() -> Bool {
        state.withLock { state in
            guard !state.isRunning else { return false }
            // A task that asked for the port before the first run is waiting for that run.
            if state.hasEnded { state.port = Promise() }
            state.isRunning = true
            state.hasEnded = false
            return true
        }
    }

    package func listens(on port: UInt16) {
        state.withLock { $0.port }.set(port)
    }

    package func end() {
        let port = state.withLock { state in
            defer { state = State(hasEnded: true, port: Promise(.some(nil))) }
            return state.port
        }
        port.set(nil)
    }

    /// Why nothing is received at the moment, or `nil` if the run's port is open.
    package var problem: String? {
        state.withLock { ($0.port.current ?? nil) == nil ? "it does not listen" : nil }
    }

    /// Waits for the run's port. Returns `nil` if the run has ended or the calling task is cancelled.
    package func port() async -> UInt16? {
        await state.withLock { $0.port }.valueUnlessCancelled() ?? nil
    }
}
#endif
