public import SignalboxCore

/// The security of a broker connection. An `mqtts://` broker requires ``tls(_:identity:)`` or
/// ``preSharedKey(identity:key:allowsShort:)``; an `mqtt://` broker requires ``none``.
public enum MQTTSecurity: Sendable, Hashable {
    /// No encryption, for a trusted network.
    case none
    /// TLS 1.2 or later with certificates: the broker's, verified according to ``MQTTServerTrust``, and a client
    /// certificate if the broker requires one.
    case tls(MQTTServerTrust = .system, identity: MQTTIdentity? = nil)
    /// TLS with a key that both sides share, without certificates. The identity, 1 to 255 bytes, selects the key at the
    /// broker. The key has an even number of hexadecimal digits, 32 to 512, and is read at each connection. A shorter
    /// key can be guessed from a recorded handshake and requires `allowsShort`.
    case preSharedKey(identity: String, key: Secret, allowsShort: Bool = false)

    /// Whether the connection is protected against eavesdropping and tampering.
    var isVerified: Bool {
        switch self {
        case .none, .tls(.insecure, _): false
        case .tls, .preSharedKey: true
        }
    }

    func validate(for broker: MQTTBroker) throws(MQTTPushError) {
        switch self {
        case .none:
            guard !broker.usesTLS else {
                throw .invalid("a broker of mqtts:// needs TLS or a pre-shared key")
            }
            return
        case .tls(let trust, let identity):
            if case .authority(let file) = trust, file.isEmpty {
                throw .invalid("the file name of the broker's authority is empty")
            }
            if let identity, identity.certificateFile.isEmpty || identity.keyFile.isEmpty {
                throw .invalid("a client certificate needs two files: certificate and key")
            }
        case .preSharedKey(let identity, _, _):
            guard (1...255).contains(identity.utf8.count), !identity.utf8.contains(0) else {
                throw .invalid("the identity of a pre-shared key must have 1 to 255 bytes and no NUL")
            }
        }
        guard broker.usesTLS else {
            throw .invalid("a broker of mqtt:// is connected to without TLS; write mqtts:// to use TLS")
        }
    }
}

/// The trust in the broker's certificate. Except with ``insecure``, the certificate must be for the broker's host.
public enum MQTTServerTrust: Sendable, Hashable {
    /// Trusts authorities that the system trusts: OpenSSL's certificate directory and file, or those that the
    /// environment variables `SSL_CERT_DIR` and `SSL_CERT_FILE` name instead.
    case system
    /// Trusts only the authorities in this PEM file.
    case authority(file: String)
    /// Trusts any certificate for any host, so an attacker on the network can read and change everything. Each run logs
    /// a warning. Only for tests with your own broker.
    case insecure
}

/// A client certificate and its private key, as PEM files.
public struct MQTTIdentity: Sendable, Hashable {
    /// The path of the certificate and its chain.
    public var certificateFile: String
    /// The path of the private key, which has no passphrase.
    public var keyFile: String

    /// Creates an identity from paths. Each connection reads the files again, so renewed files apply from the next one.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
