import AdapterThreads
import SignalboxRoutes
import Synchronization

/// The topics of one connection, which anyone may change and the source's thread brings to the broker.
final class TopicBoard: Sendable {
    typealias Answer = Result<MQTTTopicState, MQTTPushError>
    typealias Waiter = CheckedContinuation<Answer, Never>

    /// The most topics of a connection, and the most that wait to be taken back from the broker.
    static let bound = 1_000

    /// What the source's thread is to bring to the broker.
    struct Snapshot {
        /// What is to be subscribed to.
        let topics: [MQTTTopic]
        /// What is to be taken back.
        let gone: [String]
        /// What was removed, at most ``bound``, the oldest forgotten: the broker goes on with messages that it held for it
        /// (MQTT 5.0, 3.10.4), also after its answer and in the session's next connection.
        let former: [MQTTTopic]
        /// Filters that are to be asked for, although the broker may know them.
        var fresh: Set<String> = []
        let revision: Int
    }

    private struct State {
        var topics: [MQTTTopic]
        var gone: [String] = []
        var former: [MQTTTopic] = []
        var revision = 0
        var control: LoopControl?
        var isConnected = false
        /// Filters that were added since the thread looked: they are asked for although the broker may know them.
        var fresh: Set<String> = []
        var adding: [String: [Waiter]] = [:]
        var removing: [String: [Waiter]] = [:]
    }

    private let state: Mutex<State>

    init(_ topics: [MQTTTopic]) {
        state = Mutex(State(topics: topics))
    }

    // MARK: - Anyone's side

    func add(_ topic: MQTTTopic) async throws(MQTTPushError) -> MQTTTopicState {
        try topic.validate()
        let filter = topic.pattern.filter.text
        return try await change(filter, isAdded: true) { state throws(MQTTPushError) in
            guard state.topics.count < TopicBoard.bound else {
                throw TopicBoard.fault("a connection has 1 to 1000 topics")
            }
            guard !state.topics.contains(where: { $0.pattern.filter.text == filter }) else {
                throw TopicBoard.fault("a topic subscribes to \(filter.debugDescription) already")
            }
            state.topics.append(topic)
            state.gone.removeAll { $0 == filter }
            state.former.removeAll { $0.pattern.filter.text == filter }
            state.fresh.insert(filter)
        }
    }

    func remove(_ filter: String) async throws(MQTTPushError) -> MQTTTopicState {
        try await change(filter, isAdded: false) { state throws(MQTTPushError) in
            guard let place = state.topics.firstIndex(where: { $0.pattern.filter.text == filter }) else {
                throw TopicBoard.fault("no topic subscribes to \(filter.debugDescription)")
            }
            guard state.topics.count > 1 else { throw TopicBoard.fault("the last topic of a connection stays") }
            guard state.gone.count < TopicBoard.bound else {
                throw TopicBoard.fault("1000 topics wait to be taken back from the broker; connect first")
            }
            TopicBoard.keep([state.topics.remove(at: place)], in: &state)
            state.fresh.remove(filter)
            state.gone.append(filter)
        }
    }

