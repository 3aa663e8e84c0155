#if WebSocket
import SecureTransport

extension WebSocketFeedConfiguration {
    /// Returns how to use TLS, or `nil` for `ws://`. Reads the certificate files, so that renewed ones take effect with the
    /// next connection. May block.
    func tlsContext() throws(DisconnectReason) -> TLSContext? {
        url.isSecure ? try TLSContext(trust, identity) : nil
    }
}

extension TLSContext {
    /// Reads the certificate files. May block.
    convenience init(_ trust: WebSocketTrust, _ identity: WebSocketIdentity?) throws(DisconnectReason) {
        if let problem = CertificateFiles.problem(trust, identity) {
            throw .tlsFailed(PeerText.sanitized(problem, limit: DisconnectReason.textLimit))
        }
        let own = identity.map { TLSSettings.Identity(certificateFile: $0.certificateFile, keyFile: $0.keyFile) }
        let settings = TLSSettings(.certificates(trust.setting, identity: own), protocols: ["http/1.1"])
        do throws(TLSProblem) { try self.init(settings) } catch { throw .tls(error) }
    }
}

extension WebSocketTrust {
    fileprivate var setting: TLSSettings.Trust {
        switch self {
        case .system: .system
        case .authority(let file): .authority(file: file)
        case .anything: .insecure
        }
    }
}

extension CertificateFiles {
    /// Returns why the files of a client cannot be used, or `nil` if they can.
    fileprivate static func problem(_ trust: WebSocketTrust, _ identity: WebSocketIdentity?) -> String? {
        if case .authority(let file) = trust, let problem = problem(authorities: file) { return problem }
        return identity.flatMap { problem(certificate: $0.certificateFile, key: $0.keyFile) }
    }
}

extension DisconnectReason {
    /// The reason for a problem with TLS.
    static func tls(_ problem: TLSProblem) -> DisconnectReason {
        switch problem {
        case .unsecured: .handshakeEnded
        case .untrustedCertificate(let reason), .wrongHost(let reason), .expiredCertificate(let reason):
            .tlsFailed("the server's certificate is not trusted: \(reason)")
        case .preSharedKeyRefused(let alert), .certificateRequired(let alert), .certificateRefused(let alert),
            .alert(let alert):
            .tlsFailed("the server sent the alert \(alert.name)")
        case .violation(let reason): .tlsFailed("the server violated TLS: \(reason)")
        case .unreadableSystemTrust: .tlsFailed("the system's certificates cannot be read")
        case .unusableAuthority(let file), .unusableCertificate(let file), .unusableKey(let file),
            .keyMismatch(let file, _):
            .tlsFailed("the file \(file) cannot be used")
        case .noResources, .secretUnavailable, .invalidPreSharedKey, .shortPreSharedKey, .preSharedKeysNotSupported,
            .certificateInsteadOfKey:
            .tlsFailed("there is not enough memory for TLS")
        }
    }
}
#endif
