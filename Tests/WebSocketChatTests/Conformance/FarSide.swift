import SignalboxCore
import SignalboxTesting

@testable import WebSocketChat

/// The other side of a source under the conformance suite: it knows its connections and what it was answered.
final class FarSide: ServerFrameReceiver {
    struct State: Sendable {
        /// With the `Authorization` they asked with, on a server.
        var open: [ConnectionID: String] = [:]
        var ended: [ConnectionID: ConnectionEnd] = [:]
        var answers: [String: ConformanceAnswer] = [:]
        /// The connection that a message was sent on.
        var ways: [String: ConnectionID] = [:]
    }

    private let state: Watched<State>
    private var assemblers: [ConnectionID: MessageAssembler] = [:]

    init(_ state: Watched<State>) {
        self.state = state
    }

    func decide(_ request: UpgradeRequest, for connection: ConnectionID) -> UpgradeDecision { .accept }

    func opened(_ connection: ConnectionID, _ handshake: Handshake) {
        assemblers[connection] = MessageAssembler(limit: 1 << 20)
        state.change { $0.open[connection] = handshake.request?.authorization ?? "" }
    }

    func received(_ piece: MessagePiece, on connection: ConnectionID) -> PieceVerdict {
        guard assemblers[connection]?.add(piece) == .whole else { return .proceed }
        assemblers[connection]?.withMessage(piece) { message in
            guard let answer = AnswerFrame.read(Bytes(Array(message))) else { return }
            state.change { $0.answers[answer.id] = answer.answer }
        }
        return .proceed
    }

    func ponged(_ connection: ConnectionID) {}

    func drained(_ connection: ConnectionID) {}

    func closed(_ connection: ConnectionID, _ end: ConnectionEnd) {
        assemblers[connection] = nil
        state.change { state in
            state.open[connection] = nil
            state.ended[connection] = end
        }
    }

    func passEnded() {}

    func ticked() {}
}

extension Watched<FarSide.State> {
    /// Sends messages over a connection, in order.
    func send(_ messages: [ConformanceMessage], on connection: ConnectionID, by transport: LibraryTransport) throws {
        for message in messages {
            change { $0.ways[message.id.text] = connection }
            let admission = transport.send(Array(message.text.utf8), .text, on: connection)
            guard admission == .accepted else { throw ConformanceError("the message was not taken: \(admission)") }
        }
    }

    /// The answer to a message, waited for. Whoever is told 1001 knows that what was not answered was let go of.
    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        let text = id.text
        let isAnswered = await until { state in
            state.answers[text] != nil || state.ways[text].map { state.ended[$0] != nil } ?? true
        }
        guard isAnswered else { throw CancellationError() }
        let state = value
        if let answer = state.answers[text] { return answer }
        let end = state.ways[text].flatMap { state.ended[$0] }
        guard case .closedByPeer(.goingAway, _) = end else {
            throw ConformanceError("no answer came, and the connection ended: \(String(describing: end))")
        }
        return .error(code: "drain")
    }
}

extension ConformanceMessage {
    /// The standard envelope; one that cannot be read is JSON, so that it has an id that can be answered.
    fileprivate var text: String {
        action == nil ? #"{"id":"\#(id.text)","action":"not an action"}"# : envelope
    }
}
