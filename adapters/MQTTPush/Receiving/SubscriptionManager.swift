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
        /// A filter of a group that the connection leaves, or `nil` if it leaves none or the broker has not ended all of
        /// their subscriptions yet.
        fileprivate(set) var leftFilter: String?

        fileprivate mutating func appendFormer(_ topics: [MQTTTopic]) {
            former += topics
            former.removeFirst(max(0, former.count - bound))
        }
    }

    fileprivate struct State {
        var current: Snapshot
        /// The signal that wakes the thread of the run that has a connection, or `nil` if there is no connection.
        var wake: WakeSignal?
        /// When the broker last answered a SUBSCRIBE on this connection, or `nil` if it has not.
        var answeredAt: ContinuousClock.Instant?
        var adding: [String: [Waiter]] = [:]
        var removing: [String: [Waiter]] = [:]
        /// The departure from all groups, or `nil` if the connection stays in them.
        var departure: Departure?
    }

    /// How far the connection has left its groups.
    fileprivate struct Departure {
        /// The shared filters whose subscriptions the broker has ended.
        var left: Set<String> = []
        /// The broker's refusals to end a subscription, by filter.
        var refused: [String: MQTTPushError] = [:]
        /// Set when nothing more comes, or when the run has ended.
        let end = Promise<MQTTGroupDeparture>()
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
                if isAdded, state.isLeaving(filter) { return (.failure(SubscriptionManager.leaving), nil, []) }
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
            let groups = state.current.topics.groupFilters
            state.departure?.left.formUnion(groups)
        }
    }

    /// Returns the current topics and pending changes.
    ///
    /// - Parameter clearsAdded: Whether to clear ``Snapshot/added``. Pass `true` if you are about to subscribe to these
    ///   filters.
    func snapshot(clearingAdded clearsAdded: Bool) -> Snapshot {
        state.withLock { state in
            defer { if clearsAdded { state.current.added = [] } }
            return state.snapshot
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
            state.leave(filters, refused: refused)
            return filters.flatMap { filter -> [(Waiter, Answer)] in
                let answer = refused[filter].map { Answer.failure($0) } ?? .success(.done)
                let removing = (state.removing.removeValue(forKey: filter) ?? []).map { ($0, answer) }
                if state.isLeaving(filter) {
                    let adding = state.adding.removeValue(forKey: filter) ?? []
                    return removing + adding.map { ($0, .failure(SubscriptionManager.leaving)) }
                }
                // A filter that was added again in the meantime is answered separately.
                if state.current.topics.contains(where: { $0.pattern.filter.text == filter }) { return removing }
                return removing + (state.adding.removeValue(forKey: filter) ?? []).map { ($0, .success(.done)) }
            }
        }
        for (waiter, answer) in answers { waiter.resume(returning: answer) }
        // The broker will not change its mind within the time of a departure.
        if let end = state.withLock(\.refusedDeparture) { end.set(departure) }
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

// MARK: - Groups

extension SubscriptionManager {
    /// Ends all shared subscriptions until the run ends. A departure in progress continues.
    ///
    /// - Returns: The end of the departure, or `nil` if no topic is shared.
    func leaveGroups() -> Promise<MQTTGroupDeparture>? {
        let (end, wake) = state.withLock { state -> (Promise<MQTTGroupDeparture>?, WakeSignal?) in
            guard !state.current.topics.groupFilters.isEmpty else { return (nil, nil) }
            if let departure = state.departure { return (departure.end, nil) }
            let departure = Departure()
            state.departure = departure
            state.current.revision += 1
            return (departure.end, state.wake)
        }
        wake?.wake()
        return end
    }

    fileprivate static let leaving = MQTTPushError.invalid("the source is leaving its groups")

    /// While messages in progress keep the connection from reading, the answer may wait behind further ones.
    private static let unanswered =
        "the broker has not answered UNSUBSCRIBE, or has sent messages before its answer that were not read"

    /// How far the departure has come. Without a departure, it is `done`.
    var departure: MQTTGroupDeparture {
        state.withLock { state in
            guard let departure = state.departure, departure.end.current != .done else { return .done }
            if let refusal = departure.refused.values.first {
                return .subscribed(problem: "the broker refused to end a subscription: \(refusal.detail)")
            }
            guard !state.isInGroup else {
                return .subscribed(problem: connection.problem ?? SubscriptionManager.unanswered)
            }
            return .messagesLeft
        }
    }

    /// Handles the moment from which the broker has no more messages of the groups.
    func departed() {
        let end = state.withLock { $0.departure?.end }
        end?.set(.done)
    }

    /// Handles the end of a run. The next run subscribes to all topics again.
    func runEnded() {
        let reached = departure
        let end = state.withLock { state in
            defer { state.departure = nil }
            return state.departure?.end
        }
        end?.set(reached)
    }
}

extension SubscriptionManager.State {
    /// Whether the filter is shared, and a departure ends its subscription.
    fileprivate func isLeaving(_ filter: String) -> Bool { departure != nil && filter.hasPrefix("$share/") }

    /// Whether the broker may still have a subscription that the departure ends.
    fileprivate var isInGroup: Bool {
        guard let departure else { return true }
        return !departure.left.isSuperset(of: current.topics.groupFilters)
    }

    /// The end of a departure that the broker refuses, once it has answered for every filter, otherwise `nil`.
    fileprivate var refusedDeparture: Promise<MQTTGroupDeparture>? {
        guard let departure, !departure.refused.isEmpty else { return nil }
        let answered = departure.left.union(departure.refused.keys)
        return answered.isSuperset(of: current.topics.groupFilters) ? departure.end : nil
    }

    /// The current topics and pending changes. While the connection leaves its groups, the shared topics are former ones.
    fileprivate var snapshot: SubscriptionManager.Snapshot {
        guard let departure else { return current }
        var snapshot = current
        let groups = current.topics.groupFilters
        snapshot.topics.removeAll(where: \.pattern.filter.isShared)
        snapshot.appendFormer(current.topics.filter(\.pattern.filter.isShared))
        snapshot.filtersToUnsubscribe += groups.filter { !departure.left.contains($0) && departure.refused[$0] == nil }
        if departure.left.isSuperset(of: groups) { snapshot.leftFilter = groups.first }
        return snapshot
    }

    /// Handles the broker's answers for shared filters.
    fileprivate mutating func leave(_ filters: [String], refused: [String: MQTTPushError]) {
        guard departure != nil else { return }
        for filter in current.topics.groupFilters where filters.contains(filter) {
            if let error = refused[filter] {
                departure?.refused[filter] = error
            } else {
                departure?.left.insert(filter)
            }
        }
        current.revision += 1
    }
}

extension [MQTTTopic] {
    /// The filters of the shared subscriptions.
    fileprivate var groupFilters: [String] { map(\.pattern.filter).filter(\.isShared).map(\.text) }
}
#endif
