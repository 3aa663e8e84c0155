import AdapterSupport
import CLibwebsockets

extension LibraryLoop {
    func connect(_ id: ConnectionID, _ target: ClientTarget) {
        let connection = LibraryConnection(id, target: target)
        connections[id] = connection
        if let problem = target.problem { return finish(connection, .invalidTarget(problem)) }
        guard target.unixSocket != nil || NumericAddress(target.address) != nil else {
            return finish(connection, .notResolved("\(target.address) is not a numeric address"))
        }
        let handle: OpaquePointer?
        do throws(DisconnectReason) {
            handle = begin(id, target, virtualHost: try virtualHost(for: TrustKey(target)))
        } catch {
            return finish(connection, error)
        }
        // The library may have reported the end of the connection during the call.
        guard connections[id] === connection else { return }
        guard let handle else {
            return finish(connection, .unreachable("cannot start a connection to \(address(of: target))"))
        }
        connection.handle = handle
        if let cut = connection.cut {
            connection.cut = nil
            self.cut(connection, cut.code, reason: cut.reason, closeReason: cut.closeReason)
        }
    }

    /// Returns the server's address for the library, which connects to a Unix socket if the address begins with `+`.
    private func address(of target: ClientTarget) -> String { target.unixSocket.map { "+\($0)" } ?? target.address }

    private func begin(_ id: ConnectionID, _ target: ClientTarget, virtualHost: OpaquePointer) -> OpaquePointer? {
        // The library copies these strings.
        let texts = [
            address(of: target), target.path, target.host, target.origin, target.subprotocols.joined(separator: ", "),
            LibraryTables.ownProtocol, "http/1.1",
        ].map { text in text.flatMap { strdup($0) } }
        defer { for text in texts { free(text) } }
        var info = lws_client_connect_info()
        info.context = context
        info.vhost = virtualHost
        info.address = UnsafePointer(texts[0])
        info.port = Int32(target.port)
        info.path = UnsafePointer(texts[1])
        info.host = UnsafePointer(texts[2])
        info.origin = UnsafePointer(texts[3])
        info.protocol = target.subprotocols.isEmpty ? nil : UnsafePointer(texts[4])
        info.local_protocol_name = UnsafePointer(texts[5])
        info.ietf_version_or_minus_one = -1
        info.opaque_user_data = UnsafeMutableRawPointer(bitPattern: UInt(id.number))
        // The library ignores the policy of the virtual host, so it is set for each connection.
        info.retry_and_idle_policy = UnsafePointer(tables.policy)
        // A redirect would lead to a host that is not in the configuration.
        info.ssl_connection = Int32(LCCSCF_HTTP_NO_FOLLOW_REDIRECT.rawValue)
        if target.trust != nil {
            info.ssl_connection |= Int32(LCCSCF_USE_SSL.rawValue)
            info.alpn = UnsafePointer(texts[6])
        }
        if target.trust == .anything {
            info.ssl_connection |= Int32(LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK.rawValue)
        }
        return lws_client_connect_via_info(&info)
    }
}

extension LibraryLoop {
    func clientCallback(
        _ handle: OpaquePointer,
        _ reason: lws_callback_reasons,
        _ user: UnsafeMutableRawPointer?,
        _ input: UnsafeMutableRawPointer?,
        _ length: Int
    ) -> Int32 {
        if reason == LWS_CALLBACK_OPENSSL_LOAD_EXTRA_CLIENT_VERIFY_CERTS {
            observeAlerts(user)
            return 0
        }
        guard let connection = connection(of: handle), let target = connection.target else {
            // An unknown connection must not trust any certificate.
            return reason == LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION ? 1 : 0
        }
        switch reason {
        case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION:
            // In this callback, `user` is the verification context. A length of 0 means that verification failed.
            return isTrusted(isVerified: length != 0, user, connection) ? 0 : 1
        case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
            connection.hasSentRequest = true
            for header in target.headers
            where clws_append_header(handle, header.name + ":", header.value, input, length) != 0 {
                connection.closeReason = .invalidTarget("the headers do not fit into a request")
                return -1
            }
        case LWS_CALLBACK_CLIENT_CONFIRM_EXTENSION_SUPPORTED:
            return target.offersCompression ? 0 : 1
        case LWS_CALLBACK_CLIENT_FILTER_PRE_ESTABLISH:
            // The header is no longer available in the next callback.
            connection.handshake.subprotocol = LibraryText.header(WSI_TOKEN_PROTOCOL, of: handle)
        case LWS_CALLBACK_CLIENT_ESTABLISHED:
            connection.handle = handle
            open(connection)
        case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
            let text = LibraryText.sanitized(input, count: length, limit: DisconnectReason.textLimit)
            finish(connection, connection.closeReason ?? failure(text, of: connection, handle))
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
        if connection.target?.trust == .anything {
            clws_certificate_ignore_error(verification)
            return true
        }
        let error = clws_certificate_error(verification).map { String(cString: $0) } ?? "unknown"
        connection.closeReason = .tlsFailed("the server's certificate is not trusted: \(error)")
        return false
    }

    private func failure(
        _ text: String,
        of connection: LibraryConnection,
        _ handle: OpaquePointer
    ) -> DisconnectReason {
        if let alert, alert.descriptor == lws_get_socket_fd(handle) {
            return .tlsFailed("the server sent the alert \(alert.text)")
        }
        if connection.hasSentRequest {
            let status = Int(lws_http_client_http_response(handle))
            if status > 0 && status != 101 { return .refused(status: status) }
            return .upgradeFailed(text)
        }
        // The library does not say why.
        guard text != "Unable to connect" else {
            if let target = connection.target, let path = target.unixSocket {
                guard !target.isRelayed else { return target.tunnelEnded }
                return .unreachable("no server accepts connections on the Unix socket \(path)")
            }
            return .unreachable("connection refused, or the host does not answer; does a server listen there?")
        }
        guard connection.target?.trust != nil else { return .unreachable(text) }
        // The library's own error texts are only numbers. Which of these a server causes that closes the connection depends
        // on when it does.
        if text.hasPrefix("connect SSL") || text.hasPrefix("connect SYSCALL") { return .handshakeEnded }
        let lowercase = text.lowercased()
        let mentionsTLS = ["tls", "ssl", "cert"].contains { lowercase.contains($0) }
        return mentionsTLS ? .tlsFailed("\(text)") : .unreachable(text)
    }
}
