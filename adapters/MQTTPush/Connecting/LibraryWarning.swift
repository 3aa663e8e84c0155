import AdapterSupport
import Logging
import SecureTransport

/// Warns of known vulnerabilities in the libraries with which a client connects.
enum LibraryWarning {
    /// Logs, once per process, a warning about the vulnerabilities in the loaded OpenSSL, if the client uses it with a
    /// broker that is not on this machine.
    static func warn(of settings: some BrokerSettings, to logger: Logger) {
        guard settings.security != .none, !settings.isLocal else { return }
        let openSSL = OpenSSLVulnerabilities.version(TLSLibrary.versionNumber)
        LibraryVulnerability.warn(of: OpenSSLVulnerabilities.all, in: "OpenSSL", openSSL, to: logger)
    }
}
