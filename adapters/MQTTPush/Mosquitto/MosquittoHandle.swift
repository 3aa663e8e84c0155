import AdapterThreads
import CMosquitto
import COpenSSL
import SignalboxCore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// One libmosquitto handle for one connection, in its external-loop mode: what is queued leaves only with ``write()``.
///
/// Belongs to one thread, on which the callbacks run too, inside ``read()``, ``write()`` and ``keepAlive()``. Releasing it
/// closes the socket without sending anything that is queued.
final class MosquittoHandle {
    /// For callbacks, subscriptions and publications.
    let raw: OpaquePointer
    private let login: BrokerLogin
    // Released after the handle, which has a pointer into it.
    private var tls: TLSClient?

    // Not thread-safe and counted by the library (man libmosquitto, mosquitto_lib_init): once per process, never undone.
    private static let library: Int32 = mosquitto_lib_init()

    /// - Parameters:
    ///   - login: what the client says of itself.
    ///   - cleanStart: whether the broker forgets what it kept for the client id.
    ///   - userData: given to callbacks; must live as long as the handle.
    /// - Throws: ``MQTTPushError`` `noResources`.
    init(_ login: BrokerLogin, cleanStart: Bool, userData: UnsafeMutableRawPointer) throws(MQTTPushError) {
        _ = MosquittoHandle.library
        guard let raw = mosquitto_new(login.clientID.text, cleanStart, userData) else {
            throw MQTTPushError(.noResources, "no memory is left for a connection", source: login.source)
        }
        self.raw = raw
        self.login = login
        mosquitto_threaded_set(raw, true)
        mosquitto_int_option(
            raw,
            MOSQ_OPT_PROTOCOL_VERSION,
            login.version == .v5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311
        )
    }

    deinit {
        mosquitto_destroy(raw)
    }

    /// Reads secrets and the files of certificates, and hands them to the libraries.
    ///
    /// - Throws: ``MQTTPushError`` `secretUnavailable`, `unusableFile` or `noResources`.
    private func prepare() throws(MQTTPushError) {
        if let will = login.will {
            let code = mosquitto_will_set_v5(
                raw,
                will.topic,
                Int32(will.payload.count),
                will.payload,
                Int32(will.quality.rawValue),
                will.retain,
                nil
            )
            guard code == MOSQ_ERR_SUCCESS.rawValue else {
                throw MQTTPushError(.invalidConfiguration, "the will: \(MosquittoCode(rawValue: code).text)")
            }
        }
        if let username = login.username {
            let name = try MosquittoHandle.read(username)
            let code = mosquitto_username_pw_set(raw, name, try login.password.map(MosquittoHandle.read))
            guard code == MOSQ_ERR_SUCCESS.rawValue else {
                throw MQTTPushError(.secretUnavailable, "the \(username) is no user name: it has control characters")
            }
        }
        tls = try TLSClient(login.security, host: login.broker.host)
        guard let tls else { return }
        // Otherwise the library wants an authority of its own beside ours.
        let context = UnsafeMutableRawPointer(tls.context)
        guard mosquitto_int_option(raw, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0) == MOSQ_ERR_SUCCESS.rawValue,
            mosquitto_void_option(raw, MOSQ_OPT_SSL_CTX, context) == MOSQ_ERR_SUCCESS.rawValue
        else { throw MQTTPushError(.noResources, "this libmosquitto was built without TLS, so nothing is sent") }
    }

    private static func read(_ secret: Secret) throws(MQTTPushError) -> String {
        do throws(SecretUnavailable) {
            return try secret.read()
        } catch {
            throw MQTTPushError(.secretUnavailable, error.description)
        }
    }

