import CLibwebsockets

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// Looks into PEM files before the library gets them: it says little of what is wrong with them, goes on without
/// authorities that it could not read, and asks for a passphrase at the terminal.
enum CertificateFiles {
    /// Why nobody can be trusted by this file; `nil` when it has a certificate.
    static func fault(authorities file: String) -> String? {
        guard isReadable(file) else { return "the file of trusted authorities \(file) cannot be read" }
        return clws_has_certificate(file) == 0
            ? "the file of trusted authorities \(file) has no certificate in PEM" : nil
    }

    /// Why nobody can identify itself by these files; `nil` when they can be used.
    static func fault(certificate: String, key: String) -> String? {
        guard isReadable(certificate) else { return "the certificate file \(certificate) cannot be read" }
        guard clws_has_certificate(certificate) != 0 else { return "\(certificate) has no certificate in PEM" }
        guard isReadable(key) else { return "the key file \(key) cannot be read" }
        guard clws_has_key(key) != 0 else { return "\(key) has no private key in PEM, or it has a passphrase" }
        guard clws_is_pair(certificate, key) != 0 else { return "the key in \(key) is not that of \(certificate)" }
        return nil
    }

    // A pipe would be waited for, on the thread of all connections.
    private static func isReadable(_ file: String) -> Bool {
        var facts = stat()
        return stat(file, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG && access(file, R_OK) == 0
    }
}
