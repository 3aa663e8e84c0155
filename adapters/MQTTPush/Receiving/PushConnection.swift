import AdapterThreads
import SignalboxCore
import SignalboxRoutes

/// One connection to the broker, from CONNECT until it ends. Belongs to the source's thread.
///
/// All acknowledgements are flushed before the next batch is read, so a flush never sends those of unsettled messages.
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
    /// The board's revision that was last applied at the broker.
    var topicsRevision = 0
    var sizing: BatchSizing
    /// Whether the broker has accepted the connection.
    private(set) var isOpen = false
    /// Whether acknowledgements were written.
    var hasAcknowledged = false
    /// Whether the connection lasted a minute.
    private var hasLasted = false
    /// Whether the broker has granted a filter.
    private(set) var isGranted = false
    private let demandsGrant: Bool
    private let expectsSession: Bool
    private let began = ContinuousClock.now
    private var checked = ContinuousClock.now
    /// When the oldest unanswered SUBSCRIBE or UNSUBSCRIBE was first noticed.
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

    /// Connects, receives until the connection ends or the source is stopped, and returns how it ended.
    func run() -> ConnectionEnd {
        let tried = control.blocking { client.connect(configuration) }
        guard let end = tried, !control.isStopping else { return .stopped }
        return end ?? flush() ?? receive()
    }

    /// Returns whether this connection resets the back-off. After an abandonment, messages handled meanwhile must not
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

    /// Reads until the batch is full or the socket is empty, and holds the batch until it is settled.
    ///
    /// Messages read before a connection broke are still submitted, because they may not be redelivered.
    private func readBatch() -> ConnectionEnd? {
        let generation = receiver.generation
        var code = MosquittoCode.success
        var reason = ""
        let target = deliveries?.isIsolating ?? false ? 1 : sizing.target
        // Dropped messages do not fill the batch. The bound keeps a flood of them from occupying the thread.
        for _ in 0..<configuration.batchMessages {
            guard receiver.count < target, receiver.byteCount < configuration.batchBytes, !receiver.brokeProtocol
            else { break }
            let before = receiver.callbacks
            code = client.handle.read()
            if !code.isSuccess { reason = code.text }
            // Without a socket, further reads would succeed and report the end endlessly.
            if !code.isSuccess || receiver.callbacks == before || client.handle.socket < 0 { break }
        }
        if receiver.count > 0, let end = hold(receiver.takeBatch(), generation: generation) { return end }
        let unexpected = receiver.takeUnexpected()
        if unexpected > 0 { log.unexpected(unexpected) }
        let ignored = receiver.takeIgnored()
        if ignored > 0 { log.ignored(ignored) }
        return ended(code, reason)
    }

    /// Returns how the connection ended according to the callbacks and a return code, in order of explanatory value.
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

    /// - Returns: The connection's end if nothing was granted although the first grant is required.
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

    /// Returns the first ten refusals as text; there may be a thousand.
    private static func shown(_ refused: [String]) -> String {
        guard !refused.isEmpty else { return "it answered for no filter" }
        let more = refused.count > 10 ? ", and \(refused.count - 10) more" : ""
        return refused.prefix(10).joined(separator: ", ") + more
    }

    /// Checks the keep-alive about once a second.
    ///
    /// The library drops a connection if a ping seems unanswered, but the answer may be queued behind unread messages.
    /// The library is therefore called only when there was nothing to read. While data arrives, the broker is alive,
    /// and pings sent past the library satisfy the broker's keep-alive.
    private func keepAlive(isQuiet: Bool) -> ConnectionEnd? {
        let now = ContinuousClock.now
        if isOpen && now - began > .seconds(60) { hasLasted = true }
        guard isQuiet else {
            guard isOpen, pings.isDue(at: now), !client.handle.ping() else { return nil }
            return .lost("it took no ping")
        }
        guard now - checked >= .seconds(1) else { return nil }
        checked = now
        // Nothing is left to read, so no answer is queued behind messages.
        askedSince = receiver.requests.isEmpty && receiver.leaving.isEmpty ? nil : askedSince ?? now
        if let askedSince, now - askedSince > configuration.answerTimeout { return .silent }
        let code = client.handle.keepAlive()
        return ended(code, code.text) ?? flush()
    }

    /// Writes all queued data.
    ///
    /// - Returns: How the connection ended, if it did, for example because the broker accepted nothing in time.
    func flush() -> ConnectionEnd? {
        let deadline = ContinuousClock.now + configuration.answerTimeout
        while client.handle.wantsWrite {
            let code = client.handle.write(isGreeted: receiver.greeting != nil)
            if let end = ended(code, code.text) { return end }
            // A handshake continues when data from the broker arrives.
            guard client.handle.wantsWrite, client.handle.isSecured else { break }
            let left = deadline - .now
            guard left > .zero else { return .silent }
            _ = SocketWait(socket: client.handle.socket, for: .writable, wake: -1, limit: left)
        }
        return nil
    }

    /// Disconnects gracefully; the broker keeps the session.
    private func finish() -> ConnectionEnd {
        guard isOpen else { return .stopped }
        let farewell = SocketFarewell(client.handle.socket)
        if client.handle.disconnect().isSuccess { _ = flush() }
        farewell?.wait(limit: configuration.farewellTimeout)
        return .stopped
    }
}

