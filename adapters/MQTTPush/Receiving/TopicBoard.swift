import AdapterThreads
import SignalboxRoutes
import Synchronization

/// The topics of one connection, which anyone may change and the source's thread brings to the broker.
final class TopicBoard: Sendable {
    typealias Answer = Result<MQTTTopicState, MQTTPushError>
    typealias Waiter = CheckedContinuation<Answer, Never>

    /// The most topics of a connection, and the most that wait to be taken back from the broker.
    static let bound = 1_000

    private struct State {
        var topics: [MQTTTopic]
        var gone: [String] = []
        var revision = 0
        var control: LoopControl?
        var isConnected = false
        var waiters: [String: [Waiter]] = [:]
    }

    private let state: Mutex<State>

    init(_ topics: [MQTTTopic]) {
        state = Mutex(State(topics: topics))
    }

    // MARK: - Anyone's side

    func add(_ topic: MQTTTopic) async throws(MQTTPushError) -> MQTTTopicState {
        try topic.validate()
        let filter = topic.pattern.filter.text
        return try await change(filter) { state throws(MQTTPushError) in
            guard state.topics.count < TopicBoard.bound else {
                throw TopicBoard.fault("a connection has 1 to 1000 topics")
            }
            guard !state.topics.contains(where: { $0.pattern.filter.text == filter }) else {
                throw TopicBoard.fault("a topic subscribes to \(filter.debugDescription) already")
            }
            state.topics.append(topic)
            state.gone.removeAll { $0 == filter }
        }
    }

    func remove(_ filter: String) async throws(MQTTPushError) -> MQTTTopicState {
        try await change(filter) { state throws(MQTTPushError) in
            guard let place = state.topics.firstIndex(where: { $0.pattern.filter.text == filter }) else {
                throw TopicBoard.fault("no topic subscribes to \(filter.debugDescription)")
            }
            guard state.topics.count > 1 else { throw TopicBoard.fault("the last topic of a connection stays") }
            guard state.gone.count < TopicBoard.bound else {
                throw TopicBoard.fault("1000 topics wait to be taken back from the broker; connect first")
            }
            state.topics.remove(at: place)
            state.gone.append(filter)
        }
    }

    private func change(
        _ filter: String,
        _ body: sending (inout State) throws(MQTTPushError) -> Void
    ) async throws(MQTTPushError) -> MQTTTopicState {
        let control = try state.withLock { state throws(MQTTPushError) -> LoopControl? in
            try body(&state)
            state.revision += 1
            return state.isConnected ? state.control : nil
        }
        guard let control else { return .remembered }
        let answer = await withCheckedContinuation { (waiter: Waiter) in
            let isLate = state.withLock { state in
                guard state.isConnected, state.control === control else { return true }
                state.waiters[filter, default: []].append(waiter)
                return false
            }
            if isLate { waiter.resume(returning: .success(.remembered)) } else { control.wake.wake() }
        }
        return try answer.get()
    }

    private static func fault(_ detail: String) -> MQTTPushError {
        MQTTPushError(.invalidConfiguration, detail)
    }

    // MARK: - The thread's side

    /// Grows with each change.
    var revision: Int { state.withLock { $0.revision } }

    func connected(_ control: LoopControl) {
        state.withLock { state in
            state.control = control
            state.isConnected = true
        }
    }

    /// What is to be subscribed to and what is to be taken back, as of a revision.
    func wanted() -> (topics: [MQTTTopic], gone: [String], revision: Int) {
        state.withLock { ($0.topics, $0.gone, $0.revision) }
    }

    /// The broker has answered a SUBSCRIBE: what it refused and somebody waits for is not asked for again.
    func subscribed(_ filters: [String], refused: [String: MQTTPushError]) {
        let answers = state.withLock { state in
            filters.flatMap { filter -> [(Waiter, Answer)] in
                guard let waiters = state.waiters.removeValue(forKey: filter) else { return [] }
                guard let error = refused[filter] else { return waiters.map { ($0, .success(.done)) } }
                if state.topics.count > 1 { state.topics.removeAll { $0.pattern.filter.text == filter } }
                return waiters.map { ($0, .failure(error)) }
            }
        }
        for (waiter, answer) in answers { waiter.resume(returning: answer) }
    }

    /// The broker has taken filters back.
    func unsubscribed(_ filters: [String]) {
        let waiters = state.withLock { state in
            state.gone.removeAll { filters.contains($0) }
            return filters.flatMap { state.waiters.removeValue(forKey: $0) ?? [] }
        }
        for waiter in waiters { waiter.resume(returning: .success(.done)) }
    }

    /// The connection ended: what is not done is done with the next.
    func disconnected() {
        let waiters = state.withLock { state in
            state.isConnected = false
            state.control = nil
            defer { state.waiters = [:] }
            return state.waiters.values.flatMap { $0 }
        }
        for waiter in waiters { waiter.resume(returning: .success(.remembered)) }
    }
}
