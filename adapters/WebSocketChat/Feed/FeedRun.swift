import AdapterThreads
import Logging
import SignalboxCore

/// One run of a feed as the service's thread sees it: one connection after the other, with waits between them.
final class FeedRun {
    enum Phase {
        /// Secrets and addresses are being looked up; the ticket where that is done elsewhere.
        case preparing(until: ContinuousClock.Instant, LookupThreads.Ticket?)
        /// The address of this index is being tried.
        case connecting(ConnectionID, until: ContinuousClock.Instant, FeedPreparation, index: Int)
        case open
        /// Between two attempts.
        case waiting
        /// Nothing more is read and no connection will be made; what was read is being settled.
        case halted
        /// The server was told goodbye so many ticks ago.
        case leaving(ticks: Int)
        case over
    }

    let plan: FeedPlan
    let sender: any FrameSender
    let feeder: ArrivalFeeder
    let log: FeedLog
    /// The server as facts name it.
    let peer: String
    unowned let dispatcher: FeedDispatcher
    var phase = Phase.waiting {
        didSet { if case .open = phase { isReading = true } else { isReading = false } }
    }
    /// What comes is read; asked for each piece.
    private(set) var isReading = false
    var open: OpenFeed?
    /// What the run ends with.
    var error: WebSocketChatError?
    var backoff: ReconnectBackoff?
    /// Answers to earlier attempts come too late.
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

    /// Nothing comes from the run any more.
    var isOver: Bool {
        if case .over = phase { true } else { false }
    }

    /// It only finishes what it began.
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

    // MARK: - Regularly

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

    /// Ends a connection of which nothing more is to be heard.
    func giveUp(_ id: ConnectionID) {
        dispatcher.forget(id)
        sender.perform(.cut(.goingAway, reason: ""), on: id)
    }

    /// The thread goes although the run has not ended.
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
            // They were counted before; only a connection that is gone already does not take them, and tells so.
            return
        }
        phase = .open
        wasConnected = true
        beginReading(id, handshake)
        // Last, as programs wait for this line.
        log.connected(handshake)
    }

    // RFC 6455, 4.1: an answer with a subprotocol that was not asked for fails the connection. One without any is allowed
    // there, and fails it in browsers, as what the frames mean would be a guess.
    private func fault(of handshake: Handshake) -> FeedEnd? {
        guard let agreed = handshake.subprotocol else {
            return configuration.subprotocols.isEmpty ? nil : .wrongSubprotocol(nil)
        }
        return configuration.subprotocols.contains(agreed) ? nil : .wrongSubprotocol(agreed)
    }

    /// No connection was made.
    func failed(_ end: FeedEnd, _ preparation: FeedPreparation, _ index: Int) {
        if end.concernsAddress && index + 1 < preparation.addresses.count { return connect(preparation, index + 1) }
        failed(end)
    }

    func failed(_ end: FeedEnd) {
        plan.state.count { $0.failures += 1 }
        ended(end)
    }

    /// The wait after a connection, or the end of the run.
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
    // The last of them comes at most 1 s after the first.
    private static let farewellTicks = 2

    /// The graceful stop: nothing more is read, and what the intake does not take now it does not take at all.
    func stop() {
        guard !isOver else { return }
        if !isEnding { halt() }
        feeder.close()
    }

    /// Reads no more, and makes no connection.
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
            // Nothing of it comes any more, so that this is the last.
            announceClosed(.transport(.closedHere(.goingAway, reason: "")))
            current.reading.flow.pause(.end)
        }
        // Whoever waits for the outcomes of what was read must find it counted.
        feeder.passEnded()
        plan.halted.set(())
    }

    /// All that was read is settled: the connection is closed after what waits to be sent on it.
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

/// What a feed says to the log: never a message, a path, a query or a secret. Belongs to one thread.
final class FeedLog {
    private let log: AdapterLog
    private let url: WebSocketURL
    private var saidEnd = true

    init(_ logger: Logger, configuration: WebSocketFeedConfiguration) {
        log = AdapterLog(logger, source: configuration.source)
        url = configuration.url
    }

    /// One line for each connection whose predecessor's end had one, so that good news follows bad.
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
