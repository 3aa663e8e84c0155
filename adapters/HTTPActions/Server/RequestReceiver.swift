#if WebSocket
import AdapterSupport
import DequeModule
import SignalboxCore
import SignalboxRoutes
import WebSocketChat

/// Receives a source's requests, and submits them after each pass. Only the listener's thread uses it.
final class RequestReceiver: HTTPRequestReceiver {
    private let run: HTTPActionRun
    private let answerer: any HTTPAnswerer
    private let table: RequestTable
    private let reader: RequestReader
    /// The requests whose bodies are being read.
    private var admissions: [HTTPExchangeID: RequestPolicy.Admission] = [:]
    private var streams: [HTTPExchangeID: EventStream] = [:]
    private var nextBeat: ContinuousClock.Instant
    private var batch: ArrivalBatch
    /// The requests in ``batch``.
    private var owners: [RequestTable.Request] = []
    private var waiting = WaitingRequests()
    private var isWaiting = false

    /// The maximum number of arrivals per submit.
    static let batchMessages = 256

    init(_ run: HTTPActionRun, answerer: any HTTPAnswerer) {
        self.run = run
        self.answerer = answerer
        table = run.makeTable(answerer)
        let configuration = run.server.configuration
        reader = RequestReader(source: configuration.source, routes: run.server.routes, limits: configuration.limits)
        batch = ArrivalBatch(pool: ArrivalPool(), limits: configuration.limits)
        nextBeat = .now + configuration.heartbeat
    }

    private var configuration: HTTPActionConfiguration { run.server.configuration }
    private var isStopping: Bool { run.shutdown.current > .serving }

    // MARK: - Requests

    var headerNames: [String] { RequestPolicy.headerNames }

    func route(for path: String) -> (pattern: URLPattern, url: URLText)? {
        run.server.routes.route(for: PathEncoding.path(path))
    }

    func began(_ request: HTTPServerRequest, _ exchange: HTTPExchangeID) -> HTTPRequestDecision {
        switch run.policy.evaluate(request) {
        case .answered(let answer, let reason):
            if let reason { refused(status: answer.status, from: request.peerAddress, reason: reason) }
            return .answer(answer)
        case .admitted(let admission):
            if let refusal = unavailability(of: admission) {
                refused(status: refusal.status, from: request.peerAddress, reason: refusal.reason)
                return .answer(RequestReceiver.unavailable(refusal.reason, admission.headers))
            }
            admissions[exchange] = admission
            return .read(limit: configuration.limits.bytes)
        }
    }

    private func unavailability(of admission: RequestPolicy.Admission) -> (status: Int, reason: String)? {
        if isStopping { return (503, "the source is stopping") }
        guard admission.wantsStream, streams.count >= configuration.streams else { return nil }
        return (503, "the limit of \(configuration.streams) streams is reached")
    }

    private static func unavailable(
        _ reason: String,
        _ headers: [(name: String, value: String)],
        status: Int = 503
    ) -> HTTPAnswer {
        var answer = HTTPAnswer(status, "The request cannot be accepted now: \(reason).")
        answer.headers = headers + [("Retry-After", "1")]
        return answer
    }

    func completed(_ exchange: HTTPExchangeID, body: [UInt8]) {
        guard var admission = admissions.removeValue(forKey: exchange) else { return }
        let peer = admission.message.facts.peer
        if isStopping {
            refused(status: 503, from: peer, reason: "the source is stopping")
            return answerer.answer(exchange, RequestReceiver.unavailable("the source is stopping", admission.headers))
        }
        if waiting.count >= configuration.waiting {
            let reason = "\(configuration.waiting) requests wait for room in the source"
            refused(status: 429, from: peer, reason: reason)
            return answerer.answer(exchange, RequestReceiver.unavailable(reason, admission.headers, status: 429))
        }
        if let problem = authenticate(&admission, body) {
            refused(status: 401, from: peer, reason: problem)
            return answerer.answer(exchange, RequestPolicy.wrongSignature(admission.headers))
        }
        admission.message.body =
            admission.event?.structured(body, contentType: admission.contentType) ?? body
        append(admission, exchange)
        if owners.count >= RequestReceiver.batchMessages { submit() }
    }

    /// Checks the signature of a request.
    ///
    /// - Returns: Why the request is refused, or `nil` if it is not.
    private func authenticate(_ admission: inout RequestPolicy.Admission, _ body: [UInt8]) -> String? {
        guard let (stated, keys) = admission.signature, let scheme = keys.first?.signature.scheme else { return nil }
        var problem: String?
        let signed = stated.signedBytes(body, scheme)
        for key in keys {
            problem = key.problem(of: stated, signed: signed, at: .now())
            guard problem != nil else {
                admission.message.facts.principal = key.signature.principal
                return nil
            }
        }
        return problem
    }

