import AdapterSupport
import SignalboxCore
import Synchronization
import WebSocketChat

/// A stream of Server-Sent Events to a client (WHATWG HTML, 9.2): what plugins send, and the outcome of the request.
///
/// The stream begins with the first event, so that an action that is not handled can still be answered with a status. It ends
/// when the client leaves or the source stops. Safe to use from any thread.
final class EventStream: Sender {
    private enum Phase {
        /// Nothing has been sent.
        case waiting
        case open
        case closed
    }

    private struct State {
        var phase = Phase.waiting
        var isSettled = false
        /// Whether the stream ends with the outcome.
        var isDraining = false
    }

    /// The event with the outcome. No plugin can send an action of this name (``ActionName``).
    static let outcomeEvent = "signalbox.outcome"

    private let exchange: HTTPExchangeID
    private let answerer: any HTTPAnswerer
    private let headers: [(name: String, value: String)]
    private let state = Mutex(State())

    init(_ exchange: HTTPExchangeID, _ answerer: any HTTPAnswerer, headers: [(name: String, value: String)]) {
        self.exchange = exchange
        self.answerer = answerer
        self.headers = headers
    }

    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        guard body.isUTF8 else { throw .invalid }
        let event = EventStream.event(action.text, id: id?.text, data: Array(body))
        let refusal = state.withLock { state in append(event, &state) }
        if let refusal { throw refusal }
    }

    /// Ends the stream with an answer if nothing has been sent, and sends the outcome as an event otherwise. The stream of a
    /// handled action stays open, unless the client reads too slowly even for the outcome.
    func settle(_ outcome: Outcome, id: ActionID?, answer: HTTPAnswer) {
        state.withLock { state in
            state.isSettled = true
            let isHandled = if case .handled = outcome { true } else { false }
            if case .waiting = state.phase, !isHandled {
                state.phase = .closed
                return answerer.answer(exchange, answer)
            }
            let data = AnswerWriter.answer(id, .id, outcome, to: "client")
            let refusal = append(EventStream.event(EventStream.outcomeEvent, id: nil, data: data), &state)
            if !isHandled || refusal != nil || state.isDraining { close(&state) }
        }
    }

    /// Sends a comment, so that the connection is used. A stream that has not begun is left alone.
    func beat() {
        state.withLock { state in
            if case .open = state.phase { _ = append(Array(":\n\n".utf8), &state) }
        }
    }

    /// Ends the stream once its action has an outcome.
    func drain() {
        state.withLock { state in
            state.isDraining = true
            if case .open = state.phase, state.isSettled { close(&state) }
        }
    }

    /// Records that the client has left.
    func ended() {
        state.withLock { $0.phase = .closed }
    }

    private func close(_ state: inout State) {
        if case .open = state.phase { answerer.close(exchange) }
        state.phase = .closed
    }

    private func append(_ event: [UInt8], _ state: inout State) -> SendRefused? {
        switch state.phase {
        case .closed: return .closed
        case .waiting:
            state.phase = .open
            answerer.open(
                exchange,
                HTTPAnswer(status: 200, headers: headers, contentType: "text/event-stream; charset=utf-8")
            )
        case .open: break
        }
        switch answerer.append(exchange, event) {
        case .accepted: return nil
        case .full: return .full
        case .closed:
            state.phase = .closed
            return .closed
        }
    }

    /// Encodes an event. A line end in the data would end the event, so each line gets a field of its own.
    static func event(_ name: String, id: String?, data: [UInt8]) -> [UInt8] {
        var event = Array("event: \(name)\n".utf8)
        if let id, !id.utf8.contains(where: { $0 < 0x20 }) { event += Array("id: \(id)\n".utf8) }
        let lines = data.split(omittingEmptySubsequences: false) {
            $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r")
        }
        for line in lines { event += Array("data: ".utf8) + line + [UInt8(ascii: "\n")] }
        return event + [UInt8(ascii: "\n")]
    }
}

/// The sender of a request that takes a single answer, so that nothing can be sent.
struct SingleAnswer: Sender {
    func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) { throw .closed }
}
