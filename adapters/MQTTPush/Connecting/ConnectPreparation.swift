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
        destination = try ConnectPreparation.destination(of: settings)
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
        request.will = settings.will.map { will in
            var packet = ConnectRequest.Will(topic: will.topic, payload: will.payload)
            packet.qos = will.qos
            packet.retain = will.retain
            return packet
        }
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

    private static func destination(of settings: any BrokerSettings) throws(MQTTPushError) -> Destination {
        let kind =
            settings.unixSocket.map { Destination.Kind.unix(path: $0, host: settings.broker.host) }
            ?? .tcp(host: settings.broker.host, port: UInt16(clamping: settings.broker.port))
        guard let tls = tls(of: settings.security) else { return Destination(kind) }
        do throws(TLSProblem) {
            return Destination(kind, tls: try TLSContext(tls))
        } catch {
            throw MQTTPushError(error, shortKeyRemedy: settings.text(of: .shortKey))
                ?? MQTTPushError(.tlsFailed, "TLS cannot be used")
        }
    }

    private static func tls(of security: MQTTSecurity) -> TLSSettings? {
        switch security {
        case .none: return nil
        case .preSharedKey(let identity, let key, let allowsShort):
            return TLSSettings(.preSharedKey(identity: identity, key: key, allowsShort: allowsShort))
        case .tls(let trust, let identity):
            let identity = identity.map {
                TLSSettings.Identity(certificateFile: $0.certificateFile, keyFile: $0.keyFile)
            }
            return TLSSettings(.certificates(TLSSettings.Trust(trust), identity: identity))
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
