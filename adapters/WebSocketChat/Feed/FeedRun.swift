import AdapterThreads
import Logging
import SignalboxCore

/// One run of a feed on the service's thread: a sequence of connections with delays between them.
final class FeedRun {
    enum Phase {
        /// Secrets and addresses are being looked up, on a lookup thread if there is a ticket.
        case preparing(until: ContinuousClock.Instant, LookupThreads.Ticket?)
        /// The address with this index is being tried.
        case connecting(ConnectionID, until: ContinuousClock.Instant, FeedPreparation, index: Int)
        case open
        /// Waiting for the next attempt.
        case waiting
        /// Reading and connecting have stopped; messages already read are being settled.
        case halted
        /// The close frame was queued this many ticks ago.
        case leaving(ticks: Int)
        case over
    }

    let plan: FeedPlan
    let sender: any FrameSender
    let feeder: ArrivalFeeder
    let log: FeedLog
    /// The server's name in facts.
    let peer: String
    unowned let dispatcher: FeedDispatcher
    var phase = Phase.waiting {
        didSet { if case .open = phase { isReading = true } else { isReading = false } }
    }
    /// Whether received pieces are processed. Cached, because each piece checks it.
    private(set) var isReading = false
    var open: OpenFeed?
    /// The error that the run ends with.
    var error: WebSocketChatError?
    var backoff: ReconnectBackoff?
    /// The current attempt. Results of earlier ones are ignored.
    var attempt: UInt64 = 0
    var wasConnected = false

    init(_ plan: FeedPlan, sender: any FrameSender, dispatcher: FeedDispatcher) {
        self.plan = plan
        self.sender = sender
        self.dispatcher = dispatcher
        peer = "\(plan.configuration.url.host):\(plan.configuration.url.port)"
        log = FeedLog(plan.logger, configuration: plan.configuration)
        backoff = plan.configuration.reconnect?.backoff
        feeder = ArrivalFeeder(
            ArrivalFeeder.Parts(
                frames: plan.configuration.frames,
                limits: plan.configuration.limits,
                // A feed's connection has the source's window for itself.
                connectionWindow: .max,
                intake: plan.intake,
                table: plan.table,
                room: plan.room,
                transport: sender
            )
        )
    }

    var id: ObjectIdentifier { ObjectIdentifier(plan) }
    var configuration: WebSocketFeedConfiguration { plan.configuration }
    var now: ContinuousClock.Instant { plan.surroundings.now() }

    /// Whether the run produces no more events.
    var isOver: Bool {
        if case .over = phase { true } else { false }
    }

    /// Whether the run only finishes outstanding work.
    var isEnding: Bool {
        switch phase {
        case .halted, .leaving, .over: true
        case .preparing, .connecting, .open, .waiting: false
        }
    }

    func begin() {
        if configuration.url.isSecure && configuration.trust == .anything { log.trustsAnything() }
        prepare()
    }

    // MARK: - Ticks

    func passEnded() {
        feeder.passEnded()
        if feeder.isClosed && !isEnding { stop() }
    }

    func ticked() {
        switch phase {
        case .preparing(let until, let ticket):
            guard now >= until else { return }
            if let ticket { plan.surroundings.lookups.forget(ticket) }
            failed(.slowLookup(configuration.connectTimeout))
        case .connecting(let id, let until, let preparation, let index):
            guard now >= until else { return }
            giveUp(id)
            failed(.slowAnswer(configuration.connectTimeout), preparation, index)
        case .open: lookAtConnection()
        case .leaving(let ticks): leaving(ticks + 1)
        case .waiting, .halted, .over: break
        }
    }

    private func lookAtConnection() {
        guard let current = open else { return }
        let isPaused = current.reading.flow.isPaused
        let advice = current.heartbeat?.tick(now, isPaused: isPaused) ?? .nothing
        switch advice {
        case .nothing: break
        case .ping: sender.perform(.ping, on: current.id)
        case .dead:
            giveUp(current.id)
            plan.state.count { $0.unanswered += 1 }
            disconnected(.noPong)
        }
    }

    /// Cuts a connection and ignores its further events.
    func giveUp(_ id: ConnectionID) {
        dispatcher.forget(id)
        sender.perform(.cut(.goingAway, reason: ""), on: id)
    }

    /// Ends the run because the thread is ending.
    func threadEnded() {
        guard !isOver else { return }
        feeder.close()
        plan.threadEnded()
    }
}

extension FeedRun {
    func prepare() {
        attempt += 1
        let until = now + configuration.connectTimeout
        guard FeedPreparation.mayBlock(configuration) else {
            phase = .preparing(until: until, nil)
            return prepared(FeedPreparation.make(configuration) { _ in .failure(.notResolved("")) }, attempt: attempt)
        }
        let ticket = plan.surroundings.lookups.perform { [plan, attempt] in
            let result = FeedPreparation.make(plan.configuration, resolve: plan.surroundings.resolve)
            plan.service.post(.prepared(plan, attempt: attempt, result))
        } noThread: { [plan, attempt] missing in
            plan.service.post(.prepared(plan, attempt: attempt, .failure(.notResolved(missing.description))))
        }
        phase = .preparing(until: until, ticket)
    }

    func prepared(_ result: Result<FeedPreparation, FeedEnd>, attempt: UInt64) {
        guard case .preparing = phase, attempt == self.attempt else { return }
        switch result {
        case .success(let preparation): connect(preparation, 0)
        case .failure(let end): failed(end)
        }
    }

    private func connect(_ preparation: FeedPreparation, _ index: Int) {
        let target = preparation.target(preparation.addresses[index], configuration)
        let id = dispatcher.connect(to: target, for: self)
        phase = .connecting(id, until: now + configuration.connectTimeout, preparation, index: index)
    }

