import AdapterThreads
import CLibwebsockets

extension LibraryLoop {
    /// Begins to listen.
    ///
    /// - Returns: the port.
    func listen() throws(TransportFault) -> UInt16 {
        guard let context, let place = server?.place else {
            throw TransportFault(code: .noResources, description: "there is nothing to listen with")
        }
        if let identity = place.identity,
            let fault = CertificateFiles.fault(certificate: identity.certificateFile, key: identity.keyFile)
        {
            throw TransportFault(code: .unusableCertificate, description: fault)
        }
        var info = lws_context_creation_info()
        info.port = Int32(place.port)
        info.iface = tables.keep(place.address)
        info.vhost_name = tables.keep("server")
        info.protocols = UnsafePointer(tables.protocols)
        info.retry_and_idle_policy = UnsafePointer(tables.policy)
        info.http_proxy_address = tables.noProxy
        info.alpn = tables.keep("http/1.1")
        info.timeout_secs_ah_idle = limits.connectWithin
        info.keepalive_timeout = Int32(clamping: limits.connectWithin)
        info.options = UInt64(LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS)
        // Of an IPv4 address libwebsockets 4.1.6 would make a socket for both families, put the address into the wrong field,
        // and listen on every address of the machine.
        if let address = place.address, NumericAddress(address)?.isIPv6 != true {
            info.options |= UInt64(LWS_SERVER_OPTION_DISABLE_IPV6)
        }
        if place.compresses { info.extensions = UnsafePointer(tables.extensions) }
        if let identity = place.identity {
            info.ssl_options_set = clws_old_tls()
            info.ssl_cert_filepath = tables.keep(identity.certificateFile)
            info.ssl_private_key_filepath = tables.keep(identity.keyFile)
            info.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
        }
        guard let host = lws_create_vhost(context, &info) else { throw LibraryLoop.notListening(place) }
        let port = lws_get_vhost_listen_port(host)
        guard port > 0, let port = UInt16(exactly: port) else { throw LibraryLoop.notListening(place) }
        return port
    }

    private static func notListening(_ place: ServerPlace) -> TransportFault {
        let name = "\(place.address ?? "*"):\(place.port)"
        return TransportFault(
            code: .notListening,
            description: "cannot listen on \(name): the port is taken, or the address is not this machine's"
        )
    }

    func serverCalled(
        _ handle: OpaquePointer,
        _ reason: lws_callback_reasons,
        _ input: UnsafeMutableRawPointer?,
        _ length: Int
    ) -> Int32 {
        switch reason {
        case LWS_CALLBACK_FILTER_NETWORK_CONNECTION:
            return accept(descriptor: Int(bitPattern: input))
        case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
            http.add(handle, from: LibraryLoop.quotaAddress(LibraryLoop.peerAddress(of: handle)), at: .now)
            return 0
        case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return confirmUpgrade(handle)
        case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return decide(handle)
        case LWS_CALLBACK_CONFIRM_EXTENSION_OKAY: return agrees(handle) ? 0 : 1
        case LWS_CALLBACK_ESTABLISHED:
            guard let connection = connection(of: handle) else { return -1 }
            if connection.handshake.request?.subprotocols.isEmpty == false, let entry = lws_get_protocol(handle) {
                connection.handshake.subprotocol = String(cString: entry.pointee.name)
            }
            connection.handshake.isCompressed = connection.agreement != nil
            open(connection)
            return 0
        case LWS_CALLBACK_HTTP: return beginPage(handle, LibraryText.shown(input, count: length, limit: 1_024))
        case LWS_CALLBACK_HTTP_WRITEABLE: return continuePage(handle)
        case LWS_CALLBACK_CLOSED_HTTP:
            pagesUnderWay[handle] = nil
            return 0
        // The library takes CONNECT for a wish to be rid of HTTP, and would never cut the connection.
        case LWS_CALLBACK_RAW_ADOPT, LWS_CALLBACK_RAW_RX, LWS_CALLBACK_RAW_WRITEABLE: return -1
        default: return 0
        }
    }

    private func decide(_ handle: OpaquePointer) -> Int32 {
        // The receiver counts the connection once it has decided, so everything that can fail comes first.
        guard let server, !queue.isStopping, !http.closing.contains(handle) else { return -1 }
        let connection = LibraryConnection(.next())
        let request = LibraryLoop.request(of: handle)
        if let refusal = server.receiver.decide(request, for: connection.id).refusal { return refuse(handle, refusal) }
        http.remove(handle)
        connection.handle = handle
        connection.handshake.request = request
        connections[connection.id] = connection
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

    /// The numeric address; empty when the client has gone.
    static func peerAddress(of handle: OpaquePointer) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let start = buffer.baseAddress, let text = lws_get_peer_simple(handle, start, 64) else { return "" }
            let address = String(cString: text)
            // The library writes the error there when the client has gone.
            guard !address.hasPrefix("getpeername:") else { return "" }
            // An IPv4 peer of a socket for both.
            return address.hasPrefix("::ffff:") && address.contains(".") ? String(address.dropFirst(7)) : address
        }
    }
}
