public import Logging
public import SignalboxCore

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
