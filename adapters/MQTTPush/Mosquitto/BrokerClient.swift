import AdapterSupport
import CMosquitto
import COpenSSL
import SignalboxCore

/// What a broker did, in the order in which libmosquitto's callbacks reported it.
enum BrokerEvent {
    /// CONNACK, with the session flag.
    case connected(ReasonCode, sessionPresent: Bool)
    /// The library has noticed the end of the connection; a reason code of 128 or above is the broker's.
    case disconnected(ReasonCode)
    /// SUBACK, with at most as many codes as the broker sent.
    case subscribed(packet: Int32, [ReasonCode])
    case unsubscribed(packet: Int32)
    /// PUBACK, or at QoS 0 the write to the socket.
    case published(packet: Int32, ReasonCode)
    /// A message that a broker may not send: without a topic, or at QoS 2, which is never subscribed (MQTT 5.0, 3.8.4).
    case violation
}

/// A message as libmosquitto delivers it. Its pointers are valid only during the callback.
struct BrokerMessage {
    let topic: UnsafeRawBufferPointer
    let payload: UnsafeRawBufferPointer
    let isRetained: Bool
    /// 0 or 1.
    let qos: Int32
    /// The packet identifier at QoS 1; 0 if the message did not come from a broker.
    var packet: Int32 = 0
    /// The library's list of MQTT 5 properties.
    var properties: OpaquePointer?
}

/// The receiver of what a client must pass on at once, within the read that brought it.
protocol BrokerClientDelegate: AnyObject {
    /// The broker has accepted the connection. The same read may deliver the first message.
    func accepted(sessionPresent: Bool)
    /// A message has arrived.
    func received(_ message: BrokerMessage)
}

/// A client of a broker: a libmosquitto handle for one connection, in external-loop mode. Only ``write(hasConnack:)``
/// sends queued packets.
///
/// Belongs to one thread, on which the callbacks also run, inside ``read()``, ``write(hasConnack:)`` and
/// ``keepAlive()``. Releasing it closes the socket without sending queued packets.
final class BrokerClient {
    /// The maximum numbers and sizes that the client announces.
    struct Limits {
        var sessionExpiry: UInt32 = 0
        var packetBytes: UInt32
        var receiveMaximum: Int32?
        var sendMaximum: Int32?
    }

    /// The C handle.
    let raw: OpaquePointer
    let settings: any BrokerSettings
    private let limits: Limits
    private let delegate: any BrokerClientDelegate
    // Released after the handle, which holds a pointer into it.
    private var tls: TLSClient?
    private var events: [BrokerEvent] = []
    /// The number of callbacks so far. If a read does not change it, the socket was empty.
    private(set) var callbacks = 0

    // Not thread-safe, and counts its calls (man libmosquitto): called once per process, never undone.
    private static let library: Int32 = mosquitto_lib_init()

