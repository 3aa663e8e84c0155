import SignalboxCore
import WebSocketChat

/// An intake that sees a feed's connections come and go, and the outcomes of own messages, before the supervisor does.
struct ConnectIntake: Intake {
    let intake: any Intake
    let watch: ConnectionWatch
    /// Whether nobody else wants to know of connections.
    let keepsConnections: Bool
    /// Where outcomes of own messages are shown; `nil` where they are messages like others.
    let answers: (@Sendable (Bytes) -> Void)?
    /// Whether nobody wants what comes from now on: it is let go of, as nothing of it is lost to anybody.
    let isOver: @Sendable () -> Bool

    func submit(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        if isOver() { return letGo(batch, to: sink) }
        var taken = 0
        while taken < batch.count {
            let end = batch[taken...].firstIndex(where: isOurs) ?? batch.count
            if end > taken {
                let count = intake.submit(Array(batch[taken..<end]), to: sink)
                taken += count
                guard taken == end else { return taken }
            } else {
                guard take(batch[taken], to: sink) else { return taken }
                taken += 1
            }
        }
        return taken
    }

    func room() async throws(SourceClosed) {
        do throws(SourceClosed) {
            try await intake.room()
        } catch {
            guard isOver() else { throw error }
        }
    }

    private func letGo(_ batch: [Arrival], to sink: any SettlementSink) -> Int {
        for arrival in batch { sink.settle(arrival.token, .abandoned(.stop)) }
        return batch.count
    }

    private func isOurs(_ arrival: Arrival) -> Bool {
        isNotice(arrival) || isAnswer(arrival)
    }

    private func isNotice(_ arrival: Arrival) -> Bool {
        // How an adapter's own actions are made; no message of a peer is.
        guard arrival.envelope == .handler, let action = try? arrival.reading.get() else { return false }
        return action.name == .chatConnected || action.name == .chatClosed
    }

    /// Whether it is `{"id", "outcome", ...}`: what Signalbox answers.
    private func isAnswer(_ arrival: Arrival) -> Bool {
        guard answers != nil, arrival.envelope == .standard, case .failure = arrival.reading,
            let body = try? Body(json: arrival.original)
        else { return false }
        return (try? body.decode(Answer.self)) != nil
    }

    private struct Answer: Decodable {
        private enum CodingKeys: String, CodingKey { case id, uuid, outcome }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            _ = try container.decode(String.self, forKey: .outcome)
            if !container.contains(.uuid) { _ = try container.decode(String.self, forKey: .id) }
        }
    }

    /// - Returns: whether it was taken.
    private func take(_ arrival: Arrival, to sink: any SettlementSink) -> Bool {
        guard isNotice(arrival) else {
            answers?(arrival.original)
            sink.settle(arrival.token, .handled(reply: nil))
            return true
        }
        guard keepsConnections || intake.submit([arrival], to: sink) == 1 else { return false }
        if let connection = arrival.sender as? ChatConnection, let action = try? arrival.reading.get() {
            if action.name == .chatConnected { watch.opened(connection) } else { watch.closed(connection) }
        }
        if keepsConnections { sink.settle(arrival.token, .handled(reply: nil)) }
        return true
    }
}
