#if MQTT
import SecureTransport
import SignalboxCore

/// What an attempt to connect needs from the settings: the way to the broker and the CONNECT.
struct ConnectPreparation {
    let destination: Destination
    var request: ConnectRequest

    /// Reads the secrets and the certificates, which can block.
    ///
    /// - Throws: ``MQTTPushError`` `secretUnavailable`, `unusableFile` or `noResources`.
    init(_ settings: any BrokerSettings, limits: ClientLimits, cleanStart: Bool) throws(MQTTPushError) {
        destination = try Destination(for: settings)
        request = ConnectRequest(
            version: settings.version,
            clientID: settings.clientID.text,
            cleanStart: cleanStart,
            keepalive: UInt16(clamping: settings.keepalive.components.seconds),
            packetBytes: limits.announcesPacketBytes ? limits.packetBytes : UInt32(PacketSize.largest)
        )
        request.sessionExpiry = limits.sessionExpiry
        request.receiveMaximum = limits.receiveMaximum
        request.topicAliasMaximum = settings.version == .v5 ? limits.topicAliases : 0
        request.will = settings.will?.packet
        request.userProperties = settings.connectProperties
        guard let username = settings.username else { return }
        let name = try MQTTPushError.reading(username)
        guard !name.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw MQTTPushError(.secretUnavailable, "the user name has control characters: \(username)")
        }
        request.userName = name
        request.password = try settings.password.map { secret throws(MQTTPushError) in
            Array(try MQTTPushError.reading(secret).utf8)
        }
    }

    /// Overwrites the password.
    mutating func forgetPassword() {
        guard let count = request.password?.count else { return }
        request.password?.withUnsafeMutableBytes { bytes in
            for index in 0..<count { bytes[index] = 0 }
        }
        request.password = nil
    }
}

extension Destination {
    /// The way to the settings' broker.
    ///
    /// - Throws: ``MQTTPushError`` `secretUnavailable`, `unusableFile` or `noResources`.
    fileprivate init(for settings: any BrokerSettings) throws(MQTTPushError) {
        let broker = settings.broker
        switch broker.transport {
        case .unixSocket(let path): self.init(.unix(path: path))
        case .tcp, .webSocket:
            self.init(
                .tcp(host: broker.host, port: UInt16(clamping: broker.port)),
                tls: try Destination.tls(for: settings),
                webSocket: try Destination.webSocket(for: settings),
                proxy: settings.proxy?.server,
                proxyLogin: try settings.proxy?.login()
            )
        }
    }

    private static func webSocket(for settings: any BrokerSettings) throws(MQTTPushError) -> WebSocketUpgrade? {
        guard case .webSocket(let path) = settings.broker.transport else { return nil }
        do throws(UpgradeProblem) {
            // A client must offer this subprotocol, also for MQTT 3.1.1 (MQTT 5.0, 6.0.0-3).
            return try WebSocketUpgrade(
                WebSocketRequest(
                    path: path,
                    host: settings.broker.webSocketAuthority,
                    subprotocols: ["mqtt"],
                    headers: settings.headers.map(\.field)
                )
            )
        } catch {
            let code: MQTTPushError.Code =
                switch error {
                case .secretUnavailable, .unusableRequest: .secretUnavailable
                default: .noResources
                }
            throw MQTTPushError(code, error.reason)
        }
    }

    private static func tls(for settings: any BrokerSettings) throws(MQTTPushError) -> TLSContext? {
        guard let tls = TLSSettings(settings) else { return nil }
        do throws(TLSProblem) {
            return try TLSContext(tls)
        } catch {
            throw MQTTPushError(error, shortKeyRemedy: settings.text(of: .shortKey))
                ?? MQTTPushError(.tlsFailed, "TLS cannot be used")
        }
    }
}

extension TLSSettings {
    /// Returns `nil` if the settings are those of a connection without TLS.
    fileprivate init?(_ settings: any BrokerSettings) {
        // Both names are registered for ALPN (IANA).
        let protocols = settings.alpn ?? (settings.broker.isWebSocket ? ["http/1.1"] : ["mqtt"])
        switch settings.security {
        case .none: return nil
        case .preSharedKey(let identity, let key, let allowsShort):
            self.init(.preSharedKey(identity: identity, key: key, allowsShort: allowsShort), protocols: protocols)
        case .tls(let trust, let identity):
            let identity = identity.map {
                TLSSettings.Identity(certificateFile: $0.certificateFile, keyFile: $0.keyFile)
            }
            self.init(.certificates(TLSSettings.Trust(trust), identity: identity), protocols: protocols)
        }
    }
}

extension TLSSettings.Trust {
    fileprivate init(_ trust: MQTTServerTrust) {
        switch trust {
        case .system: self = .system
        case .authority(let file): self = .authority(file: file)
        case .insecure: self = .insecure
        }
    }
}
#endif