    private func append(_ admission: RequestPolicy.Admission, _ exchange: HTTPExchangeID) {
        var stream: EventStream?
        if admission.wantsStream {
            let opened = EventStream(exchange, answerer, headers: admission.headers)
            streams[exchange] = opened
            stream = opened
            run.server.counters.change { $0.streams += 1 }
        }
        let ticket = RequestReader.Ticket(
            token: exchange.number,
            sender: stream ?? SingleAnswer(),
            receivedAt: .now()
        )
        reader.append(admission.message, ticket, to: &batch)
        owners.append(
            RequestTable.Request(
                exchange: exchange,
                clientID: admission.message.id,
                id: nil,
                headers: admission.headers,
                stream: stream
            )
        )
    }

    func ended(_ exchange: HTTPExchangeID) {
        admissions[exchange] = nil
        if table.isUnanswered(exchange) { run.server.counters.change { $0.unanswered += 1 } }
        if let stream = streams.removeValue(forKey: exchange) {
            stream.ended()
            run.server.counters.change { $0.streams -= 1 }
        }
    }

    // MARK: - The listener

    func listens(on port: UInt16) {}

    func refused(status: Int, from address: String, reason: String) {
        run.server.counters.refused(status)
        run.server.log.refused(status, peer: address, reason: reason)
    }

    func descriptorsExhausted() {
        run.server.counters.change { $0.outOfDescriptors += 1 }
        run.server.log.descriptorsExhausted()
    }

    func evicted() { run.server.counters.change { $0.evicted += 1 } }

    func limitReached() {
        run.server.counters.change { $0.overLimit += 1 }
        run.server.log.limitReached()
    }

    func ticked() {
        let now = ContinuousClock.now
        refuse(waiting.takeOverdue(at: now, timeout: configuration.roomTimeout))
        guard now >= nextBeat else { return }
        nextBeat = now + configuration.heartbeat
        for stream in streams.values { stream.beat() }
    }

    // MARK: - Submitting

    func passEnded() {
        if isWaiting {
            switch run.room.answer {
            case .unknown: break
            case .free: isWaiting = false
            case .closed: run.shutdown.advance(to: .stopping)
            }
        }
        submit()
        if run.shutdown.current == .stopping { drain() }
    }

    private func submit() {
        if !owners.isEmpty {
            let taken = batch.take()
            let requests = zip(owners, taken).map { owner, arrival in
                RequestTable.Request(
                    exchange: owner.exchange,
                    clientID: owner.clientID ?? RequestReceiver.senderID(of: arrival),
                    id: try? arrival.reading.get().id,
                    headers: owner.headers,
                    stream: owner.stream
                )
            }
            owners.removeAll(keepingCapacity: true)
            table.expect(requests)
            waiting.append(taken, at: .now)
            run.server.counters.change { $0.accepted += taken.count }
        }
        while !isWaiting, let front = waiting.front {
            let accepted = run.intake.take(front, to: table)
            waiting.removeFirst(accepted)
            if accepted < front.count {
                isWaiting = true
                run.room.want()
            }
        }
    }

    private static func senderID(of arrival: Arrival) -> ActionID? {
        guard case .success(let action) = arrival.reading, action.idKey != .assigned else { return nil }
        return action.id
    }

    /// Answers requests that have waited too long for room. Their outcome counts nowhere but here.
    private func refuse(_ overdue: [Arrival]) {
        guard !overdue.isEmpty else { return }
        for arrival in overdue {
            let rejection = Outcome.Rejection(
                .overloaded,
                detail: "the source has no room for more messages; try again later"
            )
            table.settle(arrival.token, .rejected(rejection))
        }
        run.server.counters.change { $0.overloaded += overdue.count }
        run.server.log.refused(
            429,
            peer: "\(overdue.count) requests",
            reason: "the source had no room for them within \(configuration.roomTimeout)"
        )
    }

    private func drain() {
        for arrival in waiting.removeAll() { table.settle(arrival.token, .abandoned(.drain)) }
        for stream in streams.values { stream.drain() }
        run.shutdown.advance(to: .drained)
    }
}

/// The requests that the intake has not taken yet, in order. Only the listener's thread uses it.
struct WaitingRequests {
    private var batches = Deque<(arrivals: [Arrival], since: ContinuousClock.Instant)>()
    private(set) var count = 0

    /// The requests to submit next, or `nil` if none are waiting.
    var front: [Arrival]? { batches.first?.arrivals }

    mutating func append(_ arrivals: [Arrival], at now: ContinuousClock.Instant) {
        guard !arrivals.isEmpty else { return }
        batches.append((arrivals, now))
        count += arrivals.count
    }

    /// Removes the first requests of ``front``.
    mutating func removeFirst(_ count: Int) {
        guard count > 0, let first = batches.first else { return }
        self.count -= count
        if count >= first.arrivals.count {
            batches.removeFirst()
        } else {
            batches[0].arrivals.removeFirst(count)
        }
    }

    /// Removes and returns the requests that have waited for longer than the timeout.
    mutating func takeOverdue(at now: ContinuousClock.Instant, timeout: Duration) -> [Arrival] {
        var overdue: [Arrival] = []
        while let first = batches.first, now - first.since >= timeout {
            overdue += first.arrivals
            batches.removeFirst()
        }
        count -= overdue.count
        return overdue
    }

    mutating func removeAll() -> [Arrival] {
        defer { self = WaitingRequests() }
        return batches.flatMap(\.arrivals)
    }
}
#endif
