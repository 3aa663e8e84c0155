#if WebSocket
import AdapterSupport
import CLibwebsockets
import Logging

/// Checks PEM files before the library reads them.
///
/// This is necessary because the library reports few details, ignores authority files that it cannot read, and asks for
/// passphrases on the terminal.
enum CertificateFiles {
    /// Returns why the file provides no trusted authority, or `nil` if it contains a certificate.
    static func problem(authorities file: String) -> String? {
        guard isReadable(file) else { return "the file of trusted authorities \(file) cannot be read" }
        return clws_has_certificate(file) == 0
            ? "the file of trusted authorities \(file) has no certificate in PEM" : nil
    }

    /// Returns why the files cannot be used as an identity, or `nil` if they can.
    static func problem(certificate: String, key: String) -> String? {
        guard isReadable(certificate) else { return "the certificate file \(certificate) cannot be read" }
        guard clws_has_certificate(certificate) != 0 else { return "\(certificate) has no certificate in PEM" }
        guard isReadable(key) else { return "the key file \(key) cannot be read" }
        guard clws_has_key(key) != 0 else { return "\(key) has no private key in PEM, or it has a passphrase" }
        guard clws_is_pair(certificate, key) != 0 else {
            return "the key in \(key) does not match the certificate in \(certificate)"
        }
        return nil
    }

    // Only regular files are allowed, because opening a pipe would block the thread that serves all connections.
    private static func isReadable(_ file: String) -> Bool {
        var facts = stat()
        return stat(file, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG && access(file, R_OK) == 0
    }
}

/// Vulnerabilities in the underlying libraries that a peer can exploit.
///
/// Signalbox itself works around those of libwebsockets, as docs/security.md describes.
enum WebSocketVulnerabilities {
    /// Logs a warning, once per process, about vulnerabilities of the loaded OpenSSL. Call this before opening
    /// connections that use TLS.
    static func warn(to logger: Logger) {
        let version = OpenSSLVulnerabilities.version(UInt(OpenSSL_version_num()))
        LibraryVulnerability.warn(of: OpenSSLVulnerabilities.all, in: "OpenSSL", version, to: logger)
    }
}
#endif
