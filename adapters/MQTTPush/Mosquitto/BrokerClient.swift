import AdapterSupport
import CMosquitto
import COpenSSL
import SignalboxCore

/// Something that a broker did, as reported by one of libmosquitto's callbacks.
enum BrokerEvent {
    /// CONNACK, with the session flag.
    case connected(ReasonCode, sessionPresent: Bool)
    /// The end of the connection, as noticed by libmosquitto. A reason code of 128 or above comes from the broker.
    case disconnected(ReasonCode)
    /// SUBACK, with at most as many reason codes as the broker sent.
    case subscribed(packet: Int32, [ReasonCode])
    case unsubscribed(packet: Int32)
    /// PUBACK or, at QoS 0, confirmation that the message was written to the socket.
    case published(packet: Int32, ReasonCode)
    /// A message that a broker must not send, because it has no topic or has QoS 2, which is never requested by a
    /// subscription (MQTT 5.0, 3.8.4).
    case violation
}

/// A message as delivered by libmosquitto. Its pointers are valid only during the callback.
struct BrokerMessage {
    let topic: UnsafeRawBufferPointer
    let payload: UnsafeRawBufferPointer
    let isRetained: Bool
    /// 0 or 1.
    let qos: Int32
    /// The packet identifier of a QoS 1 message, or 0 if the message did not come from a broker.
    var packet: Int32 = 0
    /// libmosquitto's list of the message's MQTT 5 properties.
    var properties: OpaquePointer?
}

/// Receives the events that a client must pass on immediately, during the read in which they arrive.
protocol BrokerClientDelegate: AnyObject {
    /// Called when the broker has accepted the connection. The same read may also deliver the first message.
    func accepted(sessionPresent: Bool)
    /// Called when a message has arrived.
    func received(_ message: BrokerMessage)
}

/// A client of a broker, based on a libmosquitto handle for a single connection. The handle is in external-loop mode,
/// so queued packets are sent only by ``write(hasConnack:)``.
///
/// Only one thread may use a client. Callbacks run on this thread as well, during ``read()``, ``write(hasConnack:)``
/// and ``keepAlive()``. When the client is released, it closes the socket without sending queued packets.
final class BrokerClient {
    /// The limits that a client announces to the broker or enforces itself.
    struct Limits {
        var sessionExpiry: UInt32 = 0
        /// `nil` for no limit but that of MQTT.
        var packetBytes: UInt32?
        var receiveMaximum: Int32?
        var sendMaximum: Int32?
    }

    /// The C handle.
    let raw: OpaquePointer
    let settings: any BrokerSettings
    private let limits: Limits
    private let delegate: any BrokerClientDelegate
    // The handle points into this object, so the handle must be released first.
    private var tls: TLSClient?
    private var events: [BrokerEvent] = []
    /// The number of callbacks so far. If a read does not change this number, the socket was empty.
    private(set) var callbacks = 0

    // `mosquitto_lib_init` is not thread-safe and counts its calls (man libmosquitto), so it is called only once per
    // process and never undone.
    private static let library: Int32 = mosquitto_lib_init()

