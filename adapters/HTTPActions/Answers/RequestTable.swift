import AdapterSupport
import SignalboxCore
import Synchronization
import WebSocketChat

/// The requests that have been submitted and not settled, by their tokens. Safe to use from any thread.
///
/// It holds at most one request for each connection of the listener, and those whose clients have left before the outcome.
final class RequestTable: SettlementSink {
    /// What is needed to answer a request.
    struct Request: Sendable {
        let exchange: HTTPExchangeID
        /// The id that the client knows, or `nil` if it stated none.
        let clientID: ActionID?
        /// The id of the action.
        let id: ActionID?
        let headers: [(name: String, value: String)]
        let stream: EventStream?
        /// Whether the client has the answer that its message is accepted.
        var isAccepted = false
    }

    private struct State {
        var requests: [UInt64: Request] = [:]
        /// Fulfilled when every request is settled, or `nil` while nothing is waiting for that.
        var allSettled: Promise<Void>?
        /// The number of requests that are settled, but not answered yet.
        var answering = 0

        mutating func takeWaiterIfDone() -> Promise<Void>? {
            guard requests.isEmpty, answering == 0 else { return nil }
            defer { allSettled = nil }
            return allSettled
        }
    }

    private let state = Mutex(State())
    private let answerer: any HTTPAnswerer

    init(_ answerer: any HTTPAnswerer) {
        self.answerer = answerer
    }

    /// Registers requests, before they are submitted.
    func expect(_ requests: [Request]) {
        state.withLock { state in
            for request in requests { state.requests[request.exchange.number] = request }
        }
    }

    /// Waits until every request is settled and answered.
    func settled() async {
        let waiter = state.withLock { state -> Promise<Void>? in
            guard !state.requests.isEmpty || state.answering > 0 else { return nil }
            if state.allSettled == nil { state.allSettled = Promise() }
            return state.allSettled
        }
        await waiter?.value()
    }

    /// Does nothing, because HTTP has no acknowledgements.
    func mayAcknowledge(_ token: UInt64) {}

    /// Answers that the message is accepted. The outcome of a stream follows as an event.
    func accepted(_ token: UInt64) {
        let accepted = state.withLock { state -> Request? in
            guard let request = state.requests[token], request.stream == nil else { return nil }
            state.requests[token]?.isAccepted = true
            return request
        }
        guard let request = accepted, let id = request.id else { return }
        answerer.answer(request.exchange, .accepted(id, headers: request.headers))
    }

    /// Whether nothing has been sent to the client about what becomes of its request.
    func isUnanswered(_ exchange: HTTPExchangeID) -> Bool {
        state.withLock { $0.requests[exchange.number].map { !$0.isAccepted } ?? false }
    }

    private static func answer(to request: Request, _ outcome: Outcome) -> HTTPAnswer {
        // A message that stays in the journal is accepted, and its client must not send it again.
        if case .abandoned(.kept) = outcome, let id = request.id { return .accepted(id, headers: request.headers) }
        return HTTPAnswer(outcome, id: request.clientID, headers: request.headers)
    }

    func settle(_ token: UInt64, _ outcome: Outcome) {
        let request = state.withLock { state -> Request? in
            guard let request = state.requests.removeValue(forKey: token) else { return nil }
            state.answering += 1
            return request
        }
        guard let request else { return }
        let answer = RequestTable.answer(to: request, outcome)
        if let stream = request.stream {
            stream.settle(outcome, id: request.clientID, answer: answer)
        } else {
            answerer.answer(request.exchange, answer)
        }
        let waiter = state.withLock { state in
            state.answering -= 1
            return state.takeWaiterIfDone()
        }
        waiter?.set(())
    }
}
