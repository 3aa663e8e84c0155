import AdapterSupport
import Logging
import MQTTPush
import Signalbox
import SignalboxCore
import SignalboxRoutes
import Synchronization

/// Lets the MQTT sources leave their groups before the program ends, so that the other workers of each group get its
/// messages. Safe to use from any thread.
final class GroupHandover: Sendable {
    /// How one connection has left its groups.
    struct Result: Sendable {
        let source: SourceName
        /// The name of one of the source's further connections, or `nil` for its own.
        let connection: String?
        let departure: MQTTGroupDeparture
    }

    private struct State {
        var adapters: [SourceName: MQTTPushAdapter] = [:]
        var results: [Result]?
    }

    private let state = Mutex(State())
    private let requests = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))

    /// What was reached, in the order of the sources' names, or `nil` without a request.
    var results: [Result]? { state.withLock { $0.results } }

    /// Stores the adapter of a source that is starting, if it may be in a group.
    func store(_ adapter: any Adapter) {
        guard let push = adapter as? MQTTPushAdapter else { return }
        state.withLock { $0.adapters[push.source] = push }
    }

    /// Forgets a source that has ended.
    func remove(_ source: SourceName) {
        state.withLock { $0.adapters[source] = nil }
    }

    /// Asks for the handover, after which the program drains.
    func request() { requests.continuation.yield() }

    /// Waits for a request, leaves the groups and begins the drain. If the program ends first, this method returns.
    ///
    /// - Parameters:
    ///   - limit: How long the sources have to leave their groups.
    ///   - reload: Ends before the sources leave, so that no source subscribes again.
    func serve(_ supervisor: Supervisor, within limit: Duration, _ reload: ConfigurationReload, logger: Logger) async {
        for await _ in requests.stream {
            await reload.end()
            let results = await leave(within: limit, logger)
            state.withLock { $0.results = results }
            await InheritedSockets.shared.leave()
            supervisor.shutDown()
        }
    }

    private func leave(within limit: Duration, _ logger: Logger) async -> [Result] {
        let adapters = state.withLock { $0.adapters.values.sorted { $0.source.text < $1.source.text } }
        let members = adapters.flatMap { adapter in
            adapter.configuration.perConnection.filter(\.isInGroup).map { (adapter, $0) }
        }
        return await withTaskGroup(of: (Int, Result).self) { group in
            for (index, (adapter, push)) in members.enumerated() {
                group.addTask {
                    let departure = await GroupHandover.departure(of: adapter, push, within: limit)
                    GroupHandover.log(departure, push, logger)
                    return (index, Result(source: push.source, connection: push.connectionName, departure: departure))
                }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private static func departure(
        of adapter: MQTTPushAdapter,
        _ push: MQTTPushConfiguration,
        within limit: Duration
    ) async -> MQTTGroupDeparture {
        do throws(MQTTPushError) {
            return try await adapter.leaveGroups(of: push.connectionName, within: limit)
        } catch {
            return .subscribed(problem: error.detail)
        }
    }

    private static func log(_ departure: MQTTGroupDeparture, _ push: MQTTPushConfiguration, _ logger: Logger) {
        var metadata: Logger.Metadata = ["source": "\(push.source)"]
        switch departure {
        case .done:
            logger.info("left the groups; no message of theirs waits for this worker", metadata: metadata)
        case .messagesLeft:
            metadata["advice"] =
                "start this worker again to handle them, and allow it more time with 'drain_limit'; no other worker gets them"
            logger.warning("left the groups, but messages of theirs may wait in the session", metadata: metadata)
        case .subscribed(let problem):
            let topics = push.topics.filter(\.pattern.filter.isShared)
            metadata["reason"] = "\(problem)"
            metadata["advice"] = "\(AbandonedSession(push: push, topics: topics, isIDInUse: false).command)"
            logger.warning("did not leave the groups; the broker assigns messages to the session", metadata: metadata)
        }
    }
}

extension GroupHandover.Result {
    /// Adds the result to the answer for a command.
    func add(to object: inout JSONObject) {
        object.add("source", source.text)
        object.add("connection", connection)
        switch departure {
        case .done: object.add("state", "left")
        case .messagesLeft: object.add("state", "messagesLeft")
        case .subscribed(let problem):
            object.add("state", "subscribed")
            object.add("problem", problem)
        }
    }
}

extension MQTTPushConfiguration {
    /// Whether the connection has a shared subscription.
    fileprivate var isInGroup: Bool { topics.contains(where: \.pattern.filter.isShared) }
}
