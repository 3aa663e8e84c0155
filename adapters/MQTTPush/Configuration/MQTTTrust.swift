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
