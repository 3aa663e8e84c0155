import MQTTPush
import SignalboxCore
import SignalboxRoutes

/// The subscriptions that this process has made in sessions at brokers. A broker keeps them when a reload takes them out
/// of the configuration, so the program must unsubscribe.
struct BrokerSessions: Sendable {
    /// The subscriptions of one session.
    private struct Session {
        /// The configuration of the connection that last used the session.
        var push: MQTTPushConfiguration
        /// The topics to which the session may still subscribe but the connection does not, oldest first, and then those of
        /// the connection.
        var topics: [MQTTTopic]
    }

    private var sessions: [Session] = []

    /// Creates a value that knows no session.
    init() {}

    /// Creates a value for a program that starts with the configuration.
    init(_ configuration: RunConfiguration) {
        sessions = BrokerSessions.connections(of: configuration).filter(\.keepsSession).map { push in
            Session(push: push, topics: push.topics)
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
        let connections = BrokerSessions.connections(of: next)
        let ids = Set((connections.map(\.clientID) + BrokerSessions.publisherIDs(of: next)).map(\.text))
        let abandoned = sessions.filter { session in !connections.contains { $0.hasSession(of: session.push) } }
        sessions = connections.filter(\.keepsSession).map { push in
            Session(push: push, topics: formerTopics(of: push) + push.topics)
        }
        return abandoned.map { session in
            let isIDInUse = ids.contains(session.push.clientID.text)
            return AbandonedSession(push: session.push, topics: session.topics, isIDInUse: isIDInUse)
        }
    }

    /// Returns the topics of the connection's session that the connection does not have. At most 1,000 are kept, the newest.
    func formerTopics(of push: MQTTPushConfiguration) -> [MQTTTopic] {
        guard let session = sessions.first(where: { push.hasSession(of: $0.push) }) else { return [] }
        let filters = Set(push.topics.map(\.pattern.filter.text))
        return session.topics.filter { !filters.contains($0.pattern.filter.text) }.suffix(1_000)
    }

    /// Returns the configurations of all connections that receive.
    private static func connections(of configuration: RunConfiguration) -> [MQTTPushConfiguration] {
        configuration.sources.compactMap(\.kind.mqtt).flatMap { $0.push(in: configuration).perConnection }
    }

    private static func publisherIDs(of configuration: RunConfiguration) -> [MQTTClientID] {
        configuration.sources.compactMap(\.kind.mqtt).compactMap { $0.push(in: configuration).publisher?.clientID }
    }
}

extension MQTTPushConfiguration {
    /// Whether the broker keeps a session for the connection.
    fileprivate var keepsSession: Bool { sessionExpiry > .zero && !clientID.isRandom }

    /// Whether the connection connects with the client id of the other one to what may be the same broker. The broker then
    /// continues that session or discards it.
    ///
    /// If one URL uses TLS and the other one does not, or only one of them is a WebSocket, they may lead to one broker
    /// although their ports differ. The brokers of a list share their sessions.
    fileprivate func hasSession(of other: MQTTPushConfiguration) -> Bool {
        clientID.text == other.clientID.text
            && ([broker] + furtherBrokers).contains { broker in
                ([other.broker] + other.furtherBrokers).contains { broker.mayBe($0) }
            }
    }
}

extension MQTTBroker {
    /// Whether both addresses may lead to the same broker.
    fileprivate func mayBe(_ other: MQTTBroker) -> Bool {
        guard host.lowercased() == other.host.lowercased() else { return false }
        switch (transport, other.transport) {
        case (.unixSocket(let path), .unixSocket(let otherPath)): return path == otherPath
        case (.tcp, .tcp), (.webSocket, .webSocket): return port == other.port || usesTLS != other.usesTLS
        default: return true
        }
    }
}