    /// - Parameter cleanStart: Whether the broker discards the session of the client id.
    /// - Throws: ``MQTTPushError`` `noResources`.
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
        // No callback may reach a client that is being released.
        mosquitto_user_data_set(raw, nil)
        mosquitto_destroy(raw)
    }

    /// Returns what the broker did since the last call, except what the delegate received.
    func takeEvents() -> [BrokerEvent] {
        guard !events.isEmpty else { return [] }
        defer { events = [] }
        return events
    }

    // MARK: - Connecting

    /// Sets the will, reads secrets and certificate files, and passes them to the libraries.
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
        tls = try TLSClient(settings.security, host: settings.broker.host)
        guard let tls else { return }
        // Otherwise the library requires an authority beside those in the context.
        let context = UnsafeMutableRawPointer(tls.context)
        guard mosquitto_int_option(raw, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0) == MOSQ_ERR_SUCCESS.rawValue,
            mosquitto_void_option(raw, MOSQ_OPT_SSL_CTX, context) == MOSQ_ERR_SUCCESS.rawValue
        else { throw MQTTPushError(.noResources, "this libmosquitto was built without TLS; nothing was sent") }
    }

    /// Reads secrets and files, resolves the broker's name, connects and queues CONNECT. Blocks for as long as the
    /// system needs for that. The TLS handshake happens in subsequent reads and writes.
    ///
    /// Each connection has its own handle: `mosquitto_reconnect` would send no properties and lose the session expiry.
    ///
    /// - Returns: The reason if there is no connection, otherwise `nil`.
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
            mosquitto_property_add_int32(&list, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), limits.packetBytes)
        }
        let keepalive = Int32(clamping: settings.keepalive.components.seconds)
        let (host, port) = (settings.broker.host, Int32(settings.broker.port))
        let code = MosquittoCode(rawValue: mosquitto_connect_bind_v5(raw, host, port, keepalive, nil, list))
        guard !code.isSuccess else {
            // libmosquitto does not set close-on-exec.
            _ = fcntl(socket, F_SETFD, FD_CLOEXEC)
            return nil
        }
        let reason = code.text
        if code == .tlsFailed, let failure = tls?.failure { return .tlsFailed(failure) }
        return .connectFailed(reason)
    }

    /// Whether written data reaches the broker: always without TLS, after the handshake with it.
    var isSecured: Bool { tls?.isSecured ?? true }

    /// Returns how the connection ended if no MQTT packet explains it.
    ///
    /// - Parameters:
    ///   - code: The return code of the last call.
    ///   - text: The code's text.
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

    /// Reads at most one packet, as far as it has arrived; with TLS, all that arrived with it. Never blocks.
    func read() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_loop_read(raw, 1))
    }

    /// Writes queued packets, including acknowledgements, as far as the socket accepts them. Never blocks.
    ///
    /// In TLS 1.3 a broker sends the alert for a refused client certificate after the handshake, and a failed write
    /// would lose it. Until CONNACK arrives, pending data is therefore read first.
    func write(hasConnack: Bool) -> MosquittoCode {
        if !hasConnack, tls != nil, isSecured,
            SocketWait(socket: socket, for: .readable, wake: -1, limit: .zero).isReady
        {
            let code = read()
            guard code.isSuccess, socket >= 0 else { return code }
        }
        return MosquittoCode(rawValue: mosquitto_loop_write(raw, 1))
    }

    /// Queues a ping if one is due, and detects an unanswered one.
    func keepAlive() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_loop_misc(raw))
    }

    /// Queues DISCONNECT. The broker keeps the session until it expires and does not publish the will.
    func disconnect() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_disconnect_v5(raw, 0, nil))
    }

    /// Sends a PINGREQ past the library's queue, which may hold acknowledgements that must not be sent yet.
    ///
    /// Allowed only while no packet of that queue is partly written. The library accepts the answer as its own.
    ///
    /// - Returns: `false` if the connection is unusable.
    func ping() -> Bool { sendPastQueue([0xC0, 0x00]) }

    /// Sends DISCONNECT past the library's queue, which is never written again, so that the broker does not publish the
    /// will. Allowed under the same condition as ``ping()``.
    func disconnectPastQueue() { _ = sendPastQueue([0xE0, 0x00]) }

    private func sendPastQueue(_ packet: [UInt8]) -> Bool {
        guard tls != nil else { return SocketWait.sendAtOnce(packet, to: socket) }
        guard let connection = mosquitto_ssl_get(raw) else { return false }
        return cssl_send(connection, packet, Int32(packet.count)) == 1
    }

    // MARK: - Callbacks

    // libmosquitto calls these synchronously on the thread that calls `read`, `write` or `keepAlive`. The user data is
    // the client, which destroys the handle. All pointers are valid only during the call. Set in a static function, so
    // that the closures inherit no isolation.
    private static func setCallbacks(of raw: OpaquePointer) {
        mosquitto_connect_v5_callback_set(raw) { _, client, code, flags, _ in
            guard let client = BrokerClient.of(client) else { return }
            let isV5 = client.settings.version == .v5
            let reason = isV5 ? ReasonCode(rawValue: code) : ReasonCode(returnCode: code)
            // At once, because the same read may deliver the first message.
            if !reason.isFailure { client.delegate.accepted(sessionPresent: flags & 1 != 0) }
            client.add(.connected(reason, sessionPresent: flags & 1 != 0))
        }
        mosquitto_disconnect_v5_callback_set(raw) { _, client, code, _ in
            BrokerClient.of(client)?.add(.disconnected(ReasonCode(rawValue: code)))
        }
        mosquitto_subscribe_v5_callback_set(raw) { _, client, packet, count, granted, _ in
            // The broker's count is untrusted: no packet has more filters than a connection has topics.
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
