import AdapterThreads
import SignalboxCore
import SignalboxRoutes

/// One connection to the broker, from CONNECT to its end. Belongs to the source's thread.
///
/// Whenever it reads, nothing waits to be written: acknowledgements are flushed whole before the next batch is read, so
/// no flush can release those of messages that are not settled.
final class PushConnection {
    let configuration: MQTTPushConfiguration
    let control: LoopControl
    let client: MosquittoClient
    let receiver: PushReceiver
    let sink: BatchSink
    let intake: any Intake
    let log: PushLog
    let board: TopicBoard
    let deliveries: DeliveryWatch?
    /// The board's revision that the broker was told of.
    var topicsRevision = 0
    var sizing: BatchSizing
    /// Whether the broker greeted us.
    private(set) var isOpen = false
    /// Whether the broker took acknowledgements.
    var hasAcknowledged = false
    /// Whether the connection lasted a minute.
    private var hasLasted = false
    /// Whether the broker granted a filter.
    private(set) var isGranted = false
    private let demandsGrant: Bool
    private let expectsSession: Bool
    private let began = ContinuousClock.now
    private var checked = ContinuousClock.now
    /// Since when the broker owes answers about subscriptions.
    private var askedSince: ContinuousClock.Instant?
    var pings: HoldPings

    init(_ loop: ReceiveLoop, expectsSession: Bool, cleanStart: Bool, demandsGrant: Bool) throws(MQTTPushError) {
        configuration = loop.configuration
        control = loop.control
        receiver = loop.receiver
        sink = loop.sink
        intake = loop.intake
        log = loop.log
        board = loop.board
        deliveries = loop.deliveries
        sizing = BatchSizing(bound: configuration.batchMessages, holdLimit: configuration.holdLimit)
        self.expectsSession = expectsSession
        self.demandsGrant = demandsGrant
        pings = HoldPings(keepalive: configuration.keepalive, from: began)
        receiver.reset()
        receiver.use(board.snapshot(takingFresh: false))
        client = try MosquittoClient(configuration, cleanStart: cleanStart, target: receiver)
    }

    /// Connects, receives until the connection ends or the source is stopped, and says how it ended.
    func run() -> ConnectionEnd {
        let tried = control.blocking { client.connect(configuration) }
        guard let end = tried, !control.isStopping else { return .stopped }
        return end ?? flush() ?? receive()
    }

    /// Whether this connection resets the backoff. While messages are given back, others that are handled in between must not
    /// shorten the pauses.
    func isProven(by end: ConnectionEnd) -> Bool {
        hasLasted || hasAcknowledged && !end.isAbandonment
    }

    private func receive() -> ConnectionEnd {
        while true {
            if control.isStopping { return finish() }
            let wait = SocketWait(
                socket: client.handle.socket,
                for: .readable,
                wake: control.wake.readEnd,
                limit: .seconds(1)
            )
            if wait.isWoken { control.wake.drain() }
            if wait.isReady, let end = readBatch() { return end }
            if let end = flush() ?? answerBroker() ?? keepAlive(isQuiet: !wait.isReady) { return end }
        }
    }

    /// Reads until the batch is full or the socket is empty, and holds what came until it is settled.
    ///
    /// What was read before a connection broke is submitted all the same: nobody can tell whether it comes again.
    private func readBatch() -> ConnectionEnd? {
        let generation = receiver.generation
        var code = MosquittoCode.success
        var reason = ""
        let target = deliveries?.isIsolating ?? false ? 1 : sizing.target
        // What is dropped here fills no batch, and a flood of it must not keep the thread from all else.
        for _ in 0..<configuration.batchMessages {
            guard receiver.count < target, receiver.byteCount < configuration.batchBytes, !receiver.brokeProtocol
            else { break }
            let before = receiver.callbacks
            code = client.handle.read()
            if !code.isSuccess { reason = code.text }
            // Reading on without a socket would succeed and report the end again, for ever.
            if !code.isSuccess || receiver.callbacks == before || client.handle.socket < 0 { break }
        }
        if receiver.count > 0, let end = hold(receiver.takeBatch(), generation: generation) { return end }
        let unexpected = receiver.takeUnexpected()
        if unexpected > 0 { log.unexpected(unexpected) }
        let ignored = receiver.takeIgnored()
        if ignored > 0 { log.ignored(ignored) }
        return ended(code, reason)
    }

    /// What the callbacks and a return code say about the connection, in order of how much they explain.
    func ended(_ code: MosquittoCode, _ reason: String) -> ConnectionEnd? {
        if receiver.brokeProtocol { return .brokeProtocol }
        if let greeting = receiver.greeting, greeting.code.isFailure { return .refused(greeting.code) }
        if let goodbye = receiver.goodbye, ReasonCode(rawValue: goodbye).isFailure {
            return .closed(ReasonCode(rawValue: goodbye))
        }
        return client.handle.end(code, reason, isGreeted: receiver.greeting != nil)
    }

