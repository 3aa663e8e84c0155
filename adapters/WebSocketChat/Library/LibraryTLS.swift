import AdapterThreads
import CLibwebsockets
import Logging

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

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

extension LibraryLoop {
    /// How many kinds of trust one transport's connections may have, as what is made for one stays for good.
    static let virtualHostLimit = 64

    // Where OpenSSL's contexts have their loop.
    private static let alertPlace = clws_alert_place()

    /// Has the alerts of the other side told, for a context of OpenSSL that ends before this.
    func hearAlerts(_ tls: UnsafeMutableRawPointer?) {
        guard let tls else { return }
        clws_tell_alerts(tls, LibraryLoop.alertPlace, Unmanaged.passUnretained(self).toOpaque(), libraryHeardAlert)
    }

    static func owner(ofAlertOn connection: OpaquePointer) -> LibraryLoop? {
        clws_alert_owner(connection, alertPlace).map { Unmanaged<LibraryLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Trust belongs to a virtual host, so there is one for each kind of it.
    func virtualHost(for key: TrustKey) throws(NoVirtualHost) -> OpaquePointer {
        if let made = virtualHosts[key] { return made }
        guard virtualHosts.count < LibraryLoop.virtualHostLimit else {
            let text = "more than \(LibraryLoop.virtualHostLimit) sets of certificates are in use on this thread"
            throw NoVirtualHost(end: .unusable(text))
        }
        if let fault = key.fault {
            throw NoVirtualHost(end: .notSecured(LibraryText.shown(fault, limit: ConnectionEnd.textLimit)))
        }
        guard let context, let made = makeVirtualHost(context, key) else {
            throw NoVirtualHost(end: .notSecured("the certificates cannot be used"))
        }
        virtualHosts[key] = made
        return made
    }

    private func makeVirtualHost(_ context: OpaquePointer, _ key: TrustKey) -> OpaquePointer? {
        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN
        info.vhost_name = tables.keep("client \(virtualHosts.count)")
        info.protocols = UnsafePointer(tables.protocols)
        info.extensions = UnsafePointer(tables.extensions)
        info.connect_timeout_secs = limits.connectWithin
        info.options = UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
        info.http_proxy_address = tables.noProxy
        info.ssl_client_options_set = clws_old_tls()
        if case .authority(let file) = key.security {
            info.client_ssl_ca_filepath = tables.keep(file)
            info.options |= UInt64(LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS)
        }
        if let identity = key.identity {
            info.client_ssl_cert_filepath = tables.keep(identity.certificateFile)
            info.client_ssl_private_key_filepath = tables.keep(identity.keyFile)
        }
        return lws_create_vhost(context, &info)
    }
}

/// Why no connection can be begun with what a target says of trust.
struct NoVirtualHost: Error {
    let end: ConnectionEnd
}

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

/// The known faults of the libraries under a WebSocket connection that a peer can exploit. Signalbox avoids those of
/// libwebsockets itself: see docs/security.md.
enum WebSocketFaults {
    /// Warns about those of the loaded OpenSSL, once per process. For connections with TLS.
    static func warn(to logger: Logger) {
        let version = OpenSSLFaults.version(UInt(OpenSSL_version_num()))
        LibraryFault.warn(of: OpenSSLFaults.all, in: "OpenSSL", version, to: logger)
    }
}
