/// How a test's broker protects its listener.
public enum BrokerSecurity: Sendable {
    /// Not at all.
    case none
    /// By TLS with the authority's server certificate.
    case tls(TestAuthority)
    /// The same, and clients must have a certificate of the authority; its common name is their user name.
    case mutual(TestAuthority)
    /// By TLS with keys, hexadecimal, by identity, which is the user name.
    case sharedKeys([String: String])

    func lines(in folder: String) -> [String] {
        switch self {
        case .none: []
        case .tls(let authority): BrokerSecurity.server(authority)
        case .mutual(let authority):
            BrokerSecurity.server(authority) + [
                "cafile \(authority.authorityFile)", "require_certificate true", "use_identity_as_username true",
            ]
        case .sharedKeys: ["psk_hint test", "psk_file \(folder)/keys", "use_identity_as_username true"]
        }
    }

    private static func server(_ authority: TestAuthority) -> [String] {
        ["certfile \(authority.certificateFile)", "keyfile \(authority.keyFile)"]
    }
}
