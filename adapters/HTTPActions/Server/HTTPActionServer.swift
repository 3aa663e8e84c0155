#if WebSocket
import AdapterSupport
public import Logging
public import SignalboxCore
import Synchronization
public import WebSocketChat

/// Accepts actions as HTTP requests, and answers each with its outcome.
///
/// ```swift
/// var configuration = HTTPActionConfiguration(source: "hooks")
/// configuration.principals = [WebSocketPrincipal("shop", token: .file("/run/secrets/shop"))]
/// let listener = try WebListener(WebListenerConfiguration(port: 8080))
/// let server = try HTTPActionServer(configuration, listener: listener, logger: logger)
/// ```
///
/// A chat, and other sources of requests with other paths, can share the listener. A request whose path no route matches is
/// refused; every other one that may send becomes an arrival. The statuses are described in the documentation of the module.
///
/// A client that sends its request again after a lost answer gives it an `Idempotency-Key`, which is the action's id: an action
/// that was handled is not handled again, and its answer is repeated.
///
/// The listener's thread serves all requests. This type is safe to use from any thread.
public final class HTTPActionServer: ListeningAdapter {
    /// The server's configuration.
    public let configuration: HTTPActionConfiguration
    /// The listener that the server uses.
    public let listener: WebListener
    let routes: HTTPActionRoutes
    let counters = RequestCounters()
    let log: HTTPActionLog
    private let lifecycle = ServerLifecycle()

    /// Creates a server, which accepts requests when you run it.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, which the initializer validates.
    ///   - listener: The listener.
    ///   - logger: The logger for refusals. Bodies and secrets are never logged.
    /// - Throws: ``HTTPActionError`` `invalidConfiguration`.
    public init(
        _ configuration: HTTPActionConfiguration,
        listener: WebListener,
        logger: Logger
    ) throws(HTTPActionError) {
        try configuration.validate()
        self.configuration = configuration
        self.listener = listener
        routes = try HTTPActionRoutes(configuration.routes, source: configuration.source)
        log = HTTPActionLog(logger, source: configuration.source)
    }

    /// The source named in the configuration.
    public var source: SourceName { configuration.source }

    package var connectionProblem: String? { lifecycle.problem }

    /// The supported features: replies, ids that stay the same, and pushes to clients that asked for a stream.
    public var features: AdapterFeatures { [.replies, .pushes, .stableIDs] }

    /// Returns the port that the listener has, even if the configured port is 0. This method waits until the server accepts
    /// requests.
    ///
    /// - Returns: The port, or `nil` if the calling task is cancelled or the run has ended, even if the server never
    ///   listened.
    public func port() async -> UInt16? { await lifecycle.port() }

    /// The events counted since the server was created.
    public var counts: HTTPActionCounts { counters.value }

    /// Accepts requests until the task is cancelled or the intake closes. You can run the server again after a run has ended,
    /// but two runs cannot overlap.
    ///
    /// Cancellation stops the server gracefully. It refuses new requests with 503, answers those that it has accepted, and ends
    /// all streams.
    ///
    /// - Throws: ``HTTPActionError`` with one of these codes:
    ///   - `alreadyRunning`, `notListening` or `noResources`.
    ///   - `secretUnavailable` if a token or a key cannot be read.
    ///   - `invalidConfiguration` if a token or a key is too short, or two tokens are equal.
    public func run(into intake: any Intake) async throws {
        guard lifecycle.begin() else {
            throw HTTPActionError(.alreadyRunning, "the server is already running: one run at a time", source: source)
        }
        defer { lifecycle.end() }
        guard let credentials = try await Credentials.reading(configuration), !Task.isCancelled else { return }
        let run = HTTPActionRun(self, credentials: credentials, intake: intake)
        let attachment: ListenerAttachment
        do throws(WebSocketChatError) {
            attachment = try await listener.attach(requests: { RequestReceiver(run, answerer: $0) })
        } catch {
            throw HTTPActionError(error, source: source)
        }
        lifecycle.listens(on: attachment.port)
        log.listening(self, port: attachment.port)
        await run.serve(on: attachment)
        await attachment.detach()
        log.stopped()
    }
}

extension HTTPActionServer: RestoringAdapter {
    /// Reads stored requests again, with the current routes and limits. The messages have no sender.
    public func restore(_ messages: [StoredMessage], at now: WallTime) -> [Arrival] {
        RequestReader(source: source, routes: routes, limits: configuration.limits).arrivals(of: messages, at: now)
    }
}

/// The state of a single run of a server. Safe to use from any thread.
final class HTTPActionRun: Sendable {
    let server: HTTPActionServer
    let policy: RequestPolicy
    let intake: any Intake
    let room = RoomRequests()
    let shutdown = ServerShutdown()
    /// The run's requests, which exist as soon as the listener serves the source.
    private let table = Mutex<RequestTable?>(nil)

    init(_ server: HTTPActionServer, credentials: Credentials, intake: any Intake) {
        self.server = server
        policy = RequestPolicy(server.configuration, routes: server.routes, credentials: credentials)
        self.intake = intake
    }

    func makeTable(_ answerer: any HTTPAnswerer) -> RequestTable {
        let made = RequestTable(answerer)
        table.withLock { $0 = made }
        return made
    }

    /// Serves clients until the task is cancelled or the intake closes.
    func serve(on attachment: ListenerAttachment) async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { [room, intake] in await room.serve(intake) { _ in attachment.wake() } }
                await shutdown.drained.value()
                room.finish()
                await table.withLock { $0 }?.settled()
            }
        } onCancel: {
            shutdown.advance(to: .stopping)
            attachment.wake()
        }
    }
}
#endif
