#if MQTT
/// What a connection to a broker is used for: receiving, publishing or unsubscribing.
///
/// The connection calls all methods on its own thread.
protocol BrokerRole: AnyObject {
    /// Whether the role takes further packets for now. While it does not, the connection leaves received bytes unread, so
    /// that the broker stops sending.
    var mayReceive: Bool { get }
    /// Whether an answer of the broker is missing, so that ``isOverdue(at:)`` must be asked from time to time.
    var expectsAnswer: Bool { get }
    /// When the connection must take a turn although nothing happens, or `nil`.
    var nextTurn: ContinuousClock.Instant? { get }

    /// Whether a normal end of the connection ends the session, too (MQTT 5.0, 3.14.2.2.2).
    var endsSession: Bool { get }

    /// Starts the role's work when the broker has accepted the connection.
    func opened(_ connection: BrokerConnection, _ connack: Connack) -> BrokerDisconnectReason?
    /// Takes a message. Its pointers are valid only during the call, in which the role must not use the connection.
    ///
    /// - Returns: The rule that the broker has broken, or `nil`.
    func received(_ message: BrokerMessage) -> PacketViolation.Rule?
    /// Takes the answer to a SUBSCRIBE, UNSUBSCRIBE or PUBLISH. The role must not use the connection in this method.
    func answered(_ packet: InboundPacket)
    /// Does what the role has to do after the reads of a turn, such as submitting messages and adding packets to the
    /// output. The connection calls it once in each turn while it is open.
    ///
    /// - Returns: How the connection ends, once all packets before are in the output, or `nil` if it continues.
    func prepare(_ connection: BrokerConnection) -> BrokerDisconnectReason?
    /// Continues the graceful end of the open connection. When the thread has to stop, the connection calls this method in
    /// each turn.
    ///
    /// - Returns: How the connection ends, or `nil` if it continues with another turn.
    func stop(_ connection: BrokerConnection) -> BrokerDisconnectReason?
    /// Called when all of the output has been written.
    func written()
    /// Returns whether an answer from the broker is overdue.
    func isOverdue(at now: ContinuousClock.Instant) -> Bool
    /// Prepares for a wait. If the result is `true`, the role wakes the thread when it has work.
    ///
    /// - Parameter isBlocked: Whether the connection waits until the role may receive.
    func beginWaiting(isBlocked: Bool) -> Bool
    func endWaiting()
    /// Called if the broker has read everything up to the DISCONNECT.
    func farewellWasRead()
    /// Handles the end of the connection, which no longer reads or writes. Returns when nothing of the connection is in
    /// progress any more.
    ///
    /// - Returns: Whether the connection was useful. If so, the back-off starts again from its shortest wait.
    func ended(_ reason: BrokerDisconnectReason) -> Bool
}

extension BrokerRole {
    var nextTurn: ContinuousClock.Instant? { nil }
    var endsSession: Bool { false }

    func farewellWasRead() {}
    func written() {}
    func beginWaiting(isBlocked: Bool) -> Bool { true }
    func endWaiting() {}
}

/// A message from a broker. Its pointers are valid only while the role receives it.
struct BrokerMessage {
    let topic: UnsafeRawBufferPointer
    /// The payload, or its beginning if the message is larger than the packet limit.
    let payload: UnsafeRawBufferPointer
    let isRetained: Bool
    /// 0 or 1.
    let qos: Int32
    /// The packet identifier of a QoS 1 message, or 0.
    var packet: UInt16 = 0
    /// The identifier of the subscription that the message belongs to, or 0 if it has none.
    var subscription: UInt32 = 0
    /// The MQTT 5 properties without their length. They are empty if the publisher has set none.
    var properties = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The length of the whole payload.
    var length: Int
    /// Whether the broker marks the message as sent before.
    var isDuplicate = false

    init(topic: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, isRetained: Bool, qos: Int32) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
        self.qos = qos
        length = payload.count
    }
}

/// What a client announces to the broker in CONNECT.
struct ClientLimits {
    var sessionExpiry: UInt32 = 0
    /// The largest packet that the client accepts, in bytes.
    var packetBytes: UInt32
    /// Whether the broker learns that limit, and discards larger messages.
    var announcesPacketBytes = true
    var receiveMaximum: UInt16
    /// The number of aliases that the broker may use for topics.
    var topicAliases = InboundAliases.most
}
#endif
