#if MQTT
import AdapterSupport
import SignalboxRoutes
import Synchronization

/// Manages the topics of one connection. Topics can be changed from any thread; the connection's thread applies the
/// changes at the broker.
final class SubscriptionManager: Sendable {
    typealias Answer = Result<MQTTTopicState, MQTTPushError>
    typealias Waiter = CheckedContinuation<Answer, Never>

    /// Whether the connection that has the subscriptions is open.
    let connection = ConnectionState()

    /// The maximum number of topics, which is also the maximum number of removals that are pending at the broker.
    static let bound = 1_000

    /// The topics, and the changes that the connection's thread must apply.
    struct Snapshot {
        /// The current topics.
        var topics: [MQTTTopic]
        /// The filters to unsubscribe.
        var filtersToUnsubscribe: [String] = []
        /// The removed topics. The broker still delivers the messages that it holds for them (MQTT 5.0, 3.10.4), even
        /// after UNSUBACK and on the session's next connection. At most ``bound`` topics are kept here; the oldest are
        /// dropped.
        fileprivate(set) var former: [MQTTTopic] = []
        /// The filters added since this set was last cleared, to be subscribed even if the broker may already have
        /// them.
        var added: Set<String> = []
        /// Increases with each change.
        var revision = 0

        fileprivate mutating func appendFormer(_ topics: [MQTTTopic]) {
            former += topics
            former.removeFirst(max(0, former.count - bound))
        }
    }

    private struct State {
        var current: Snapshot
        /// The signal that wakes the thread of the run that has a connection, or `nil` if there is no connection.
        var wake: WakeSignal?
        /// When the broker last answered a SUBSCRIBE on this connection, or `nil` if it has not.
        var answeredAt: ContinuousClock.Instant?
        var adding: [String: [Waiter]] = [:]
        var removing: [String: [Waiter]] = [:]
    }

    private let state: Mutex<State>

    /// - Parameters:
    ///   - topics: The topics to subscribe to.
    ///   - former: Topics to unsubscribe from on the first connection. Those among `topics` are left out.
    init(_ topics: [MQTTTopic], former: [MQTTTopic] = []) {
        let filters = Set(topics.map(\.pattern.filter.text))
        let former = former.filter { !filters.contains($0.pattern.filter.text) }.suffix(SubscriptionManager.bound)
        var current = Snapshot(topics: topics)
        current.filtersToUnsubscribe = former.map(\.pattern.filter.text)
        current.appendFormer(Array(former))
        state = Mutex(State(current: current))
    }

    // MARK: - Any thread

    func add(_ topic: MQTTTopic) async throws(MQTTPushError) -> MQTTTopicState {
        try topic.validate()
        let filter = topic.pattern.filter.text
        return try await change(filter, isAdded: true) { current throws(MQTTPushError) in
            guard current.topics.count < SubscriptionManager.bound else {
                throw .invalid("a connection must have 1 to 1000 topics")
            }
            guard !current.topics.contains(where: { $0.pattern.filter.text == filter }) else {
                throw .invalid("a topic already subscribes to \(filter.debugDescription)")
            }
            current.topics.append(topic)
            current.filtersToUnsubscribe.removeAll { $0 == filter }
            current.former.removeAll { $0.pattern.filter.text == filter }
            current.added.insert(filter)
        }
    }

    func remove(_ filter: String) async throws(MQTTPushError) -> MQTTTopicState {
        try await change(filter, isAdded: false) { current throws(MQTTPushError) in
            guard let index = current.topics.firstIndex(where: { $0.pattern.filter.text == filter }) else {
                throw .invalid("no topic subscribes to \(filter.debugDescription)")
            }
            guard current.topics.count > 1 else {
                throw .invalid("the last topic of a connection cannot be removed")
            }
            guard current.filtersToUnsubscribe.count < SubscriptionManager.bound else {
                throw .invalid(
                    "1000 removed topics are still subscribed at the broker; connect first"
                )
            }
            current.appendFormer([current.topics.remove(at: index)])
            current.added.remove(filter)
            current.filtersToUnsubscribe.append(filter)
        }
    }

