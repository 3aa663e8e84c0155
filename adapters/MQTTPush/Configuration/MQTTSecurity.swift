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
