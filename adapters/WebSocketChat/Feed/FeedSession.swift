#if WebSocket
import AdapterSupport
import SecureTransport
import SignalboxCore

/// A run of a feed on the service's thread: a series of connections with delays between them.
final class FeedSession {
    enum Phase {
        /// Secrets and addresses are being looked up. There is a job if this happens on a separate
        /// thread.
        case preparing(until: ContinuousClock.Instant, PreparationJob?)
        /// The feed is trying the address with this index.
        case connecting(ConnectionID, until: ContinuousClock.Instant, FeedPreparation, index: Int)
        case open
        /// The session is waiting for the next attempt.
        case waiting
        /// Reading and connecting have stopped, and the messages already read are being settled.
        case halted
        /// A close frame was queued this many ticks ago.
        case closing(ticks: Int)
        case finished
    }

    let context: FeedContext
    let sender: any FrameSender
    let feeder: ArrivalFeeder
    let log: FeedLog
    /// The server's name, as it appears in facts.
    let peer: String
    unowned let dispatcher: FeedDispatcher
    var phase = Phase.waiting {
        didSet { if case .open = phase { isReading = true } else { isReading = false } }
    }
    /// Whether the session processes incoming pieces. This is a stored property because it is checked for every piece.
    private(set) var isReading = false
    var open: FeedConnection?
    /// The error that the run will end with, if any.
    var error: WebSocketChatError?
    var backoff: ReconnectBackoff?
    /// The number of the current attempt. Results that belong to earlier attempts are ignored.
    var attempt: UInt64 = 0
    var wasConnected = false

    init(_ context: FeedContext, sender: any FrameSender, dispatcher: FeedDispatcher) {
        self.context = context
        self.sender = sender
        self.dispatcher = dispatcher
        peer = context.feed.configuration.peer
        log = FeedLog(
            context.feed.logger,
            configuration: context.feed.configuration,
            connection: context.feed.status.watched
        )
        backoff = context.feed.configuration.reconnect?.backoff
        feeder = ArrivalFeeder(
            ArrivalFeeder.Parts(
                frames: context.feed.configuration.frames,
                limits: context.feed.configuration.limits,
                // A feed's only connection does not share the source's window with others.
                connectionWindow: .max,
                intake: context.intake,
                table: context.table,
                room: context.room,
                transport: sender
            )
        )
    }

    var id: ObjectIdentifier { ObjectIdentifier(context) }
    var configuration: WebSocketFeedConfiguration { context.feed.configuration }
    var now: ContinuousClock.Instant { context.feed.environment.now() }

    /// Whether the run has ended and produces no more events.
    var isFinished: Bool {
        if case .finished = phase { true } else { false }
    }

    /// Whether the run is only finishing its outstanding work.
    var isEnding: Bool {
        switch phase {
        case .halted, .closing, .finished: true
        case .preparing, .connecting, .open, .waiting: false
        }
    }

    func begin() {
        if configuration.url.isSecure && configuration.trust == .anything { log.certificateNotVerified() }
        prepare()
    }

    // MARK: - Ticks

    func passEnded() {
        feeder.passEnded()
        if feeder.isClosed && !isEnding { stop() }
    }

    func ticked() {
        switch phase {
        case .preparing(let until, let job):
            guard now >= until else { return }
            job?.cancel()
            failed(FeedPreparation.timeout(configuration))
        case .connecting(let id, let until, let preparation, let index):
            guard now >= until else { return }
            abort(id)
            failed(.connectTimeout(configuration.connectTimeout), preparation, index)
        case .open: checkHeartbeat()
        case .closing(let ticks): closing(ticks + 1)
        case .waiting, .halted, .finished: break
        }
    }

    private func checkHeartbeat() {
        guard let current = open else { return }
        let isPaused = current.inbound.flow.isPaused
        let action = current.heartbeat?.tick(now, isPaused: isPaused) ?? .nothing
        switch action {
        case .nothing: break
        case .ping: sender.perform(.ping, on: current.id)
        case .timedOut:
            abort(current.id)
            context.feed.status.count { $0.unanswered += 1 }
            disconnected(.pongTimeout)
        }
    }

    /// Cuts a connection and ignores any further events from it.
    func abort(_ id: ConnectionID) {
        dispatcher.unregister(id)
        sender.perform(.cut(.goingAway, reason: ""), on: id)
    }

    /// Ends the run because the thread is ending.
    func threadEnded() {
        guard !isFinished else { return }
        feeder.close()
        context.threadEnded()
    }
}

extension FeedSession {
    func prepare() {
        attempt += 1
        let until = now + configuration.connectTimeout
        guard FeedPreparation.mayBlock(configuration) else {
            phase = .preparing(until: until, nil)
            return prepared(FeedPreparation.make(configuration) { _ in .failure(.notResolved("")) }, attempt: attempt)
        }
        let environment = context.feed.environment
        let pool = configuration.proxy == nil ? environment.threadPool : environment.proxyPool
        let deadline = ContinuousClock.now + configuration.connectTimeout
        let ticket = pool.perform { [feed = context.feed, context, attempt] missing in
            let result =
                missing.map { .failure(.notResolved($0.description)) }
                ?? FeedPreparation.make(feed.configuration, until: deadline, resolve: feed.environment.resolve)
            // The pool's thread may end while the process exits.
            TLSLibrary.endThread()
            context.post { $0.prepared(result, attempt: attempt) }
        }
        phase = .preparing(until: until, PreparationJob(pool: pool, ticket: ticket))
    }

