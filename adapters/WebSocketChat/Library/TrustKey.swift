/// What a client's virtual host of the library is made for: whom it believes, and who it says it is.
struct TrustKey: Hashable {
    let security: ClientTarget.Security
    let identity: WebSocketIdentity?

    init(_ target: ClientTarget) {
        security = target.security
        identity = target.security == .none ? nil : target.identity
    }

    /// Why there can be none; `nil` when the files are there and fit.
    var fault: String? {
        if case .authority(let file) = security, let fault = CertificateFiles.fault(authorities: file) { return fault }
        return identity.flatMap { CertificateFiles.fault(certificate: $0.certificateFile, key: $0.keyFile) }
    }
}
