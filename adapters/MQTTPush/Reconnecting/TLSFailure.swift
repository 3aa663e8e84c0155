import SecureTransport

/// The reason why a connection could not be secured, or why the broker refused it immediately afterwards.
struct TLSFailure: Equatable {
    let code: MQTTPushError.Code
    /// The rest of a log sentence whose subject is the broker.
    let detail: String
    /// What the operator can do, unless the detail says it.
    let remedy: BrokerRemedy?

    /// Whether it is pointless to retry soon, because a configuration or a certificate must change first.
    var needsReconfiguration: Bool { code != .tlsFailed }

    /// Creates the failure for a problem during or after the handshake, or returns `nil` for one that precedes it, which
    /// ``MQTTPushError/init(_:shortKeyRemedy:)`` describes.
    init?(_ problem: TLSProblem) {
        switch problem {
        case .untrustedCertificate(let reason):
            self.init(
                .untrustedCertificate,
                "presents a certificate that no trusted authority has signed (\(reason))",
                .authority
            )
        case .wrongHost(let reason):
            self.init(
                .wrongHost,
                "presents a certificate for another host (\(reason)). Use the host name in the certificate, or have a "
                    + "certificate issued for this host"
            )
        case .expiredCertificate(let reason):
            self.init(
                .expiredCertificate,
                "presents a certificate that is expired or not yet valid (\(reason)). Renew it, and check this machine's "
                    + "clock"
            )
        case .certificateInsteadOfKey:
            self.init(
                .preSharedKeyRefused,
                "presents a certificate instead of using the pre-shared key. Check that its listener has keys"
            )
        case .preSharedKeyRefused(let alert):
            self.init(.preSharedKeyRefused, "refused the pre-shared key (\(alert))", .preSharedKey)
        case .certificateRequired(let alert):
            self.init(.certificateRefused, "requests a client certificate (\(alert))", .identity)
        case .certificateRefused(let alert):
            let advice = "Check that it is valid and that the broker trusts its authority"
            self.init(.certificateRefused, "refused the client certificate (\(alert)). \(advice)")
        case .alert(let alert):
            let remedy: BrokerRemedy? = alert.isAboutApplicationProtocol ? .applicationProtocols : nil
            self.init(.tlsFailed, "cannot negotiate TLS (\(alert))", remedy)
        case .unsecured:
            self.init(
                .tlsFailed,
                "closed the connection during the TLS handshake. Check that it speaks TLS on this port"
            )
        case .violation(let reason): self.init(.tlsFailed, "violated TLS (\(reason))")
        case .noResources, .unreadableSystemTrust, .unusableAuthority, .unusableCertificate, .unusableKey, .keyMismatch,
            .secretUnavailable, .invalidPreSharedKey, .shortPreSharedKey, .preSharedKeysNotSupported:
            return nil
        }
    }

    private init(_ code: MQTTPushError.Code, _ detail: String, _ remedy: BrokerRemedy? = nil) {
        self.remedy = remedy
        self.code = code
        self.detail = detail
    }
}

extension MQTTPushError {
    /// Creates the error for a problem that precedes a connection, or returns `nil` for another one.
    ///
    /// - Parameter shortKeyRemedy: The end of the sentence about a pre-shared key that is too short.
    init?(_ problem: TLSProblem, shortKeyRemedy: String) {
        switch problem {
        case .noResources: self.init(.noResources, "there is not enough memory for TLS")
        case .unreadableSystemTrust: self.init(.unusableFile, "the system's certificates cannot be read")
        case .unusableAuthority(let file): self.init(unusable: file, "a certificate of the broker's authority")
        case .unusableCertificate(let file): self.init(unusable: file, "a client certificate")
        case .unusableKey(let file): self.init(unusable: file, "a private key without a passphrase")
        case .keyMismatch(let keyFile, let certificateFile):
            self.init(
                .unusableFile,
                "the key in \(keyFile.debugDescription) does not match the certificate in "
                    + certificateFile.debugDescription
            )
        case .secretUnavailable(let text): self.init(.secretUnavailable, text)
        case .invalidPreSharedKey(let key):
            self.init(
                .secretUnavailable,
                "the \(key) contains no pre-shared key: expected an even number of hexadecimal digits, 32 to 512"
            )
        case .shortPreSharedKey(let key, let bytes):
            self.init(
                .secretUnavailable,
                "the \(key) contains a pre-shared key of \(bytes) bytes, which can be guessed: use at least "
                    + "\(PreSharedKey.minimumLength) bytes, \(shortKeyRemedy)"
            )
        case .preSharedKeysNotSupported:
            self.init(.noResources, "this OpenSSL does not support pre-shared keys")
        default: return nil
        }
    }

    private init(unusable file: String, _ what: String) {
        self.init(.unusableFile, "\(file.debugDescription) cannot be read, or does not contain \(what) in PEM")
    }
}

extension CertificateRequest {
    /// Advice to log if the connection was secured but ended before CONNACK without a ``TLSFailure``.
    var advice: String {
        switch self {
        case .unanswered:
            "the broker requests a client certificate: if this persists, name the files of a certificate and its key"
        case .answered:
            "the broker requested the client certificate: if this persists, check that the broker trusts it"
        }
    }
}