    func prepared(_ result: Result<FeedPreparation, DisconnectReason>, attempt: UInt64) {
        guard case .preparing = phase, attempt == self.attempt else { return }
        switch result {
        case .success(let preparation):
            connect(preparation, 0)
        case .failure(let reason): failed(reason)
        }
    }

    private func connect(_ preparation: FeedPreparation, _ index: Int) {
        let target = preparation.target(preparation.addresses[index], configuration)
        let id = dispatcher.connect(to: target, for: self)
        phase = .connecting(id, until: now + configuration.connectTimeout, preparation, index: index)
    }

    func opened(_ id: ConnectionID, _ handshake: Handshake) {
        guard case .connecting(id, _, _, _) = phase else { return }
        if let reason = subprotocolError(of: handshake) {
            abort(id)
            return failed(reason)
        }
        for text in configuration.openingMessages where sender.send(Array(text.utf8), .text, on: id) != .accepted {
            // The configuration limits the size of these messages, so only a closed connection refuses them. That
            // connection then reports its end.
            return
        }
        phase = .open
        wasConnected = true
        beginReading(id, handshake)
        // Log this last, because programs wait for this line.
        log.connected(handshake)
    }

    // A subprotocol that was not offered fails the connection (RFC 6455, 4.1). The RFC allows an answer without any,
    // but browsers reject that too, because they could only guess what the frames mean.
    private func subprotocolError(of handshake: Handshake) -> DisconnectReason? {
        guard let agreed = handshake.subprotocol else {
            return configuration.subprotocols.isEmpty ? nil : .subprotocolMismatch(nil)
        }
        guard !configuration.subprotocols.contains(agreed) else { return nil }
        return .subprotocolMismatch(PeerText.sanitized(agreed, limit: DisconnectReason.textLimit))
    }

    /// Handles a failed attempt. The session tries the host's next address if that might work.
    func failed(_ reason: DisconnectReason, _ preparation: FeedPreparation, _ index: Int) {
        if reason.isAddressSpecific && index + 1 < preparation.addresses.count {
            return connect(preparation, index + 1)
        }
        failed(reason)
    }

    func failed(_ reason: DisconnectReason) {
        context.feed.status.count { $0.failures += 1 }
        ended(reason)
    }

    /// Schedules the next attempt, or halts the run.
    ///
    /// - Parameter isRequested: Whether the program has closed the connection.
    func ended(_ reason: DisconnectReason, isRequested: Bool = false) {
        attempt += 1
        if !wasConnected && (configuration.firstConnectionMustSucceed || configuration.reconnect == nil) {
            return halt(.notConnected, reason)
        }
        guard configuration.reconnect != nil else {
            var isNormal = reason.isNormalClose
            if isRequested, case .closedLocally = reason { isNormal = true }
            return halt(isNormal ? nil : .ended, reason)
        }
        let jitter = context.feed.environment.jitter()
        let delay = backoff?.next(isConfigurationError: reason.isConfigurationError, jitter: jitter) ?? .zero
        log.disconnected(reason, nextAttempt: delay)
        phase = .waiting
        context.nextDelay.yield(ReconnectDelay(duration: delay, attempt: attempt))
    }

    private func halt(_ code: WebSocketChatError.Code?, _ reason: DisconnectReason) {
        if let code {
            let sentence = reason.sentence(about: configuration)
            log.failed(sentence)
            error = WebSocketChatError(code, sentence, source: configuration.source).with(
                reason.classification.disconnectReason
            )
        } else {
            log.closed(reason)
        }
        halt()
    }

    func due(attempt: UInt64) {
        guard case .waiting = phase, attempt == self.attempt else { return }
        prepare()
    }
}

extension FeedSession {
    // Two ticks take at most 1 s.
    private static let closeTicks = 2

    /// Stops gracefully: the session stops reading, and abandons any messages that the intake does not accept
    /// immediately.
    func stop() {
        guard !isFinished else { return }
        if !isEnding { halt() }
        feeder.close()
    }

    /// Stops reading and connecting.
    func halt() {
        switch phase {
        case .preparing(_, let job): job?.cancel()
        case .connecting(let id, _, _, _): abort(id)
        case .open, .waiting, .halted, .closing, .finished: break
        }
        attempt += 1
        phase = .halted
        if let current = open {
            // The connection produces no more events, so this is its last message.
            announceClosed(.closedLocally(.goingAway, reason: ""))
            current.inbound.flow.pause(.stopping)
            current.inbound.chat.calls.end()
        }
        // Messages that have been read must be counted before the run waits for their outcomes.
        feeder.passEnded()
        context.halted.set(())
    }

    /// Closes the connection after sending pending messages. The owner calls this once all messages that were read are
    /// settled.
    func close() {
        guard !isFinished else { return }
        guard let current = open else { return finish() }
        phase = .closing(ticks: 0)
        sender.perform(.close(.goingAway, reason: ""), on: current.id)
    }

    func closing(_ ticks: Int) {
        guard ticks >= FeedSession.closeTicks, let current = open else {
            phase = .closing(ticks: ticks)
            return
        }
        abort(current.id)
        finish()
    }

    func finish() {
        forgetConnection()
        phase = .finished
        if feeder.notTaken > 0 {
            context.feed.status.count { $0.notTaken += feeder.notTaken }
            log.messagesAbandoned(feeder.notTaken)
        }
        if wasConnected && error == nil { log.stopped() }
        context.finished.set(error)
    }
}
#endif