    /// Reads secrets and files, resolves the broker's name, connects and queues CONNECT. Blocks for as long as the system
    /// takes for all that; TLS begins with what is read and written afterwards.
    ///
    /// `mosquitto_reconnect` would send no properties and so lose the session's expiry: each connection has a handle of
    /// its own instead.
    ///
    /// - Parameter properties: those of CONNECT that are numbers, by their identifiers; left out in MQTT 3.1.1.
    /// - Returns: how it ended, when there is no connection.
    func connect(_ properties: [(identifier: mqtt5_property, value: UInt32)]) -> ConnectionEnd? {
        do throws(MQTTPushError) {
            try prepare()
        } catch {
            return .unprepared(error)
        }
        var list: OpaquePointer?
        defer { mosquitto_property_free_all(&list) }
        if login.version == .v5 {
            for property in properties {
                mosquitto_property_add_int32(&list, Int32(property.identifier.rawValue), property.value)
            }
        }
        let code = MosquittoCode(
            rawValue: mosquitto_connect_bind_v5(
                raw,
                login.broker.host,
                Int32(login.broker.port),
                Int32(clamping: login.keepalive.components.seconds),
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
        if code == .tlsFailed, let fault = tls?.fault { return .notSecured(fault) }
        return .notConnected(reason)
    }

    /// Whether what is written goes to the broker: at once without TLS, after its handshake with it.
    var isSecured: Bool { tls?.isSecured ?? true }

    /// How the connection ended where MQTT has nothing to say about it.
    ///
    /// - Parameters:
    ///   - code: what the last call returned.
    ///   - reason: the code's text.
    ///   - isGreeted: whether the broker took the connection.
    /// - Returns: `nil` when it did not end.
    func end(_ code: MosquittoCode, _ reason: String, isGreeted: Bool) -> ConnectionEnd? {
        guard !code.isSuccess || socket < 0 else { return nil }
        let reason = code.isSuccess ? "it was closed" : reason
        guard !isGreeted, let tls else { return .lost(reason) }
        if let fault = tls.fault { return .notSecured(fault) }
        return .lost(tls.advice.map { "\(reason), before the broker had answered. \($0)" } ?? reason)
    }

    /// The socket, or -1 when there is none (any more).
    var socket: Int32 { mosquitto_socket(raw) }

    /// Whether something waits to be written.
    var wantsWrite: Bool { mosquitto_want_write(raw) }

    /// Reads one packet at most, as far as it has come; with TLS all that came with it. Never blocks.
    func read() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_loop_read(raw, 1))
    }

    /// Writes what is queued, acknowledgements included, as far as the socket takes it; never blocks.
    ///
    /// In TLS 1.3 a broker that refuses our certificate says so after the handshake, and a write that fails loses that: until
    /// the broker has greeted us, what came is read first.
    func write(isGreeted: Bool) -> MosquittoCode {
        if !isGreeted, tls != nil, isSecured,
            SocketWait(socket: socket, for: .readable, wake: -1, limit: .zero).isReady
        {
            let code = read()
            guard code.isSuccess, socket >= 0 else { return code }
        }
        return MosquittoCode(rawValue: mosquitto_loop_write(raw, 1))
    }

    /// Queues a ping when it is time for one, and finds out that one was not answered.
    func keepAlive() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_loop_misc(raw))
    }

    /// Queues DISCONNECT; the session stays for its expiry, and the will is not published.
    func disconnect() -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_disconnect_v5(raw, 0, nil))
    }

    /// Sends a PINGREQ past the library's queue, which may hold acknowledgements that must not leave yet.
    ///
    /// Allowed only while nothing of that queue is partly written. The library takes the answer as one to a ping of its
    /// own.
    ///
    /// - Returns: `false` when the connection is of no more use.
    func ping() -> Bool { sendPastQueue([0xC0, 0x00]) }

    /// Sends DISCONNECT past the library's queue, which is not written any more: without it the broker would publish the will.
    /// Allowed whenever ``ping()`` is.
    func disconnectPastQueue() { _ = sendPastQueue([0xE0, 0x00]) }

    private func sendPastQueue(_ packet: [UInt8]) -> Bool {
        guard tls != nil else { return SocketWait.send(packet, to: socket) }
        guard let connection = mosquitto_ssl_get(raw) else { return false }
        return cssl_send(connection, packet, Int32(packet.count)) == 1
    }
}

/// What any client of a broker is told before it connects: as whom, where, and how protected.
struct BrokerLogin {
    let source: SourceName
    let broker: MQTTBroker
    let clientID: MQTTClientID
    let version: MQTTVersion
    let security: MQTTSecurity
    let username: Secret?
    let password: Secret?
    let will: MQTTWill?
    let keepalive: Duration
}

extension BrokerLogin {
    /// That of the receiving client.
    init(_ configuration: MQTTPushConfiguration) {
        self.init(
            source: configuration.source,
            broker: configuration.broker,
            clientID: configuration.clientID,
            version: configuration.version,
            security: configuration.security,
            username: configuration.username,
            password: configuration.password,
            will: configuration.will,
            keepalive: configuration.keepalive
        )
    }
}

/// A return code of libmosquitto, 0 for success.
struct MosquittoCode: Equatable {
    let rawValue: Int32

    static let success = MosquittoCode(rawValue: MOSQ_ERR_SUCCESS.rawValue)
    static let tlsFailed = MosquittoCode(rawValue: MOSQ_ERR_TLS.rawValue)
    static let connectionLost = MosquittoCode(rawValue: MOSQ_ERR_CONN_LOST.rawValue)

    var isSuccess: Bool { self == .success }

    /// What the code means; for a system error, what `errno` says now, so ask at once.
    var text: String {
        let sentence = String(cString: mosquitto_strerror(rawValue))
        let end = sentence.hasSuffix(".") ? sentence.dropLast() : sentence[...]
        return end.prefix(1).lowercased() + end.dropFirst()
    }
}
