#if WebSocket
import AdapterSupport
import CLibwebsockets

extension LibraryLoop {
    /// Starts listening, on the socket that was passed to the process for this address, if there is one.
    ///
    /// - Returns: The port.
    func listen() throws(TransportError) -> UInt16 {
        guard let context else {
            throw TransportError(code: .noResources, description: "there is no library context to listen with")
        }
        if let identity = endpoint.identity,
            let problem = CertificateFiles.problem(certificate: identity.certificateFile, key: identity.keyFile)
        {
            throw TransportError(code: .unusableCertificate, description: problem)
        }
        var inherited = InheritedSockets.shared.take(endpoint.address, endpoint.port)
        // Unless an acceptor has taken it over.
        defer { if let inherited { InheritedSockets.shared.giveBack(inherited) } }
        var info = lws_context_creation_info()
        info.port = inherited == nil ? Int32(endpoint.port) : CONTEXT_PORT_NO_LISTEN_SERVER
        if inherited == nil { info.iface = tables.keep(endpoint.address) }
        info.vhost_name = tables.keep("server")
        info.protocols = UnsafePointer(tables.protocols)
        info.retry_and_idle_policy = UnsafePointer(tables.policy)
        info.http_proxy_address = tables.noProxy
        info.alpn = tables.keep("http/1.1")
        info.timeout_secs_ah_idle = limits.connectWithin
        info.keepalive_timeout = endpoint.http.idleSeconds ?? Int32(clamping: limits.connectWithin)
        info.options = UInt64(LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS)
        // For an IPv4 address, libwebsockets 4.1.6 would create a dual-stack socket, store the address in the wrong
        // field, and listen on every address of the machine.
        if let address = endpoint.address, NumericAddress(address)?.isIPv6 != true {
            info.options |= UInt64(LWS_SERVER_OPTION_DISABLE_IPV6)
        }
        if endpoint.compresses { info.extensions = UnsafePointer(tables.extensions) }
        if let identity = endpoint.identity {
            info.ssl_options_set = clws_old_tls()
            info.ssl_cert_filepath = tables.keep(identity.certificateFile)
            info.ssl_private_key_filepath = tables.keep(identity.keyFile)
            info.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
        }
        guard let host = lws_create_vhost(context, &info) else { throw LibraryLoop.notListening(endpoint) }
        if let socket = inherited {
            guard let acceptor = LibraryAcceptor(socket, for: host, of: self) else {
                throw LibraryLoop.notListening(endpoint)
            }
            inherited = nil
            self.acceptor = acceptor
            acceptor.start()
            return acceptor.port
        }
        let port = lws_get_vhost_listen_port(host)
        guard port > 0, let port = UInt16(exactly: port) else { throw LibraryLoop.notListening(endpoint) }
        return port
    }

    private static func notListening(_ endpoint: ServerEndpoint) -> TransportError {
        let name = "\(endpoint.address ?? "*"):\(endpoint.port)"
        return TransportError(
            code: .notListening,
            description: "cannot listen on \(name): the port is in use, or the address does not belong to this machine"
        )
    }

