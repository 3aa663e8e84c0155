public import SignalboxCore

/// The security of a broker connection.
///
/// A broker of `mqtts://` or `wss://` requires ``tls(_:identity:)`` or ``preSharedKey(identity:key:allowsShort:)``. Other
/// brokers require ``none``.
public enum MQTTSecurity: Sendable, Hashable {
    /// No encryption. Use this only on a network that you trust.
    case none
    /// TLS 1.2 or later with certificates.
    ///
    /// ``MQTTServerTrust`` specifies how the broker's certificate is verified. `identity` is the client certificate,
    /// which you need only if the broker requires one.
    case tls(MQTTServerTrust = .system, identity: MQTTIdentity? = nil)
    /// TLS with a key shared by both sides, without certificates.
    ///
    /// The identity, which has 1 to 255 bytes, tells the broker which key to use. The key consists of an even number of
    /// hexadecimal digits, from 32 to 512, and is read again for each connection. A key with fewer digits requires
    /// `allowsShort`, because an attacker who has recorded a handshake can guess such a key.
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
                throw .invalid("a broker of \(broker.scheme):// needs TLS or a pre-shared key")
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
            throw .invalid(
                "a broker of \(broker.scheme):// is connected to without TLS; write mqtts:// or wss:// to use TLS"
            )
        }
    }
}

/// Which broker certificates a client trusts. Except with ``insecure``, the certificate must also match the broker's
/// host.
public enum MQTTServerTrust: Sendable, Hashable {
    /// Trusts the system's certificate authorities.
    ///
    /// They are read from OpenSSL's default certificate directory and file, unless the environment variables
    /// `SSL_CERT_DIR` and `SSL_CERT_FILE` specify other paths.
    case system
    /// Trusts only the authorities in this PEM file.
    case authority(file: String)
    /// Trusts any certificate for any host, so an attacker on the network can read and change everything.
    ///
    /// Use this only for tests with your own broker. A warning is logged at the start of each run.
    case insecure
}

/// A client certificate and its private key, as PEM files.
public struct MQTTIdentity: Sendable, Hashable {
    /// The path of the file that contains the certificate and its chain.
    public var certificateFile: String
    /// The path of the file that contains the private key. The key must not have a passphrase.
    public var keyFile: String

    /// Creates an identity from the paths of its files, which are read again for each connection. A renewed certificate
    /// is therefore used from the next connection on.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
