import AdapterSupport
import CMosquitto
import COpenSSL
import SignalboxCore

/// A libmosquitto handle for one connection, in external-loop mode: only ``write(hasConnack:)`` sends queued packets.
///
/// Belongs to one thread, on which the callbacks also run, inside ``read()``, ``write(hasConnack:)`` and
/// ``keepAlive()``. Releasing it closes the socket without sending queued packets.
final class MosquittoHandle {
    /// The C handle, for callbacks, subscriptions and publications.
    let raw: OpaquePointer
    private let settings: any BrokerSettings
    // Released after the handle, which holds a pointer into it.
    private var tls: TLSClient?

    // Not thread-safe, and counts its calls (man libmosquitto): called once per process, never undone.
    private static let library: Int32 = mosquitto_lib_init()

    /// - Parameters:
    ///   - settings: The settings of the connection.
    ///   - cleanStart: Whether the broker discards the session of the client id.
    ///   - userData: Passed to callbacks; must outlive the handle.
    /// - Throws: ``MQTTPushError`` `noResources`.
    init(_ settings: any BrokerSettings, cleanStart: Bool, userData: UnsafeMutableRawPointer) throws(MQTTPushError) {
        _ = MosquittoHandle.library
        guard let raw = mosquitto_new(settings.clientID.text, cleanStart, userData) else {
            throw MQTTPushError(.noResources, "there is not enough memory for a connection", source: settings.source)
        }
        self.raw = raw
        self.settings = settings
        mosquitto_threaded_set(raw, true)
        mosquitto_int_option(
            raw,
            MOSQ_OPT_PROTOCOL_VERSION,
            settings.version == .v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311
        )
    }

    deinit {
        mosquitto_destroy(raw)
    }

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
    /// - Parameter properties: The numeric CONNECT properties by identifier; omitted in MQTT 3.1.1.
    /// - Returns: The reason if there is no connection, otherwise `nil`.
    func connect(_ properties: [(identifier: mqtt5_property, value: UInt32)]) -> BrokerDisconnectReason? {
        do throws(MQTTPushError) {
            try prepare()
        } catch {
            return .setupFailed(error)
        }
        var list: OpaquePointer?
        defer { mosquitto_property_free_all(&list) }
        if settings.version == .v5 {
            for property in properties {
                mosquitto_property_add_int32(&list, Int32(property.identifier.rawValue), property.value)
            }
        }
        let code = MosquittoCode(
            rawValue: mosquitto_connect_bind_v5(
                raw,
                settings.broker.host,
                Int32(settings.broker.port),
                Int32(clamping: settings.keepalive.components.seconds),
                nil,
                list
            )
        )
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
        guard tls != nil else { return SocketWait.send(packet, to: socket) }
        guard let connection = mosquitto_ssl_get(raw) else { return false }
        return cssl_send(connection, packet, Int32(packet.count)) == 1
    }
}

/// A return code of libmosquitto, 0 for success.
struct MosquittoCode: Equatable {
    let rawValue: Int32

    static let success = MosquittoCode(rawValue: MOSQ_ERR_SUCCESS.rawValue)
    static let tlsFailed = MosquittoCode(rawValue: MOSQ_ERR_TLS.rawValue)
    static let connectionLost = MosquittoCode(rawValue: MOSQ_ERR_CONN_LOST.rawValue)

    var isSuccess: Bool { self == .success }

    /// The code's meaning. For a system error it depends on `errno`, so read it immediately.
    var text: String {
        let sentence = String(cString: mosquitto_strerror(rawValue))
        let end = sentence.hasSuffix(".") ? sentence.dropLast() : sentence[...]
        return end.prefix(1).lowercased() + end.dropFirst()
    }
}