    func opened(_ id: ConnectionID, _ handshake: Handshake) {
        guard case .connecting(id, _, _, _) = phase else { return }
        if let end = fault(of: handshake) {
            giveUp(id)
            return failed(end)
        }
        for text in configuration.openingMessages where sender.send(Array(text.utf8), .text, on: id) != .accepted {
            // The configuration limits their size, so only a closed connection refuses them; it then reports its end.
            return
        }
        phase = .open
        wasConnected = true
        beginReading(id, handshake)
        // Logged last, because programs wait for this line.
        log.connected(handshake)
    }

    // RFC 6455, 4.1: a subprotocol that was not offered fails the connection. The RFC allows an answer without any, but
    // browsers fail it too, because the meaning of frames would be a guess.
    private func fault(of handshake: Handshake) -> FeedEnd? {
        guard let agreed = handshake.subprotocol else {
            return configuration.subprotocols.isEmpty ? nil : .wrongSubprotocol(nil)
        }
        return configuration.subprotocols.contains(agreed) ? nil : .wrongSubprotocol(agreed)
    }

    /// Handles a failed attempt, and tries the next address if that may help.
    func failed(_ end: FeedEnd, _ preparation: FeedPreparation, _ index: Int) {
        if end.concernsAddress && index + 1 < preparation.addresses.count { return connect(preparation, index + 1) }
        failed(end)
    }

    func failed(_ end: FeedEnd) {
        plan.state.count { $0.failures += 1 }
        ended(end)
    }

    /// Schedules the next attempt, or halts the run.
    func ended(_ end: FeedEnd) {
        attempt += 1
        if !wasConnected && (configuration.firstConnectionMustSucceed || configuration.reconnect == nil) {
            return halt(.notConnected, end)
        }
        guard configuration.reconnect != nil else { return halt(end.isNormalClose ? nil : .ended, end) }
        let share = plan.surroundings.share()
        let wait = backoff?.next(isConfigurationFault: end.isConfigurationFault, share: share) ?? .zero
        log.ended(end, nextTry: wait)
        phase = .waiting
        plan.wait(FeedWait(duration: wait, attempt: attempt))
    }

    private func halt(_ code: WebSocketChatError.Code?, _ end: FeedEnd) {
        if let code {
            let sentence = end.sentence(about: configuration.url)
            error = WebSocketChatError(code, sentence, source: configuration.source).with(end.ending)
        }
        halt()
    }

    func due(attempt: UInt64) {
        guard case .waiting = phase, attempt == self.attempt else { return }
        prepare()
    }
}

extension FeedRun {
    // Two ticks take at most 1 s.
    private static let farewellTicks = 2

    /// Stops gracefully. Reading stops, and messages that the intake does not accept immediately are abandoned.
    func stop() {
        guard !isOver else { return }
        if !isEnding { halt() }
        feeder.close()
    }

    /// Stops reading and connecting.
    func halt() {
        switch phase {
        case .preparing(_, let ticket):
            if let ticket { plan.surroundings.lookups.forget(ticket) }
        case .connecting(let id, _, _, _): giveUp(id)
        case .open, .waiting, .halted, .leaving, .over: break
        }
        attempt += 1
        phase = .halted
        if let current = open {
            // The connection produces no more events, so this is its last message.
            announceClosed(.transport(.closedHere(.goingAway, reason: "")))
            current.reading.flow.pause(.end)
        }
        // Messages already read must be counted before the run waits for their outcomes.
        feeder.passEnded()
        plan.halted.set(())
    }

    /// Closes the connection after pending messages. Called when everything read is settled.
    func leave() {
        guard !isOver else { return }
        guard let current = open else { return finish() }
        phase = .leaving(ticks: 0)
        sender.perform(.close(.goingAway, reason: ""), on: current.id)
    }

    func leaving(_ ticks: Int) {
        guard ticks >= FeedRun.farewellTicks, let current = open else {
            phase = .leaving(ticks: ticks)
            return
        }
        giveUp(current.id)
        finish()
    }

    func finish() {
        forgetConnection()
        phase = .over
        if feeder.notTaken > 0 {
            plan.state.count { $0.notTaken += feeder.notTaken }
            log.leftOver(feeder.notTaken)
        }
        if wasConnected && error == nil { log.stopped() }
        plan.over.set(error)
    }
}

/// The log of a feed. Never contains a message, a path, a query or a secret. Belongs to one thread.
final class FeedLog {
    private let log: AdapterLog
    private let url: WebSocketURL
    private var saidEnd = true

    init(_ logger: Logger, configuration: WebSocketFeedConfiguration) {
        log = AdapterLog(logger, source: configuration.source)
        url = configuration.url
    }

    /// Logs the first connection, and each one that follows a logged disconnect.
    func connected(_ handshake: Handshake) {
        guard saidEnd else { return }
        saidEnd = false
        let subprotocol = handshake.subprotocol.map { ", subprotocol \($0)" } ?? ""
        let compressed = handshake.isCompressed ? ", compressed" : ""
        log.tell(.info, "connected to \(url)\(subprotocol)\(compressed)")
    }

    func trustsAnything() {
        let text = "the certificate of \(url) is not checked: whoever is on the way can read and change everything"
        log.tell(.warning, text)
    }

    func ended(_ end: FeedEnd, nextTry: Duration) {
        let text = "\(end.sentence(about: url)); next try in \(nextTry.shownInSeconds)"
        saidEnd = log.say(end.isConfigurationFault ? .error : .warning, end.kind, text) || saidEnd
    }

    func stopped() {
        log.tell(.info, "disconnected from \(url)")
    }

    func leftOver(_ count: Int) {
        log.tell(.warning, "\(count) messages were read that nobody takes any more, as the program stops")
    }
}
