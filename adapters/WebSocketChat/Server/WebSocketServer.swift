public import Logging
public import SignalboxCore
import Synchronization

/// Waits for WebSocket clients and receives their messages, at most once; answers them, and lets plugins speak to one of
/// them or to all that have a tag.
///
/// Each run owns one thread on which all connections are served. What a client may do is decided before there is a
/// connection: see ``WebSocketServerConfiguration``. Any thread may call.
public final class WebSocketServer: Adapter {
    /// What the server was made with.
    public let configuration: WebSocketServerConfiguration
    let hub: ChatHub
    let counters = ServerCounters()
    let log: ServerLog
    private let life = ServerLife()

    /// - Parameters:
    ///   - configuration: checked here.
    ///   - logger: hears of refusals and of connections that broke a rule; never of messages and secrets.
    /// - Throws: ``WebSocketChatError`` `invalidConfiguration`.
    public init(_ configuration: WebSocketServerConfiguration, logger: Logger) throws(WebSocketChatError) {
        try configuration.validate()
        self.configuration = configuration
        if configuration.identity != nil { WebSocketFaults.warn(to: logger) }
        log = ServerLog(logger, source: configuration.source)
        hub = ChatHub(
            ChatHub.Limits(
                tags: configuration.tags,
                tagsPerConnection: configuration.tagsPerConnection,
                waitingBytes: configuration.waitingBytes,
                closesSlowReaders: true
            )
        )
    }

    /// The configured source.
    public var source: SourceName { configuration.source }

    /// Clients can be spoken to unasked, and are answered where the configuration says so.
    public var features: AdapterFeatures { configuration.answers ? [.replies, .pushes] : [.pushes] }

    /// The port it listens on, also where 0 was asked for; waits until a run listens.
    ///
    /// - Returns: `nil` when the run has ended, or ended before it listened, and when the caller is cancelled.
    public func port() async -> UInt16? { await life.port() }

    /// How many there are and were of what; since the server was made.
    public var counts: WebSocketServerCounts {
        var counts = counters.value
        counts.slowReaders = hub.slowReaders
        return counts
    }

    /// Sends to every connection that has the tag. See ``ChatConnection/broadcast(_:_:to:)``.
    @discardableResult
    public func broadcast(_ action: ActionName, _ body: Bytes, to tag: String) -> BroadcastReport {
        hub.broadcast(action, body, to: tag)
    }

    /// Listens until its task is cancelled or the intake closes.
    ///
    /// Cancellation is the graceful stop: nobody new is let in (503), nothing more is read, what was taken is waited for and
    /// answered, what was read and not taken is answered `abandoned`, the clients are told 1001 after all that waits for
    /// them; at most 1 s is waited for them. It is heard at once, also while tokens are read. One run at a time; a run can
    /// follow a run.
    ///
    /// - Throws: ``WebSocketChatError`` `alreadyRunning`; `secretUnavailable` when a token cannot be read, and
    ///   `invalidConfiguration` when one is too short or two are the same; `notListening`; `noResources`.
    public func run(into intake: any Intake) async throws {
        guard life.begin() else {
            throw WebSocketChatError(.alreadyRunning, "the server runs already: one run at a time", source: source)
        }
        defer {
            hub.attach(nil)
            life.end()
        }
        guard let tokens = try await tokens(), !Task.isCancelled else { return }
        let run = ServerRun(self, tokens: tokens, intake: intake)
        let transport = try await run.listen()
        let before = counters.value.notTaken
        life.listens(on: transport.port)
        log.listening(configuration, port: transport.port)
        await run.serve(on: transport)
        log.stopped(notTaken: counters.value.notTaken - before)
    }

    private func tokens() async throws(WebSocketChatError) -> PrincipalTokens? {
        do throws(WebSocketChatError) {
            return try await SecretReading.tokens(of: configuration.principals)
        } catch {
            throw error.about(source)
        }
    }
}

