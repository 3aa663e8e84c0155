/// How a test's broker is configured.
public struct BrokerOptions: Sendable {
    /// Who may connect, by name, with which password; empty for everyone.
    public var users: [String: String]
    /// Whether sessions and queues survive a restart.
    public var isPersistent: Bool
    /// How many messages wait per client, 0 for any number: what at-least-once needs.
    public var maximumQueued: Int
    /// How the broker's listener is protected; the port for publishers is not.
    public var security = BrokerSecurity.none
    /// The lines of an access list, such as `user anna` and `topic read news/#`; empty for no list.
    public var access: [String] = []
    /// More lines for mosquitto's configuration, such as `max_inflight_messages 1000`.
    public var lines: [String]

    /// A broker for everyone that keeps all messages.
    public init(
        users: [String: String] = [:],
        isPersistent: Bool = true,
        maximumQueued: Int = 0,
        lines: [String] = []
    ) {
        self.users = users
        self.isPersistent = isPersistent
        self.maximumQueued = maximumQueued
        self.lines = lines
    }

    /// Whether everyone may do everything without TLS.
    var isOpen: Bool {
        if case .none = security { return users.isEmpty && access.isEmpty }
        return false
    }
}
