import MQTTPush
import SignalboxCore

/// The `mqtt` part of a source.
struct MQTTSection: Sendable, Hashable {
    /// Where it listens.
    var broker: MQTTBroker
    /// Under this name the broker keeps the session.
    var clientID: MQTTClientID
    /// Whether the broker forgets an earlier session on each start.
    var cleanStart = false
    /// How long the broker keeps the session after the connection is gone, in whole seconds.
    var sessionExpiry: Duration = .seconds(3_600)
    /// The longest silence before a ping, in whole seconds.
    var keepalive: Duration = .seconds(30)
    /// The user, where the broker wants one.
    var username: String?
    /// Where the password is kept.
    var password: Secret?
    /// At least one.
    var topics: [TopicSection]
    /// How many messages the broker may send before the first is acknowledged.
    var receiveMaximum = 250
    /// How many messages the broker keeps for this client, as it was told; 0 for any number.
    var brokerQueue = 1_000
    /// Which MQTT is spoken.
    var version = MQTTVersion.v5
    /// How the connection is protected.
    var security = MQTTSecurity.none
    /// What the broker publishes when the connection breaks.
    var will: MQTTWill?
    /// Whether a lost session is an action too.
    var announcesConnections = false
    /// Further connections.
    var connections: [ConnectionSection] = []
    /// How often a message may be delivered if the process dies while handling it.
    var maxDeliveries = 5
    /// The file that counts deliveries; `nil`: one beside the ledger of the first plugin `file`, if there is one.
    var deliveriesFile: String?
    /// The second connection, which publishes; `nil`: there is none.
    var publishing: PublishingSection?

    /// The topics of all connections, in the order in which they are asked.
    var allTopics: [TopicSection] { topics + connections.flatMap(\.topics) }
}
