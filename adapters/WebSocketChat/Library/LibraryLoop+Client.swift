import CLibwebsockets

extension LibraryLoop {
    func clientCalled(
        _ handle: OpaquePointer,
        _ reason: lws_callback_reasons,
        _ user: UnsafeMutableRawPointer?,
        _ input: UnsafeMutableRawPointer?,
        _ length: Int
    ) -> Int32 {
        if reason == LWS_CALLBACK_OPENSSL_LOAD_EXTRA_CLIENT_VERIFY_CERTS {
            hearAlerts(user)
            return 0
        }
        guard let connection = connection(of: handle), let target = connection.target else {
            // Nobody is trusted for a connection that nobody knows.
            return reason == LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION ? 1 : 0
        }
        switch reason {
        case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION:
            // What is passed for user data is what this call is about; the length says whether the certificate will do.
            return isTrusted(isVerified: length != 0, user, connection) ? 0 : 1
        case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
            connection.hasAsked = true
            for header in target.headers
            where clws_append_header(handle, header.name + ":", header.value, input, length) != 0 {
                connection.end = .unusable("the headers do not fit into a request")
                return -1
            }
        case LWS_CALLBACK_CLIENT_CONFIRM_EXTENSION_SUPPORTED:
            return target.offersCompression ? 0 : 1
        case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
            // Gone in the next call.
            connection.handshake.subprotocol = LibraryText.header(WSI_TOKEN_PROTOCOL, of: handle)
            connection.handshake.isCompressed = connection.agreement != nil
        case LWS_CALLBACK_CLIENT_ESTABLISHED:
            connection.handle = handle
            open(connection)
        case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
            let text = LibraryText.shown(input, count: length, limit: ConnectionEnd.textLimit)
            finish(connection, connection.end ?? failure(text, of: connection, handle))
        default: break
        }
        return 0
    }

    private func isTrusted(
        isVerified: Bool,
        _ verification: UnsafeMutableRawPointer?,
        _ connection: LibraryConnection
    ) -> Bool {
        guard !isVerified else { return true }
        guard let verification else { return false }
        if connection.target?.security == .anything {
            clws_certificate_forgive(verification)
            return true
        }
        let fault = clws_certificate_fault(verification).map { String(cString: $0) } ?? "unknown"
        connection.end = .notSecured("the server's certificate is not trusted: \(fault)")
        return false
    }

    private func failure(
        _ text: String,
        of connection: LibraryConnection,
        _ handle: OpaquePointer
    ) -> ConnectionEnd {
        if let alert, alert.descriptor == lws_get_socket_fd(handle) {
            return .notSecured("TLS failed: the server says \(alert.text)")
        }
        if connection.hasAsked {
            let status = Int(lws_http_client_http_response(handle))
            if status > 0 && status != 101 { return .refused(status: status) }
            return .noUpgrade(text)
        }
        guard connection.target?.security != ClientTarget.Security.none else { return .notConnected(text) }
        // The library's own words are numbers.
        if text.hasPrefix("connect SSL") {
            return .notSecured("TLS failed: what the server sends is no TLS, or is broken")
        }
        if text.hasPrefix("connect SYSCALL") {
            return .notSecured("TLS failed: the connection ended before it was secured")
        }
        let lowercase = text.lowercased()
        let speaksOfTLS = ["tls", "ssl", "cert"].contains { lowercase.contains($0) }
        return speaksOfTLS ? .notSecured("TLS failed: \(text)") : .notConnected(text)
    }
}
