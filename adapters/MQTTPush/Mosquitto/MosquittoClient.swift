import AdapterThreads
import CMosquitto
import SignalboxCore

/// One libmosquitto handle for one connection, in its external-loop mode: acknowledgements are queued while reading and
/// leave only with ``write()``.
///
/// Belongs to one thread, on which the callbacks run too, inside ``read()`` and ``write()``. Releasing it closes the
/// socket without sending anything more, which is how a batch is given back to the broker.
final class MosquittoClient {
    private let handle: OpaquePointer
    // libmosquitto holds an unretained pointer to it, and this reference keeps it until the handle is destroyed.
    private let target: PushReceiver

    // Not thread-safe and counted by the library (man libmosquitto, mosquitto_lib_init): once per process, never undone.
    private static let library: Int32 = mosquitto_lib_init()

    init(
        _ configuration: MQTTPushConfiguration,
        cleanStart: Bool,
        target: PushReceiver
    ) throws(MQTTPushError) {
        _ = MosquittoClient.library
        let userData = Unmanaged.passUnretained(target).toOpaque()
        guard let handle = mosquitto_new(configuration.clientID.text, cleanStart, userData) else {
            throw MQTTPushError(.noResources, "no memory is left for a connection", source: configuration.source)
        }
        self.handle = handle
        self.target = target
        mosquitto_threaded_set(handle, true)
        mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5)
        mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(configuration.receiveMaximum))
        mosquitto_connect_v5_callback_set(handle, mosquittoConnected)
        mosquitto_disconnect_v5_callback_set(handle, mosquittoDisconnected)
        mosquitto_subscribe_v5_callback_set(handle, mosquittoSubscribed)
        mosquitto_message_v5_callback_set(handle, mosquittoReceived)
    }

    deinit {
        mosquitto_destroy(handle)
    }

    /// Reads the secrets and hands them to the library, which sends them with CONNECT.
    func authenticate(username: Secret?, password: Secret?) throws(MQTTPushError) {
        guard let username else { return }
        let name = try MosquittoClient.read(username)
        guard let password else {
            mosquitto_username_pw_set(handle, name, nil)
            return
        }
        mosquitto_username_pw_set(handle, name, try MosquittoClient.read(password))
    }

    private static func read(_ secret: Secret) throws(MQTTPushError) -> String {
        do throws(SecretUnavailable) {
            return try secret.read()
        } catch {
            throw MQTTPushError(.secretUnavailable, error.description)
        }
    }

    /// Resolves the broker's name, connects and queues CONNECT. Blocks for as long as the system takes for both.
    ///
    /// `mosquitto_reconnect` would send no properties and so lose the session's expiry: each connection has a handle of
    /// its own instead.
    func connect(_ configuration: MQTTPushConfiguration) -> MosquittoCode {
        var properties: OpaquePointer?
        defer { mosquitto_property_free_all(&properties) }
        let expiry = UInt32(clamping: configuration.sessionExpiry.components.seconds)
        mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), expiry)
        let packet = UInt32(clamping: configuration.packetLimit)
        mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), packet)
        let code = mosquitto_connect_bind_v5(
            handle,
            configuration.broker.host,
            Int32(configuration.broker.port),
            Int32(clamping: configuration.keepalive.components.seconds),
            nil,
            properties
        )
        return MosquittoCode(rawValue: code)
    }

    /// Queues one SUBSCRIBE for all filters: QoS 1, stored messages only where the subscription is new.
    func subscribe(_ filters: [String]) -> MosquittoCode {
        let copies = filters.map { $0.utf8CString }
        let options = Int32(MQTT_SUB_OPT_SEND_RETAIN_NEW.rawValue)
        var pointers: [UnsafeMutablePointer<CChar>?] = []
        for copy in copies {
            let text = UnsafeMutablePointer<CChar>.allocate(capacity: copy.count)
            text.initialize(from: Array(copy), count: copy.count)
            pointers.append(text)
        }
        defer { for pointer in pointers { pointer?.deallocate() } }
        let code = mosquitto_subscribe_multiple(handle, nil, Int32(filters.count), &pointers, 1, options, nil)
        return MosquittoCode(rawValue: code)
    }

    /// The socket, or -1 when there is none (any more).
    var socket: Int32 { mosquitto_socket(handle) }

    /// Whether something waits to be written.
    var wantsWrite: Bool { mosquitto_want_write(handle) }

    /// Reads one packet at most, as far as it has come; never blocks.
    func read() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_loop_read(handle, 1))
    }

    /// Writes what is queued, acknowledgements included, as far as the socket takes it; never blocks.
    func write() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_loop_write(handle, 1))
    }

    /// Queues a ping when it is time for one, and finds out that one was not answered.
    func keepAlive() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_loop_misc(handle))
    }

    /// Queues DISCONNECT; the session stays for its expiry.
    func disconnect() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_disconnect_v5(handle, 0, nil))
    }

    /// Sends a PINGREQ past the library's queue, which holds acknowledgements that must not leave yet.
    ///
    /// Allowed only while nothing of that queue is partly written. The library takes the answer as one to a ping of its
    /// own.
    ///
    /// - Returns: `false` when the connection is of no more use.
    func ping() -> Bool {
        SocketWait.send([0xC0, 0x00], to: socket)
    }
}