    func serverCallback(
        _ handle: OpaquePointer,
        _ reason: lws_callback_reasons,
        _ input: UnsafeMutableRawPointer?,
        _ length: Int
    ) -> Int32 {
        switch reason {
        case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:
            return accept(descriptor: Int(bitPattern: input))
        case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
            http.add(handle, from: HTTPServerRequest.quotaAddress(of: LibraryLoop.peerAddress(of: handle)), at: .now)
            return 0
        case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return confirmUpgrade(handle)
        case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return decide(handle)
        case LWS_CALLBACK_CONFIRM_EXTENSION_OKAY: return acceptsOffer(handle) ? 0 : 1
        case LWS_CALLBACK_ESTABLISHED:
            guard let connection = connection(of: handle) else { return -1 }
            if connection.handshake.request?.subprotocols.isEmpty == false, let entry = lws_get_protocol(handle) {
                connection.handshake.subprotocol = String(cString: entry.pointee.name)
            }
            open(connection)
            return 0
        case LWS_CALLBACK_HTTP:
            let path = UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : length)
            return beginRequest(handle, PeerText.sanitized(path, limit: 1_024))
        case LWS_CALLBACK_HTTP_BODY:
            return receivedBody(handle, UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : length))
        case LWS_CALLBACK_HTTP_BODY_COMPLETION: return completedBody(handle)
        case LWS_CALLBACK_HTTP_WRITEABLE: return continuePage(handle)
        case LWS_CALLBACK_CLOSED_HTTP:
            pageTransfers[handle] = nil
            endExchange(of: handle)
            return 0
        // The library treats CONNECT as a switch to a raw connection, which it would never cut.
        case LWS_CALLBACK_RAW_ADOPT, LWS_CALLBACK_RAW_RX, LWS_CALLBACK_RAW_WRITEABLE: return -1
        default: return 0
        }
    }

    private func decide(_ handle: OpaquePointer) -> Int32 {
        // The receiver counts the connection once it has decided, so everything that can fail comes first.
        guard !queue.isStopping, !http.closing.contains(handle) else { return -1 }
        let request = LibraryLoop.request(of: handle)
        guard let site = sites.site(upgradingAt: request.path), let receiver = site.sockets else {
            return refuse(handle, .notFound)
        }
        guard connections.count < endpoint.webSockets ?? .max else { return refuse(handle, .unavailable) }
        let connection = LibraryConnection(.next(), of: site, receiver)
        if let refusal = receiver.refusal(of: request, for: connection.id) { return refuse(handle, refusal) }
        http.remove(handle)
        connection.handle = handle
        connection.handshake.request = request
        connections[connection.id] = connection
        site.members += 1
        lws_set_opaque_user_data(handle, UnsafeMutableRawPointer(bitPattern: UInt(connection.id.number)))
        return 0
    }

    private static func request(of handle: OpaquePointer) -> UpgradeRequest {
        var request = UpgradeRequest()
        request.path = LibraryText.whole(WSI_TOKEN_GET_URI, of: handle) ?? ""
        while request.query.count < UpgradeRequest.queryLimit,
            let part = LibraryText.queryPart(request.query.count, of: handle)
        {
            request.query.append(part)
        }
        request.host = LibraryText.header(WSI_TOKEN_HOST, of: handle)
        request.origin = LibraryText.header(WSI_TOKEN_ORIGIN, of: handle)
        request.authorization = LibraryText.header(WSI_TOKEN_HTTP_AUTHORIZATION, of: handle)
        let offered = LibraryText.header(WSI_TOKEN_PROTOCOL, of: handle) ?? ""
        request.subprotocols = Array(LibraryText.list(offered).prefix(UpgradeRequest.subprotocolLimit))
        request.peerAddress = peerAddress(of: handle)
        request.isSecure = lws_is_ssl(handle) != 0
        return request
    }

    /// Returns the client's numeric address, or an empty string if the client has disconnected.
    static func peerAddress(of handle: OpaquePointer) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress, let text = lws_get_peer_simple(handle, start, 64) else { return "" }
            let address = String(cString: text)
            // If the client has disconnected, the library writes its error into the buffer.
            guard !address.hasPrefix("getpeername:") else { return "" }
            // A mapped address belongs to an IPv4 peer of a dual-stack socket.
            return address.hasPrefix("::ffff:") && address.contains(".") ? String(address.dropFirst(7)) : address
        }
    }
}

extension LibraryLoop {
    // The library copies these headers into 127 bytes, and drops the connection if they do not fit.
    private static let listLimit = 126
    // The length of 16 bytes in Base64 (RFC 6455, 4.1).
    private static let keyLength = 24

    /// Validates an upgrade request without considering who the client is. Returns 0 to accept the request.
    ///
    /// This method does not read the callback's input, which may already be freed if the library itself refuses the
    /// upgrade after another request on the same connection.
    func confirmUpgrade(_ handle: OpaquePointer) -> Int32 {
        guard let name = LibraryText.header(WSI_TOKEN_UPGRADE, of: handle)?.lowercased() else { return -1 }
        switch name {
        case "websocket":
            let path = LibraryText.whole(WSI_TOKEN_GET_URI, of: handle) ?? ""
            guard let site = sites.site(upgradingAt: path) else { return refuse(handle, .notFound) }
            guard let refusal = upgradeRefusal(handle, subprotocols: site.site.traits.subprotocols) else { return 0 }
            site.sockets?.refused(status: refusal.status, from: LibraryLoop.peerAddress(of: handle))
            return refuse(handle, refusal)
        // Otherwise, the library would switch to HTTP/2.
        case "h2c": return refuse(handle, .malformed("Only WebSocket can be upgraded to."))
        // The library has already answered.
        default: return -1
        }
    }