    /// - Parameter cleanStart: Whether the broker should discard the client id's session.
    /// - Throws: ``MQTTPushError`` `noResources` if there is not enough memory.
    init(
        _ settings: any BrokerSettings,
        limits: Limits,
        cleanStart: Bool,
        delegate: any BrokerClientDelegate
    ) throws(MQTTPushError) {
        _ = BrokerClient.library
        guard let raw = mosquitto_new(settings.clientID.text, cleanStart, nil) else {
            throw MQTTPushError(.noResources, "there is not enough memory for a connection", source: settings.source)
        }
        self.raw = raw
        self.settings = settings
        self.limits = limits
        self.delegate = delegate
        mosquitto_user_data_set(raw, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_threaded_set(raw, true)
        let version = settings.version == .v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311
        mosquitto_int_option(raw, MOSQ_OPT_PROTOCOL_VERSION, version)
        if let maximum = limits.receiveMaximum { mosquitto_int_option(raw, MOSQ_OPT_RECEIVE_MAXIMUM, maximum) }
        if let maximum = limits.sendMaximum { mosquitto_int_option(raw, MOSQ_OPT_SEND_MAXIMUM, maximum) }
        BrokerClient.setCallbacks(of: raw)
    }

    deinit {
        // Without user data, callbacks cannot reach a client that is being released.
        mosquitto_user_data_set(raw, nil)
        mosquitto_destroy(raw)
    }

    /// Returns the events since the last call, except for messages, which the delegate receives immediately.
    func takeEvents() -> [BrokerEvent] {
        guard !events.isEmpty else { return [] }
        defer { events = [] }
        return events
    }

    // MARK: - Connecting

    /// Sets the will, reads the secrets and certificate files, and passes them to the libraries.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration`, `secretUnavailable`, `unusableFile` or `noResources`.
    private func prepare() throws(MQTTPushError) {
        if let will = settings.will {
            let code = mosquitto_will_set_v5(
                raw,
                will.topic,
                Int32(will.payload.count),
                will.payload,
                Int32(will.qos.rawValue),
                will.retain,
                nil
            )
            guard code == MOSQ_ERR_SUCCESS.rawValue else {
                throw .invalid("the will: \(MosquittoCode(rawValue: code).text)")
            }
        }
        if let username = settings.username {
            let name = try MQTTPushError.reading(username)
            let code = mosquitto_username_pw_set(raw, name, try settings.password.map(MQTTPushError.reading))
            guard code == MOSQ_ERR_SUCCESS.rawValue else {
                throw MQTTPushError(.secretUnavailable, "the user name has control characters: \(username)")
            }
        }
        tls = try TLSClient(
            settings.security,
            host: settings.broker.host,
            shortKeyRemedy: settings.text(of: .shortKey)
        )
        guard let tls else { return }
        // With its defaults, the library would require a certificate authority in addition to those in the context.
        let context = UnsafeMutableRawPointer(tls.context)
        guard mosquitto_int_option(raw, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0) == MOSQ_ERR_SUCCESS.rawValue,
            mosquitto_void_option(raw, MOSQ_OPT_SSL_CTX, context) == MOSQ_ERR_SUCCESS.rawValue
        else { throw MQTTPushError(.noResources, "this libmosquitto was built without TLS; nothing was sent") }
    }

    /// Reads secrets and files, resolves the broker's name, connects and queues CONNECT.
    ///
    /// This method blocks until the system has completed these steps. The TLS handshake happens during later reads and
    /// writes.
    ///
    /// Each connection uses a new handle, because `mosquitto_reconnect` would send no properties and the session expiry
    /// would be lost.
    ///
    /// - Returns: The reason why there is no connection, or `nil` if there is one.
    func connect() -> BrokerDisconnectReason? {
        do throws(MQTTPushError) {
            try prepare()
        } catch {
            return .setupFailed(error)
        }
        var list: OpaquePointer?
        defer { mosquitto_property_free_all(&list) }
        if settings.version == .v5 {
            let expiry = Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue)
            mosquitto_property_add_int32(&list, expiry, limits.sessionExpiry)
            if let maximum = limits.packetBytes {
                mosquitto_property_add_int32(&list, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), maximum)
            }
        }
        let keepalive = Int32(clamping: settings.keepalive.components.seconds)
        // With port 0, the library takes the host as the path of a Unix socket.
        let port = settings.unixSocket == nil ? Int32(settings.broker.port) : 0
        let host = settings.unixSocket ?? settings.broker.host
        let code = MosquittoCode(rawValue: mosquitto_connect_bind_v5(raw, host, port, keepalive, nil, list))
        guard !code.isSuccess else {
            // libmosquitto does not set close-on-exec.
            _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
            return nil
        }
        let reason = code.text
        if code == .tlsFailed, let failure = tls?.failure { return .tlsFailed(failure) }
        return .connectFailed(settings.unixSocket.map { "\(reason), Unix socket \($0)" } ?? reason)
    }

    /// Whether written data reaches the broker, which with TLS happens only after the handshake.
    var isSecured: Bool { tls?.isSecured ?? true }

    /// Returns how the connection ended if no MQTT packet explains it.
    ///
    /// - Parameters:
    ///   - code: The return code of the last call.
    ///   - text: The description of that code.
    ///   - hasConnack: Whether CONNACK has arrived.
    /// - Returns: `nil` if the connection has not ended.
    func disconnectReason(_ code: MosquittoCode, _ text: String, hasConnack: Bool) -> BrokerDisconnectReason? {
        guard !code.isSuccess || socket < 0 else { return nil }
        let text = code.isSuccess || code == .connectionLost ? "closed or reset by peer" : text
        guard !hasConnack, let tls else { return .lost(text) }
        if let failure = tls.failure { return .tlsFailed(failure) }
        return .lost(tls.advice.map { "\(text) before CONNACK; \($0)" } ?? text)
    }

    // MARK: - Input and output

    /// The socket, or -1 while disconnected.
    var socket: Int32 { mosquitto_socket(raw) }

    /// Whether data is waiting to be written.
    var wantsWrite: Bool { mosquitto_want_write(raw) }

    /// Reads as much of the next packet as has arrived, without blocking. With TLS, packets that arrived together with
    /// that packet are read as well.
    func read() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_loop_read(raw, 1))
    }

    /// Writes as many queued packets as the socket accepts, including acknowledgements, without blocking.
    ///
    /// In TLS 1.3, a broker that refuses the client certificate sends an alert after the handshake, and a failed write
    /// would lose that alert. Until CONNACK arrives, this method therefore reads pending data before it writes.
    func write(hasConnack: Bool) -> MosquittoCode {
        if !hasConnack, tls != nil, isSecured,
            SocketWait(socket: socket, for: .readable, wake: -1, limit: .zero).isReady
        {
            let code = read()
            guard code.isSuccess, socket >= 0 else { return code }
        }
        return MosquittoCode(rawValue: mosquitto_loop_write(raw, 1))
    }

    /// Queues a ping if one is due, and detects whether a previous ping was not answered.
    func keepAlive() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_loop_misc(raw))
    }

    /// Queues a DISCONNECT packet, after which the broker keeps the session until it expires and does not publish the
    /// will.
    func disconnect() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_disconnect_v5(raw, 0, nil))
    }

    /// Sends a PINGREQ that bypasses the library's queue, which may contain acknowledgements that must not be sent yet.
    ///
    /// Call this method only while no queued packet is partly written. The library handles the answer as if it had sent
    /// the ping itself.
    ///
    /// - Returns: `false` if the connection is unusable.
    func ping() -> Bool { sendPastQueue([0xC0, 0x00]) }

    /// Sends a DISCONNECT that bypasses the library's queue, so that the broker does not publish the will.
    ///
    /// The same condition as for ``ping()`` applies. Do not write queued packets afterwards.
    func disconnectPastQueue() { _ = sendPastQueue([0xE0, 0x00]) }

    func sendPastQueue(_ packet: [UInt8]) -> Bool {
        guard tls != nil else { return SocketWait.sendAtOnce(packet, to: socket) }
        guard let connection = mosquitto_ssl_get(raw) else { return false }
        return cssl_send(connection, packet, Int32(packet.count)) == 1
    }

    // MARK: - Callbacks

    // libmosquitto calls these closures synchronously, on the thread that calls `read`, `write` or `keepAlive`. The
    // user data is the client, which is always alive during a call because only the client destroys the handle. All
    // pointers are valid only during the call. The closures are set in a static function, so that they do not inherit
    // any isolation.
    private static func setCallbacks(of raw: OpaquePointer) {
        mosquitto_connect_v5_callback_set(raw) { _, client, code, flags, _ in
            guard let client = BrokerClient.of(client) else { return }
            let isV5 = client.settings.version == .v5
            let reason = isV5 ? ReasonCode(rawValue: code) : ReasonCode(returnCode: code)
            // The delegate must be informed at once, because the same read may deliver the first message.
            if !reason.isFailure { client.delegate.accepted(sessionPresent: flags & 1 != 0) }
            client.add(.connected(reason, sessionPresent: flags & 1 != 0))
        }
        mosquitto_disconnect_v5_callback_set(raw) { _, client, code, _ in
            BrokerClient.of(client)?.add(.disconnected(ReasonCode(rawValue: code)))
        }
        mosquitto_subscribe_v5_callback_set(raw) { _, client, packet, count, granted, _ in
            // The count comes from the broker and is untrusted. No packet has more filters than a connection has
            // topics.
            let bounded = granted == nil ? 0 : min(max(0, Int(count)), SubscriptionManager.bound)
            let codes = UnsafeBufferPointer(start: granted, count: bounded)
            BrokerClient.of(client)?.add(.subscribed(packet: packet, codes.map { ReasonCode(rawValue: $0) }))
        }
        mosquitto_unsubscribe_v5_callback_set(raw) { _, client, packet, _ in
            BrokerClient.of(client)?.add(.unsubscribed(packet: packet))
        }
        mosquitto_publish_v5_callback_set(raw) { _, client, packet, code, _ in
            BrokerClient.of(client)?.add(.published(packet: packet, ReasonCode(rawValue: code)))
        }
        mosquitto_message_v5_callback_set(raw) { _, client, message, properties in
            if let message { BrokerClient.of(client)?.received(message.pointee, properties) }
        }
    }

    private static func of(_ userData: UnsafeMutableRawPointer?) -> BrokerClient? {
        userData.map { Unmanaged<BrokerClient>.fromOpaque($0).takeUnretainedValue() }
    }

    private func add(_ event: BrokerEvent) {
        callbacks += 1
        events.append(event)
    }

    private func received(_ message: mosquitto_message, _ properties: OpaquePointer?) {
        guard let topic = message.topic, message.qos < 2 else { return add(.violation) }
        callbacks += 1
        let length = message.payload == nil ? 0 : max(0, Int(message.payloadlen))
        delegate.received(
            BrokerMessage(
                topic: UnsafeRawBufferPointer(start: topic, count: strlen(topic)),
                payload: UnsafeRawBufferPointer(start: message.payload, count: length),
                isRetained: message.retain,
                qos: message.qos,
                packet: message.mid,
                properties: properties
            )
        )
    }
}
