import CLibwebsockets

extension LibraryLoop {
    /// What the library has to say, on the service's thread. A result other than 0 ends the connection.
    func called(
        _ handle: OpaquePointer,
        _ reason: lws_callback_reasons,
        _ user: UnsafeMutableRawPointer?,
        _ input: UnsafeMutableRawPointer?,
        _ length: Int
    ) -> Int32 {
        switch reason {
        case LWS_CALLBACK_RECEIVE, LWS_CALLBACK_CLIENT_RECEIVE:
            return received(handle, UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : length))
        case LWS_CALLBACK_SERVER_WRITEABLE, LWS_CALLBACK_CLIENT_WRITEABLE:
            return writable(handle)
        case LWS_CALLBACK_RECEIVE_PONG, LWS_CALLBACK_CLIENT_RECEIVE_PONG:
            ponged(handle)
        case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
            return peerClosed(handle, input, length)
        case LWS_CALLBACK_CLOSED, LWS_CALLBACK_CLIENT_CLOSED:
            closed(handle)
        case LWS_CALLBACK_WSI_DESTROY:
            pagesUnderWay[handle] = nil
            http.remove(handle)
            // Most have ended before; one that never opened has not.
            if let connection = connection(of: handle) { finish(connection, connection.end ?? ending(connection)) }
        default:
            return server == nil
                ? clientCalled(handle, reason, user, input, length) : serverCalled(handle, reason, input, length)
        }
        return 0
    }

    private func closed(_ handle: OpaquePointer) {
        guard let connection = connection(of: handle) else { return }
        finish(connection, connection.end ?? closedByLibrary(handle) ?? ending(connection))
    }

    // The library itself answers what RFC 6455 forbids with a close frame, whose beginning it keeps.
    private func closedByLibrary(_ handle: OpaquePointer) -> ConnectionEnd? {
        guard lws_get_close_length(handle) >= 2, let payload = lws_get_close_payload(handle) else { return nil }
        let code = CloseCode(number: UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code == .protocolError || code == .invalidPayload else { return nil }
        return .brokeProtocol(code)
    }

    private func ending(_ connection: LibraryConnection) -> ConnectionEnd {
        if isDestroying { return .stopped }
        if let cut = connection.cut { return cut.end }
        guard connection.phase == .opening, connection.target != nil else { return .lost }
        // The library tells every other failure to open.
        let text = "no answer came within \(limits.connectWithin) s"
        return connection.hasAsked ? .noUpgrade(text) : .notConnected(text)
    }
}