    /// Changes the topics and waits for the broker's answer, where there is a connection.
    private func change(
        _ filter: String,
        isAdded: Bool,
        _ body: @Sendable (inout State) throws(MQTTPushError) -> Void
    ) async throws(MQTTPushError) -> MQTTTopicState {
        let answer = await withCheckedContinuation { (waiter: Waiter) in
            // In one step: the thread may bring the change to the broker, and hear its answer, before a second one.
            let (early, control, superseded) = state.withLock { state -> (Answer?, LoopControl?, [Waiter]) in
                do throws(MQTTPushError) { try body(&state) } catch { return (.failure(error), nil, []) }
                state.revision += 1
                // What is added again may never be taken back: who waits for that hears now.
                let superseded = isAdded ? state.removing.removeValue(forKey: filter) ?? [] : []
                guard state.isConnected, let control = state.control else {
                    return (.success(.remembered), nil, superseded)
                }
                if isAdded {
                    state.adding[filter, default: []].append(waiter)
                } else {
                    state.removing[filter, default: []].append(waiter)
                }
                return (nil, control, superseded)
            }
            for other in superseded { other.resume(returning: .success(.done)) }
            if let early { waiter.resume(returning: early) }
            control?.wake.wake()
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

    private static func keep(_ former: [MQTTTopic], in state: inout State) {
        state.former += former
        state.former.removeFirst(max(0, state.former.count - bound))
    }

    /// The broker has nothing of an earlier session: no messages for former topics, and no subscription to take back.
    func sessionIsNew() {
        state.withLock { state in
            state.former = []
            state.gone = []
        }
    }

    /// What is wanted now.
    ///
    /// - Parameter takesFresh: whether ``Snapshot/fresh`` is told, once.
    func snapshot(takingFresh takesFresh: Bool) -> Snapshot {
        state.withLock { state in
            defer { if takesFresh { state.fresh = [] } }
            return Snapshot(
                topics: state.topics,
                gone: state.gone,
                former: state.former,
                fresh: takesFresh ? state.fresh : [],
                revision: state.revision
            )
        }
    }

    /// The broker has answered a SUBSCRIBE: what it refused and somebody waits for is not asked for again.
    func subscribed(_ filters: [String], refused: [String: MQTTPushError]) {
        let answers = state.withLock { state in
            filters.flatMap { filter -> [(Waiter, Answer)] in
                guard let waiters = state.adding.removeValue(forKey: filter) else { return [] }
                guard let error = refused[filter] else { return waiters.map { ($0, .success(.done)) } }
                if state.topics.count > 1 {
                    let refused = state.topics.filter { $0.pattern.filter.text == filter }
                    state.topics.removeAll { $0.pattern.filter.text == filter }
                    // An earlier subscription may still bring messages.
                    TopicBoard.keep(refused, in: &state)
                }
                return waiters.map { ($0, .failure(error)) }
            }
        }
        for (waiter, answer) in answers { waiter.resume(returning: answer) }
    }

    /// The broker has taken filters back.
    func unsubscribed(_ filters: [String]) {
        let waiters = state.withLock { state in
            state.gone.removeAll { filters.contains($0) }
            return filters.flatMap { filter -> [Waiter] in
                let removing = state.removing.removeValue(forKey: filter) ?? []
                // What was added again meanwhile has an answer of its own to come.
                if state.topics.contains(where: { $0.pattern.filter.text == filter }) { return removing }
                return removing + (state.adding.removeValue(forKey: filter) ?? [])
            }
        }
        for waiter in waiters { waiter.resume(returning: .success(.done)) }
    }

    /// The connection ended: what is not done is done with the next.
    ///
    /// - Parameter control: that of the run whose connection it was; another run's connection is none of its business.
    func disconnected(_ control: LoopControl) {
        let waiters = state.withLock { state -> [Waiter] in
            guard state.control === control else { return [] }
            state.isConnected = false
            state.control = nil
            defer {
                state.adding = [:]
                state.removing = [:]
            }
            return state.adding.values.flatMap { $0 } + state.removing.values.flatMap { $0 }
        }
        for waiter in waiters { waiter.resume(returning: .success(.remembered)) }
    }
}

/// The SUBSCRIBEs of one connection that wait for the broker's answers.
struct SubscriptionRequests {
    /// What the broker said about all filters that were asked for since the last such answer.
    struct Answer: Equatable {
        var asked: [String] = []
        var granted = 0
        var lowered: [String] = []
        var refused: [(filter: String, code: ReasonCode)] = []

        static func == (left: Answer, right: Answer) -> Bool {
            left.asked == right.asked && left.granted == right.granted && left.lowered == right.lowered
                && left.refused.elementsEqual(right.refused) { $0 == $1 }
        }
    }

    private var waiting: [Int32: SubscriptionGroup] = [:]
    private var answer = Answer()

    mutating func sent(_ group: SubscriptionGroup, packet: Int32) {
        waiting[packet] = group
    }

    var isEmpty: Bool { waiting.isEmpty }

    /// How many codes the answer to a packet may have, or `nil` when nobody asked.
    func expects(_ packet: Int32) -> Int? { waiting[packet]?.filters.count }

    /// Notes what the broker said about one packet.
    ///
    /// - Returns: what it said about all, when this was the last.
    mutating func answered(_ packet: Int32, _ codes: [ReasonCode]) -> Answer? {
        guard let group = waiting.removeValue(forKey: packet) else { return nil }
        answer.asked += group.filters
        for (filter, code) in zip(group.filters, codes) {
            if code.isFailure {
                answer.refused.append((filter, code))
                continue
            }
            answer.granted += 1
            if code.rawValue < Int32(group.quality.rawValue) { answer.lowered.append(filter) }
        }
        // What a broker says nothing of it has not granted.
        for filter in group.filters.dropFirst(codes.count) { answer.refused.append((filter, .unspecified)) }
        guard waiting.isEmpty else { return nil }
        defer { answer = Answer() }
        return answer
    }
}

/// Topics of a connection that one SUBSCRIBE asks for, as they want the same quality and the same of stored messages.
struct SubscriptionGroup: Equatable {
    let quality: MQTTQuality
    let retained: MQTTRetained
    private(set) var filters: [String] = []

    /// The groups of topics, at most four, each in the topics' order.
    static func groups(of topics: [MQTTTopic]) -> [SubscriptionGroup] {
        var groups: [SubscriptionGroup] = []
        for topic in topics {
            let filter = topic.pattern.filter.text
            let known = groups.firstIndex { $0.quality == topic.quality && $0.retained == topic.retained }
            if let known {
                groups[known].filters.append(filter)
            } else {
                groups.append(
                    SubscriptionGroup(quality: topic.quality, retained: topic.retained, filters: [filter])
                )
            }
        }
        return groups
    }
}
