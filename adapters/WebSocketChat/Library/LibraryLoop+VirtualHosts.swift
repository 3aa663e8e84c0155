import CLibwebsockets

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