extension PushConnection {
    /// Submits a batch, waits until each of its messages may be acknowledged or is abandoned, and sends the
    /// acknowledgements if all may be acknowledged.
    ///
    /// Acknowledgements cannot be sent individually. A single message that is abandoned or was never submitted makes
    /// the broker redeliver the whole batch.
    ///
    /// - Returns: How the connection ended, if it did.
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
            // Queued acknowledgements are never written, but those of earlier batches must reach the broker.
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
    ///
    /// - Returns: The number of arrivals taken.
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

    /// Clamps the intake's result to the size of the batch.
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
    /// Applies added and removed topics at the broker, between two batches. Other subscriptions are not touched.
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
            // The answer to an earlier UNSUBSCRIBE does not apply to a filter that is subscribed again.
            for (packet, filter) in receiver.leaving where group.filters.contains(filter) {
                receiver.leaving[packet] = nil
            }
        }
        return nil
    }

    /// Queues one UNSUBSCRIBE for each filter without a pending one.
    func unsubscribe(_ filters: [String]) -> ConnectionEnd? {
        for filter in filters where !receiver.leaving.values.contains(filter) {
            let (code, packet) = client.unsubscribe(filter)
            if let end = ended(code, code.text) { return end }
            receiver.leaving[packet] = filter
        }
        return nil
    }

    /// Reports unsubscribed filters to the board.
    func noteUnsubscribed() {
        let filters = receiver.takeUnsubscribed()
        if !filters.isEmpty { board.unsubscribed(filters) }
    }
}

/// Keeps the connection alive while messages are handled: pings twice per keep-alive, past the library's queue.
struct HoldPings {
    /// Whether the connection was intact at the last check.
    var isConnected = true
    private let interval: Duration
    private var next: ContinuousClock.Instant

    /// - Parameter keepalive: The keep-alive interval; zero for no pings.
    init(keepalive: Duration, from start: ContinuousClock.Instant) {
        interval = keepalive == .zero ? .seconds(86_400) : keepalive / 2
        next = start + interval
    }

    /// Returns the maximum wait. Without a connection no ping is due, and the wait ends only on a wake-up.
    func limit(at now: ContinuousClock.Instant) -> Duration {
        isConnected ? max(.zero, next - now) : .seconds(60)
    }

    mutating func isDue(at now: ContinuousClock.Instant) -> Bool {
        guard isConnected, now >= next else { return false }
        next = now + interval
        return true
    }
}
