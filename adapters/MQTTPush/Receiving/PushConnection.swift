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