/// What a chat server has counted since it was made. Each refused request and each connection that was closed for a reason
/// of ours is counted once.
public struct WebSocketServerCounts: Sendable, Hashable, Encodable {
    /// Connections that are open now.
    public internal(set) var open = 0
    /// Connections that were opened, those still open included.
    public internal(set) var opened = 0
    /// Connections that were let in by a token in the query; see ``WebSocketServerConfiguration/queryTokens``.
    public internal(set) var queryTokens = 0
    /// Upgrades refused with 400, 405, 426 or 431: they were no proper request for a WebSocket, or offered subprotocols of
    /// which none is spoken.
    public internal(set) var malformed = 0
    /// Upgrades refused with 401: a token was missing, or nobody's.
    public internal(set) var unauthorized = 0
    /// Upgrades refused with 403: the origin was not allowed, there were two, or none where there must be one.
    public internal(set) var forbidden = 0
    /// Upgrades refused with 404: nobody is served at the path. Pages that are not there do not count.
    public internal(set) var notFound = 0
    /// Upgrades refused with 503: there were as many connections as there may be, the server was stopping, or the source had
    /// no room for what announces a connection.
    public internal(set) var unavailable = 0
    /// Connections cut before their request, as the process had hardly a descriptor left.
    public internal(set) var withoutDescriptor = 0
    /// HTTP connections that were evicted to make room for others.
    public internal(set) var crowdedOut = 0
    /// Connections that were closed on arrival or at their first request, as the limit of HTTP connections was reached.
    public internal(set) var turnedAway = 0
    /// Connections closed with 1013, as they read too slowly.
    public internal(set) var slowReaders = 0
    /// Connections closed with 1001, as they sent no message for the idle timeout.
    public internal(set) var idle = 0
    /// Connections closed with 1008, as a message took longer than the message timeout.
    public internal(set) var unfinished = 0
    /// Connections closed with 1009, as a message was too large or in too many pieces.
    public internal(set) var tooBig = 0
    /// Connections closed with 1003, as a message was binary and the configuration takes none.
    public internal(set) var unacceptable = 0
    /// Connections that ended as the client sent what RFC 6455 forbids (1002), or text that is not UTF-8 (1007).
    public internal(set) var brokeProtocol = 0
    /// Connections that broke without a close frame: reset, or without a sign of life for the silence limit.
    public internal(set) var lost = 0
    /// Messages that were read and that the supervisor did not take, as it or the server stopped. Those with an id were
    /// answered `abandoned`.
    public internal(set) var notTaken = 0
}

/// What is counted, for as long as the server exists. Any thread.
final class ServerCounters: Sendable {
    private let counts = Mutex(WebSocketServerCounts())

    var value: WebSocketServerCounts { counts.withLock { $0 } }

    func change(_ body: (inout WebSocketServerCounts) -> Void) {
        counts.withLock { body(&$0) }
    }

    /// - Parameter status: of HTTP, with which an upgrade was refused.
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

    func ended(_ end: ConnectionEnd) {
        change { counts in
            counts.open -= 1
            switch end {
            case .brokeProtocol: counts.brokeProtocol += 1
            case .lost: counts.lost += 1
            default: break
            }
        }
    }
}

/// Whether a server runs, and where it listens. Any thread.
final class ServerLife: Sendable {
    private enum Phase: Equatable {
        case new, starting
        case listening(UInt16)
        case ended
    }

    private struct State {
        var phase = Phase.new
        var waiters: [UInt64: CheckedContinuation<UInt16?, Never>] = [:]
        var made: UInt64 = 0
    }

    private let state = Mutex(State())

    /// - Returns: `false` when a run is on already.
    func begin() -> Bool {
        state.withLock { state in
            switch state.phase {
            case .starting, .listening: return false
            case .new, .ended:
                state.phase = .starting
                return true
            }
        }
    }

    func listens(on port: UInt16) {
        go(to: .listening(port), telling: port)
    }

    func end() {
        go(to: .ended, telling: nil)
    }

    private func go(to phase: Phase, telling port: UInt16?) {
        let waiters = state.withLock { state in
            state.phase = phase
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume(returning: port) }
    }

    /// Where the run listens, as soon as it does; `nil` when it has ended, or the caller is cancelled.
    func port() async -> UInt16? {
        let number = state.withLock { state in
            state.made += 1
            return state.made
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { wait($0, number) }
        } onCancel: {
            giveUp(number)
        }
    }

    private func wait(_ continuation: CheckedContinuation<UInt16?, Never>, _ number: UInt64) {
        let known: UInt16?? = state.withLock { state in
            switch state.phase {
            case .listening(let port): return .some(port)
            case .ended: return .some(nil)
            case .new, .starting:
                state.waiters[number] = continuation
                return nil
            }
        }
        if let known { return continuation.resume(returning: known) }
        // A cancellation that came before the waiter was there has found nobody.
        if Task.isCancelled { giveUp(number) }
    }

    private func giveUp(_ number: UInt64) {
        let waiter = state.withLock { $0.waiters.removeValue(forKey: number) }
        waiter?.resume(returning: nil)
    }
}
