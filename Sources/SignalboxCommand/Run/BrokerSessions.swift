import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// The subscriptions that this process has made in sessions at brokers. A broker keeps them when a reload takes them out
/// of the configuration, so the program must unsubscribe.
///
/// A session is identified by its client id alone. Whether two URLs lead to one broker cannot be known, and a second
/// client with the same id would end the connection of the first.
struct BrokerSessions: Sendable {
    /// What is known about one session.
    private struct Session {
        /// The configuration of the connection that last used the session.
        var push: MQTTPushConfiguration
        /// The topics that are in the configuration, and those to which the session may still subscribe.
        var topics: [MQTTTopic]
    }

    /// The sessions by client id.
    private var sessions: [String: Session] = [:]

    /// Creates a value that knows no session.
    init() {}

    /// Creates a value for a program that starts with the configuration.
    init(_ configuration: RunConfiguration) {
        for push in BrokerSessions.connections(of: configuration) {
            sessions[push.clientID.text] = Session(push: push, topics: push.topics)
        }
    }

    /// Adds the topics to a source's configuration that its sessions may have but the source no longer does.
    func addFormerTopics(to push: inout MQTTPushConfiguration) {
        for connection in push.perConnection {
            let former = formerTopics(of: connection)
            if let index = push.connections.firstIndex(where: { $0.name == connection.connectionName }) {
                push.connections[index].formerTopics = former
            } else {
                push.formerTopics = former
            }
        }
    }

    /// Moves on to the next configuration.
    ///
    /// - Returns: The sessions with subscriptions that no source of the next configuration ends.
    mutating func change(to next: RunConfiguration) -> [AbandonedSession] {
        var changed: [String: Session] = [:]
        var abandoned: [AbandonedSession] = []
        let connections = BrokerSessions.connections(of: next)
        for push in connections {
            let former = formerTopics(of: push)
            changed[push.clientID.text] = Session(push: push, topics: push.topics + former)
        }
        for (id, session) in sessions.sorted(by: { $0.key < $1.key }) {
            let isUsed = changed[id] != nil
            if let now = changed[id], now.push.isAtSameHost(as: session.push) { continue }
            abandoned.append(AbandonedSession(push: session.push, topics: session.topics, isIDInUse: isUsed))
        }
        sessions = changed
        return abandoned
    }

    /// Returns the topics of the connection's session that the connection does not have. At most 1,000 are kept, the newest.
    func formerTopics(of push: MQTTPushConfiguration) -> [MQTTTopic] {
        guard let session = sessions[push.clientID.text] else { return [] }
        let filters = Set(push.topics.map(\.pattern.filter.text))
        return session.topics.filter { !filters.contains($0.pattern.filter.text) }.suffix(1_000)
    }

    /// Returns the configurations of all connections whose broker keeps a session.
    private static func connections(of configuration: RunConfiguration) -> [MQTTPushConfiguration] {
        configuration.sources.compactMap(\.kind.mqtt).flatMap { $0.push(in: configuration).perConnection }.filter {
            $0.sessionExpiry > .zero && !$0.clientID.isRandom
        }
    }
}

extension MQTTPushConfiguration {
    /// Whether both connections go to one host, and so perhaps to one broker.
    fileprivate func isAtSameHost(as other: MQTTPushConfiguration) -> Bool {
        broker.host.lowercased() == other.broker.host.lowercased() && (unixSocket == nil) == (other.unixSocket == nil)
    }
}

/// A session that no source uses any more.
struct AbandonedSession: Sendable {
    /// The configuration of the connection that last used the session.
    let push: MQTTPushConfiguration
    /// The topics to which the session may subscribe.
    let topics: [MQTTTopic]
    /// Whether a source has a session with this client id at a different broker. If both URLs lead to one broker, connecting
    /// would disturb that source.
    let isIDInUse: Bool

    /// Unsubscribes from the topics. Messages that wait in the session stay. A failure is a warning that names the command
    /// which does the same.
    func unsubscribe(logger: Logger) async {
        var metadata: Logger.Metadata = [
            "source": "\(push.source)", "broker": "\(push.broker)", "clientID": "\(push.clientID.text)",
        ]
        guard let reason = await failure(logger) else {
            logger.info("unsubscribed from the topics of a session that no source uses", metadata: metadata)
            return
        }
        metadata["reason"] = "\(reason)"
        metadata["advice"] = "\(command)"
        logger.warning("a session that no source uses keeps its subscriptions", metadata: metadata)
    }

    /// Returns why the session keeps its subscriptions, or `nil` if it has none any more.
    private func failure(_ logger: Logger) async -> String? {
        guard !isIDInUse else { return "a source uses the client id at another broker" }
        var push = push
        push.firstConnectionMustSucceed = true
        let filters = topics.map(\.pattern.filter)
        let limit = push.answerTimeout
        do throws(MQTTPushError) {
            let session = try MQTTSession(push, connection: push.connectionName, logger: logger)
            return await withTaskGroup(of: String?.self) { group in
                group.addTask { await AbandonedSession.failure(of: session, filters) }
                group.addTask {
                    try? await Task.sleep(for: limit)
                    return "no answer within \(DurationText.text(limit))"
                }
                defer { group.cancelAll() }
                return await group.next() ?? nil
            }
        } catch {
            return error.detail
        }
    }

    private static func failure(of session: MQTTSession, _ filters: [TopicFilter]) async -> String? {
        // A session can have the topics of several configurations.
        for start in stride(from: 0, to: filters.count, by: 1_000) {
            do throws(MQTTPushError) {
                try await session.unsubscribe(Array(filters[start..<min(start + 1_000, filters.count)]))
            } catch {
                return error.detail
            }
        }
        return nil
    }

    /// The command that unsubscribes, without the options for logging in and the session expiry.
    private var command: String {
        let url = "\(push.broker.usesTLS ? "mqtts" : "mqtt")://\(push.broker)"
        let filters = topics.prefix(3).map { "-t '\($0.pattern.filter.text)'" }.joined(separator: " ")
        let more = topics.count > 3 ? " -t ..." : ""
        return "unsubscribe: signalbox subscribe \(url) --id '\(push.clientID.text)' --unsubscribe \(filters)\(more)"
    }
}