    private func answerBroker() -> ConnectionEnd? {
        if let answer = receiver.takeGranted(), let end = note(answer) { return end }
        noteUnsubscribed()
        guard !isOpen else { return updateTopics() }
        guard let greeting = receiver.greeting else {
            return .now - began > configuration.answerTimeout ? .silent : nil
        }
        isOpen = true
        sizing.connected()
        log.connected(sessionPresent: greeting.sessionPresent)
        if expectsSession && !greeting.sessionPresent {
            log.sessionLost()
            receiver.owesLoss = configuration.announcesConnections
        }
        receiver.announceLoss()
        if !greeting.sessionPresent { board.sessionIsNew() }
        board.connected(control)
        let wanted = board.snapshot(takingFresh: true)
        topicsRevision = wanted.revision
        receiver.use(wanted)
        return subscribe(wanted.topics) ?? unsubscribe(wanted.gone) ?? flush()
    }

    /// - Returns: the connection's end where nothing was granted and a first grant is demanded.
    private func note(_ answer: SubscriptionRequests.Answer) -> ConnectionEnd? {
        for (filter, code) in answer.refused { log.refused(filter, code) }
        for filter in answer.lowered { log.lowered(filter) }
        if answer.granted > 0 {
            isGranted = true
        } else if demandsGrant && !isGranted {
            if client.handle.disconnect().isSuccess { _ = flush() }
            let refused = answer.refused.map { "\($0.filter.debugDescription): \($0.code.text)" }
            return .nothingGranted(PushConnection.shown(refused))
        }
        log.subscribed(answer.granted)
        let errors = answer.refused.map { ($0.filter, MQTTPushError(.subscriptionRefused, $0.code.text)) }
        board.subscribed(answer.asked, refused: Dictionary(errors) { first, _ in first })
        return nil
    }

    /// The first ten, as there may be a thousand.
    private static func shown(_ refused: [String]) -> String {
        guard !refused.isEmpty else { return "it answered for no filter" }
        let more = refused.count > 10 ? ", and \(refused.count - 10) more" : ""
        return refused.prefix(10).joined(separator: ", ") + more
    }

    /// Looks after the keepalive about once a second.
    ///
    /// The library drops a connection whose ping it believes unanswered, and the answer may lie unread behind messages:
    /// it is asked only when nothing was there to read. While there is, the broker is alive, and pings of our own, past
    /// the library, keep it patient.
    private func keepAlive(isQuiet: Bool) -> ConnectionEnd? {
        let now = ContinuousClock.now
        if isOpen && now - began > .seconds(60) { hasLasted = true }
        guard isQuiet else {
            guard isOpen, pings.isDue(at: now), !client.handle.ping() else { return nil }
            return .lost("it took no ping")
        }
        guard now - checked >= .seconds(1) else { return nil }
        checked = now
        // Nothing is left to be read, so no answer lies behind messages.
        askedSince = receiver.requests.isEmpty && receiver.leaving.isEmpty ? nil : askedSince ?? now
        if let askedSince, now - askedSince > configuration.answerTimeout { return .silent }
        let code = client.handle.keepAlive()
        return ended(code, code.text) ?? flush()
    }

    /// Writes all that is queued.
    ///
    /// - Returns: how the connection ended, when it did: also when the broker takes nothing for the answer timeout.
    func flush() -> ConnectionEnd? {
        let deadline = ContinuousClock.now + configuration.answerTimeout
        while client.handle.wantsWrite {
            let code = client.handle.write(isGreeted: receiver.greeting != nil)
            if let end = ended(code, code.text) { return end }
            // A handshake goes on with what the broker says.
            guard client.handle.wantsWrite, client.handle.isSecured else { break }
            let left = deadline - .now
            guard left > .zero else { return .silent }
            _ = SocketWait(socket: client.handle.socket, for: .writable, wake: -1, limit: left)
        }
        return nil
    }

    /// Says goodbye; the broker keeps the session.
    private func finish() -> ConnectionEnd {
        guard isOpen else { return .stopped }
        let farewell = SocketFarewell(client.handle.socket)
        if client.handle.disconnect().isSuccess { _ = flush() }
        farewell?.wait(limit: configuration.farewellTimeout)
        return .stopped
    }
}