    private func upgradeRefusal(_ handle: OpaquePointer, subprotocols: [String]) -> HTTPRefusal? {
        guard lws_hdr_total_length(handle, WSI_TOKEN_GET_URI) > 0 else { return .wrongMethod }
        if LibraryText.isRepeated(WSI_TOKEN_ORIGIN, of: handle) { return .forbidden }
        for token in [WSI_TOKEN_HOST, WSI_TOKEN_HTTP_AUTHORIZATION, WSI_TOKEN_KEY, WSI_TOKEN_VERSION]
        where LibraryText.isRepeated(token, of: handle) {
            return .malformed("Host, Authorization, Sec-WebSocket-Key and Sec-WebSocket-Version may occur only once.")
        }
        for token in [WSI_TOKEN_HOST, WSI_TOKEN_ORIGIN, WSI_TOKEN_HTTP_AUTHORIZATION]
        where !HeaderField.isLine(LibraryText.header(token, of: handle) ?? "") {
            return .malformed("A header contains a control character.")
        }
        guard LibraryText.header(WSI_TOKEN_HOST, of: handle)?.isEmpty == false else {
            return .malformed("The header Host is missing.")
        }
        guard LibraryText.header(WSI_TOKEN_VERSION, of: handle) == "13" else { return .wrongVersion }
        guard LibraryLoop.isKey(LibraryText.header(WSI_TOKEN_KEY, of: handle) ?? "") else {
            return .malformed("The header Sec-WebSocket-Key is missing, or is not 16 bytes in Base64.")
        }
        return listHeaderRefusal(handle, subprotocols: subprotocols)
    }

    private func listHeaderRefusal(_ handle: OpaquePointer, subprotocols supported: [String]) -> HTTPRefusal? {
        let connection = LibraryText.header(WSI_TOKEN_CONNECTION, of: handle) ?? ""
        guard connection.utf8.count <= LibraryLoop.listLimit else {
            return .tooLarge("The header Connection has more than \(LibraryLoop.listLimit) bytes.")
        }
        guard LibraryText.list(connection).contains(where: { $0.lowercased() == "upgrade" }) else {
            return .malformed("The header Connection does not say Upgrade.")
        }
        let extensions = LibraryText.header(WSI_TOKEN_EXTENSIONS, of: handle) ?? ""
        guard extensions.utf8.count <= DeflateAgreement.listLimit else {
            return .tooLarge("The header Sec-WebSocket-Extensions has more than \(DeflateAgreement.listLimit) bytes.")
        }
        guard let offered = LibraryText.header(WSI_TOKEN_PROTOCOL, of: handle) else { return nil }
        guard offered.utf8.count <= LibraryLoop.listLimit else {
            return .tooLarge("The header Sec-WebSocket-Protocol has more than \(LibraryLoop.listLimit) bytes.")
        }
        // The library drops a request that asks for subprotocols if it supports none of them.
        guard offered.isEmpty || LibraryText.list(offered).contains(where: supported.contains) else {
            return .malformed("None of the offered subprotocols is supported.")
        }
        return nil
    }

    private static func isKey(_ text: String) -> Bool {
        text.utf8.count == keyLength && text.hasSuffix("==")
            && text.utf8.dropLast(2).allSatisfy { HeaderField.isAlphanumeric($0) || "+/".utf8.contains($0) }
    }

    /// Sends the response and closes the connection.
    func refuse(_ handle: OpaquePointer, _ refusal: HTTPRefusal) -> Int32 {
        let bytes = refusal.bytes(withText: lws_hdr_total_length(handle, WSI_TOKEN_HEAD_URI) == 0)
        let buffer = OutgoingBuffer()
        // The library has sent or copied the buffer when the call returns. If the call fails, the connection closes as
        // well.
        if let start = buffer.fill(bytes) { lws_write(handle, start, bytes.count, LWS_WRITE_HTTP) }
        return -1
    }
}
#endif
