/// The `mqtt` part of a source.
struct MQTTSection: Sendable {
    /// `mqtt://host:port`, without a user or password.
    var broker: String
    /// Under this name the broker keeps the session.
    var clientID: String
    /// Whether the broker forgets an earlier session on each start.
    var cleanStart = false
    /// How long the broker keeps the session after the connection is gone, in whole seconds.
    var sessionExpiry: Duration = .seconds(3_600)
    /// How often the connection is tested when nothing is sent, in whole seconds.
    var keepalive: Duration = .seconds(60)
    /// The user, where the broker wants one.
    var username: String?
    /// Where the password is kept.
    var password: SecretReference?
    /// At least one.
    var topics: [TopicSection]
    /// How many messages the broker may send before the first is acknowledged.
    var receiveMaximum = 250
}