extension PushConnection {
    /// Submits a batch, waits until each of its messages may be acknowledged or is abandoned, and lets the
    /// acknowledgements out, if all may.
    ///
    /// Acknowledgements cannot leave one by one: one abandoned message, or one that was never submitted, makes the whole
    /// batch come again.
    ///
    /// - Returns: how the connection ended, when it did.
    func hold(_ batch: [Arrival], generation: UInt32) -> ConnectionEnd? {
        let began = ContinuousClock.now
        let bearsLoss = receiver.takeBearsLoss()
        sink.begin(generation: generation, count: batch.count)
        sink.expectReplies(batch)
        deliveries?.begin()
        let taken = submit(batch)
        sink.forgetReplies(batch[taken...])
        sink.finishSubmitting(taken: taken)
        while !sink.isDone { pause() }
        let abandoned = sink.abandoned
        deliveries?.end(isSettled: taken == batch.count && abandoned == 0)
        if taken < batch.count { log.leftUnacknowledged(batch.count - taken + abandoned) }
        if taken < batch.count || abandoned > 0 {
            // What is queued is never written; earlier batches' acknowledgements shall reach the broker.
            if pings.isConnected { client.handle.disconnectPastQueue() }
            SocketFarewell(client.handle.socket)?.wait(limit: configuration.farewellTimeout)
            return taken < batch.count || control.isStopping ? .stopped : .abandoned(abandoned)
        }
        if bearsLoss { receiver.owesLoss = false }
        sizing.held(batch.count, for: .now - began)
        guard pings.isConnected else { return .lost("it broke while messages were handled; they may come again") }
        if let end = flush() { return end }
        hasAcknowledged = true
        return nil
    }

    /// Submits until everything is taken or the source must stop.
    private func submit(_ batch: [Arrival]) -> Int {
        var taken = take(batch)
        while taken < batch.count {
            control.wantRoom()
            while control.room == .unknown && !control.isStopping { pause() }
            guard control.room == .free, !control.isStopping else { return taken }
            taken += take(Array(batch[taken...]))
        }
        return taken
    }

    /// Never trusts the answer further than the batch reaches.
    private func take(_ batch: [Arrival]) -> Int {
        min(max(0, intake.submit(batch, to: sink)), batch.count)
    }

    private func pause() {
        let socket = pings.isConnected ? client.handle.socket : -1
        let wait = SocketWait(
            socket: socket,
            for: .hangUp,
            wake: control.wake.readEnd,
            limit: pings.limit(at: .now)
        )
        if wait.isWoken { control.wake.drain() }
        if wait.isClosed { pings.isConnected = false }
        if pings.isDue(at: .now) && !client.handle.ping() { pings.isConnected = false }
    }
}

extension PushConnection {
    /// Brings what was added and removed to the broker, between two batches. What stays is not touched.
    func updateTopics() -> ConnectionEnd? {
        guard isOpen, board.revision != topicsRevision else { return nil }
        let wanted = board.snapshot(takingFresh: true)
        topicsRevision = wanted.revision
        let added = wanted.topics.filter { wanted.fresh.contains($0.pattern.filter.text) }
        receiver.use(wanted)
        return subscribe(added) ?? unsubscribe(wanted.gone) ?? flush()
    }

    /// Queues SUBSCRIBEs.
    func subscribe(_ topics: [MQTTTopic]) -> ConnectionEnd? {
        for group in SubscriptionGroup.groups(of: topics) {
            let (code, packet) = client.subscribe(group, version: configuration.version)
            if let end = ended(code, code.text) { return end }
            receiver.requests.sent(group, packet: packet)
            // The answer to an earlier UNSUBSCRIBE says nothing any more about what is subscribed to again.
            for (packet, filter) in receiver.leaving where group.filters.contains(filter) {
                receiver.leaving[packet] = nil
            }
        }
        return nil
    }

    /// Queues one UNSUBSCRIBE for each filter that is not on its way.
    func unsubscribe(_ filters: [String]) -> ConnectionEnd? {
        for filter in filters where !receiver.leaving.values.contains(filter) {
            let (code, packet) = client.unsubscribe(filter)
            if let end = ended(code, code.text) { return end }
            receiver.leaving[packet] = filter
        }
        return nil
    }

    /// Tells of the filters that the broker has taken back.
    func noteUnsubscribed() {
        let filters = receiver.takeUnsubscribed()
        if !filters.isEmpty { board.unsubscribed(filters) }
    }
}

/// Keeps the broker patient while messages are handled: a ping each half keepalive, past the library's queue.
struct HoldPings {
    /// Whether the connection still stood when it was looked at.
    var isConnected = true
    private let interval: Duration
    private var next: ContinuousClock.Instant

    /// - Parameter keepalive: zero for no pings.
    init(keepalive: Duration, from start: ContinuousClock.Instant) {
        interval = keepalive == .zero ? .seconds(86_400) : keepalive / 2
        next = start + interval
    }

    /// How long to wait at most; without a connection no ping is ever due, and the wait is for a wake-up only.
    func limit(at now: ContinuousClock.Instant) -> Duration {
        isConnected ? max(.zero, next - now) : .seconds(60)
    }

    mutating func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard isConnected, now >= next else { return false }
        next = now + interval
        return true
    }
}
