public import SignalboxCore

/// How a connection to a broker is protected. A broker of `mqtts://` needs ``tls(_:identity:)`` or
/// ``preSharedKey(identity:key:allowsShort:)``, one of `mqtt://` needs ``none``.
public enum MQTTSecurity: Sendable, Hashable {
    /// Not at all: for a network that one trusts.
    case none
    /// By TLS 1.2 or later with certificates: the broker's, whom ``MQTTTrust`` believes, and a client's own where the
    /// broker asks for one.
    case tls(MQTTTrust = .system, identity: MQTTIdentity? = nil)
    /// By TLS with a key that both sides know, and no certificates. The identity, 1 to 255 bytes, tells the broker which
    /// key; the key is a text of 32 to 512 hexadecimal digits, an even number, read at each connection. A shorter one can be
    /// guessed from a recorded handshake, and needs `allowsShort`.
    case preSharedKey(identity: String, key: Secret, allowsShort: Bool = false)

    /// Whether nobody on the way can read or change anything.
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
                throw MQTTPushError(.invalidConfiguration, "a broker of mqtts:// needs TLS or a pre-shared key")
            }
            return
        case .tls(let trust, let identity):
            if case .authority(let file) = trust, file.isEmpty {
                throw MQTTPushError(.invalidConfiguration, "the file of the broker's authority has no name")
            }
            try identity?.validate()
        case .preSharedKey(let identity, _, _):
            guard (1...255).contains(identity.utf8.count), !identity.utf8.contains(0) else {
                throw MQTTPushError(
                    .invalidConfiguration,
                    "the identity of a pre-shared key has 1 to 255 bytes and no NUL"
                )
            }
        }
        guard broker.usesTLS else {
            throw MQTTPushError(
                .invalidConfiguration,
                "a broker of mqtt:// is spoken to without TLS; write mqtts:// to use it"
            )
        }
    }
}

/// Whose certificates are believed over TLS. The certificate must be the broker's host's in each case but the last.
public enum MQTTTrust: Sendable, Hashable {
    /// Those signed by an authority that the system trusts: OpenSSL's folder and file of certificates, or what the
    /// environment variables `SSL_CERT_DIR` and `SSL_CERT_FILE` name in their place.
    case system
    /// Those signed by an authority of this PEM file, and no others.
    case authority(file: String)
    /// Any, and for any host: whoever is on the way can read and change everything. Warned about at each run. For tests
    /// of one's own broker alone.
    case insecure
}

/// A client's own certificate and its private key, as PEM files.
public struct MQTTIdentity: Sendable, Hashable {
    /// The certificate, with the chain that leads to its authority.
    public var certificateFile: String
    /// Its private key, without a passphrase.
    public var keyFile: String

    /// Files by their paths. They are read anew for each connection: renewed files count from the next one on.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }

    func validate() throws(MQTTPushError) {
        guard !certificateFile.isEmpty, !keyFile.isEmpty else {
            throw MQTTPushError(.invalidConfiguration, "a client certificate needs two files: certificate and key")
        }
    }
}
