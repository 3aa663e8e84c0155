import CLibwebsockets

extension LibraryLoop {
    // The library copies these headers into 127 bytes, and hangs up without a word when they do not fit.
    private static let listLimit = 126
    // 16 bytes in Base64 (RFC 6455, 4.1).
    private static let keyLength = 24

    /// What is the matter with a request for an upgrade, whoever it is from. 0 lets it pass.
    ///
    /// The library's own input to this call is not to be read: it has freed it when it refused the upgrade by itself, after
    /// another request on the same connection.
    func confirmUpgrade(_ handle: OpaquePointer) -> Int32 {
        guard let name = LibraryText.header(WSI_TOKEN_UPGRADE, of: handle)?.lowercased() else { return -1 }
        switch name {
        case "websocket":
            guard let refusal = upgradeFault(handle) else { return 0 }
            server?.receiver.refused(status: refusal.status, from: LibraryLoop.peerAddress(of: handle))
            return refuse(handle, refusal)
        // The library would speak HTTP/2 to whoever asks for it.
        case "h2c": return refuse(handle, .malformed("Only WebSocket can be upgraded to."))
        // It has answered already.
        default: return -1
        }
    }

    private func upgradeFault(_ handle: OpaquePointer) -> HTTPRefusal? {
        guard lws_hdr_total_length(handle, WSI_TOKEN_GET_URI) > 0 else { return .wrongMethod }
        if LibraryText.isRepeated(WSI_TOKEN_ORIGIN, of: handle) { return .forbidden }
        for token in [WSI_TOKEN_HOST, WSI_TOKEN_HTTP_AUTHORIZATION, WSI_TOKEN_KEY, WSI_TOKEN_VERSION]
        where LibraryText.isRepeated(token, of: handle) {
            return .malformed("Host, Authorization, Sec-WebSocket-Key and Sec-WebSocket-Version may come once.")
        }
        for token in [WSI_TOKEN_HOST, WSI_TOKEN_ORIGIN, WSI_TOKEN_HTTP_AUTHORIZATION]
        where !HeaderField.isLine(LibraryText.header(token, of: handle) ?? "") {
            return .malformed("A header has a control character.")
        }
        guard LibraryText.header(WSI_TOKEN_HOST, of: handle)?.isEmpty == false else {
            return .malformed("The header Host is missing.")
        }
        guard LibraryText.header(WSI_TOKEN_VERSION, of: handle) == "13" else { return .wrongVersion }
        guard LibraryLoop.isKey(LibraryText.header(WSI_TOKEN_KEY, of: handle) ?? "") else {
            return .malformed("The header Sec-WebSocket-Key is missing, or is not 16 bytes in Base64.")
        }
        return listFault(handle)
    }

    private func listFault(_ handle: OpaquePointer) -> HTTPRefusal? {
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
        // The library does not go on without a subprotocol when one was asked for.
        let spoken = server?.place.subprotocols ?? []
        guard offered.isEmpty || LibraryText.list(offered).contains(where: spoken.contains) else {
            return .malformed("None of the offered subprotocols is spoken here.")
        }
        return nil
    }

    private static func isKey(_ text: String) -> Bool {
        text.utf8.count == keyLength && text.hasSuffix("==")
            && text.utf8.dropLast(2).allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                    true
                default: false
                }
            }
    }

    /// Answers, and has the connection closed.
    func refuse(_ handle: OpaquePointer, _ refusal: HTTPRefusal) -> Int32 {
        let bytes = refusal.bytes(withText: lws_hdr_total_length(handle, WSI_TOKEN_HEAD_URI) == 0)
        let buffer = OutgoingBuffer()
        // The library is done with the buffer, or has copied it, when the call returns; a failure closes as well.
        if let start = buffer.fill(bytes) { lws_write(handle, start, bytes.count, LWS_WRITE_HTTP) }
        return -1
    }
}