    /// Changes the topics. If there is a connection, this method waits for the broker's answer.
    private func change(
        _ filter: String,
        isAdded: Bool,
        _ body: @Sendable (inout Snapshot) throws(MQTTPushError) -> Void
    ) async throws(MQTTPushError) -> MQTTTopicState {
        let answer = await withCheckedContinuation { (waiter: Waiter) in
            // This must be a single critical section. Otherwise, the answer could arrive before the waiter is stored.
            let (early, wake, superseded) = state.withLock { state -> (Answer?, WakeSignal?, [Waiter]) in
                do throws(MQTTPushError) { try body(&state.current) } catch { return (.failure(error), nil, []) }
                state.current.revision += 1
                // If a filter is added again, it may never be unsubscribed. Callers waiting for the removal are resumed
                // here.
                let superseded = isAdded ? state.removing.removeValue(forKey: filter) ?? [] : []
                guard let wake = state.wake else { return (.success(.pending), nil, superseded) }
                if isAdded {
                    state.adding[filter, default: []].append(waiter)
                } else {
                    state.removing[filter, default: []].append(waiter)
                }
                return (nil, wake, superseded)
            }
            for other in superseded { other.resume(returning: .success(.done)) }
            if let early { waiter.resume(returning: early) }
            wake?.wake()
        }
        return try answer.get()
    }

    /// When the broker last answered for topics on the connection, or `nil` if it has not, or there is no connection.
    var answeredAt: ContinuousClock.Instant? { state.withLock { $0.answeredAt } }

    // MARK: - The source's thread

    var revision: Int { state.withLock { $0.current.revision } }

    /// Handles a new connection.
    ///
    /// - Parameter wake: The signal that wakes the run's thread and identifies the run.
    func connected(_ wake: WakeSignal) {
        state.withLock { $0.wake = wake }
    }

    /// Handles the start of a new session, for which the broker has no messages for former topics and no subscriptions
    /// to remove.
    func newSessionStarted() {
        state.withLock { state in
            state.current.former = []
            state.current.filtersToUnsubscribe = []
        }
    }

    /// Returns the current topics and pending changes.
    ///
    /// - Parameter clearsAdded: Whether to clear ``Snapshot/added``. Pass `true` if you are about to subscribe to these
    ///   filters.
    func snapshot(clearingAdded clearsAdded: Bool) -> Snapshot {
        state.withLock { state in
            defer { if clearsAdded { state.current.added = [] } }
            return state.current
        }
    }

    /// Handles the broker's answer to SUBSCRIBE. If the broker refused a filter that a caller is waiting for, the
    /// filter is removed, unless it is the last one.
    func subscribed(_ filters: [String], refused: [String: MQTTPushError]) {
        let answers = state.withLock { state in
            state.answeredAt = .now
            return filters.flatMap { filter -> [(Waiter, Answer)] in
                guard let waiters = state.adding.removeValue(forKey: filter) else { return [] }
                guard let error = refused[filter] else { return waiters.map { ($0, .success(.done)) } }
                if state.current.topics.count > 1 {
                    let refused = state.current.topics.filter { $0.pattern.filter.text == filter }
                    state.current.topics.removeAll { $0.pattern.filter.text == filter }
                    // An earlier subscription may still deliver messages.
                    state.current.appendFormer(refused)
                }
                return waiters.map { ($0, .failure(error)) }
            }
        }
        for (waiter, answer) in answers { waiter.resume(returning: answer) }
    }

    /// Handles the broker's answer to UNSUBSCRIBE. A filter that the broker has refused to remove is not unsubscribed again.
    func unsubscribed(_ filters: [String], refused: [String: MQTTPushError] = [:]) {
        let answers = state.withLock { state in
            state.current.filtersToUnsubscribe.removeAll { filters.contains($0) }
            return filters.flatMap { filter -> [(Waiter, Answer)] in
                let answer = refused[filter].map { Answer.failure($0) } ?? .success(.done)
                let removing = (state.removing.removeValue(forKey: filter) ?? []).map { ($0, answer) }
                // A filter that was added again in the meantime is answered separately.
                if state.current.topics.contains(where: { $0.pattern.filter.text == filter }) { return removing }
                return removing + (state.adding.removeValue(forKey: filter) ?? []).map { ($0, .success(.done)) }
            }
        }
        for (waiter, answer) in answers { waiter.resume(returning: answer) }
    }

    /// Handles the end of the connection. Pending changes are applied on the next connection.
    ///
    /// - Parameter wake: The wake signal of the run whose connection ended. Other runs' connections are not affected.
    func disconnected(_ wake: WakeSignal) {
        let waiters = state.withLock { state -> [Waiter] in
            guard state.wake === wake else { return [] }
            (state.wake, state.answeredAt) = (nil, nil)
            defer {
                state.adding = [:]
                state.removing = [:]
            }
            return state.adding.values.flatMap { $0 } + state.removing.values.flatMap { $0 }
        }
        for waiter in waiters { waiter.resume(returning: .success(.pending)) }
    }
}
#endif
