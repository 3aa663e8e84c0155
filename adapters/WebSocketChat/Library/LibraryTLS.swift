import AdapterSupport
import CLibwebsockets
import Logging

/// The trust and identity settings of a client's virtual host.
struct TrustKey: Hashable {
    let trust: WebSocketTrust?
    let identity: WebSocketIdentity?

    init(_ target: ClientTarget) {
        trust = target.trust
        identity = target.trust == nil ? nil : target.identity
    }

    /// Why no virtual host can be created, or `nil` if the files are usable.
    var problem: String? {
        if case .authority(let file)? = trust, let problem = CertificateFiles.problem(authorities: file) {
            return problem
        }
        return identity.flatMap { CertificateFiles.problem(certificate: $0.certificateFile, key: $0.keyFile) }
    }
}

extension LibraryLoop {
    /// The maximum number of virtual hosts per transport, because they are never released.
    static let virtualHostLimit = 64

    // The ex-data index at which OpenSSL contexts store their loop.
    private static let alertIndex = clws_alert_index()

    /// Subscribes to alerts from peers. The given OpenSSL context must not outlive this loop.
    func observeAlerts(_ tls: UnsafeMutableRawPointer?) {
        guard let tls else { return }
        clws_observe_alerts(
            tls,
            LibraryLoop.alertIndex,
            Unmanaged.passUnretained(self).toOpaque(),
            libraryReceivedAlert
        )
    }

    static func owner(ofAlertOn connection: OpaquePointer) -> LibraryLoop? {
        clws_alert_owner(connection, alertIndex).map { Unmanaged<LibraryLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Returns the virtual host that has these trust settings, creating it on first use. The library stores the
    /// settings in virtual hosts.
    func virtualHost(for key: TrustKey) throws(DisconnectReason) -> OpaquePointer {
        if let made = virtualHosts[key] { return made }
        guard virtualHosts.count < LibraryLoop.virtualHostLimit else {
            let text = "more than \(LibraryLoop.virtualHostLimit) sets of certificates are in use on this thread"
            throw .invalidTarget(text)
        }
        if let problem = key.problem {
            throw .tlsFailed(LibraryText.sanitized(problem, limit: DisconnectReason.textLimit))
        }
        guard let context, let made = makeVirtualHost(context, key) else {
            throw .tlsFailed("the certificates cannot be used")
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
        if case .authority(let file)? = key.trust {
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
