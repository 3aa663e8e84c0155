import AdapterThreads
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
