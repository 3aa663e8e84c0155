public import SignalboxRoutes

/// How a push source publishes beside receiving: replies to requests, `context.sender`, calls of its own.
///
/// It is a second connection with a client id of its own, as an acknowledgement on the receiving one could not be held back
/// while something else is sent there. Broker, version, security, user name, password, keepalive and waits are those of the
/// source.
public struct MQTTPublishing: Sendable {
    /// The second connection's client id; `nil` (default): that of the source with `-tx` behind, or a random one where the
    /// source's is.
    public var clientID: MQTTClientID?
    /// The most messages that are queued or not acknowledged, 1 to 1,000,000; 1,000 by default. More are refused.
    public var queuedMessages = 1_000
    /// The most bytes of them, 1 KiB to 1 GiB; 16 MiB by default. More are refused.
    public var queuedBytes = 16 * 1_024 * 1_024
    /// Where replies may go: a request whose Response Topic none of these filters matches is not answered. None by default,
    /// as whoever may publish to the source names that topic, and so could make the program publish anywhere.
    ///
    /// Topics that begin with `$` are never answered on, whatever the filters say.
    public var replyTopics: [TopicFilter] = []
    /// How many requests may wait for their outcome to be answered, 1 to 1,000,000; 10,000 by default. One more is handled
    /// and not answered.
    public var waitingReplies = 10_000
    /// Where `context.sender` and ``MQTTPushAdapter/call(_:body:timeout:)`` publish, with `{action}` and `{id}` as whole
    /// levels; `nil` (default): nothing can be sent unasked.
    ///
    /// With `{action}` the payload is the body; without, it is a standard envelope `{"action", "id", "body"}`. An id that
    /// has no place goes into the user property `id`.
    public var sendTopic: String?
    /// Below which topic the answers to calls come: a level that cannot be guessed is added. `signalbox/replies` by default.
    public var responseTopic = "signalbox/replies"
    /// How long a publish waits at most for its acknowledgement, 10 ms to 1 h; 30 s by default.
    public var publishTimeout: Duration = .seconds(30)
    /// How long a stop waits at most until what is queued is acknowledged, 0 to 1 h; 5 s by default.
    public var stopTimeout: Duration = .seconds(5)

    /// Publishing that answers nobody and has no sender, until told where.
    public init() {}
}
