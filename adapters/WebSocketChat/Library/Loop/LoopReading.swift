#if WebSocket
import CLibwebsockets
import SignalboxCore

extension LibraryLoop {
    /// Delivers received bytes. Always returns 0, because on a server the library ignores a request to close here.
    func received(_ handle: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        // Ignore input while a close frame is waiting to be written.
        guard let connection = connection(of: handle), connection.phase == .open, connection.cut == nil else {
            return 0
        }
        let flags = clws_receive_flags(handle)
        let chunk = FrameChunk(
            bytes: bytes,
            isFinal: flags & 1 != 0,
            isBinary: flags & 2 != 0,
            endsFrame: flags & 4 != 0,
            reserved: UInt8(truncatingIfNeeded: flags) & 0x70
        )
        act(on: connection.decoder.decode(chunk) { connection.receiver.received($0, on: connection.id) }, connection)
        return 0
    }

    /// Delivers the input that was held back while the connection was paused.
    func receiveRest(of connection: LibraryConnection) {
        guard connection.phase == .open, connection.cut == nil else { return connection.decoder.discardHeld() }
        act(on: connection.decoder.resume { connection.receiver.received($0, on: connection.id) }, connection)
    }

    private func act(on outcome: FrameDecoder.Outcome, _ connection: LibraryConnection) {
        switch outcome {
        case .proceed: break
        case .pause: pause(connection)
        case .close(let code, let reason): cut(connection, code, reason: reason)
        case .broken(let code, let reason): cut(connection, code, reason: reason, closeReason: .protocolViolation(code))
        }
    }

    /// Handles a pong. A pong with reserved bits is invalid (RFC 7692, 6). libwebsockets 4.1.6 does not report pings.
    func ponged(_ handle: OpaquePointer) {
        guard let connection = connection(of: handle) else { return }
        guard lws_get_reserved_bits(handle) == 0 else {
            return cut(
                connection,
                .protocolError,
                reason: "reserved bits",
                closeReason: .protocolViolation(.protocolError)
            )
        }
        connection.receiver.ponged(connection.id)
    }

    /// Handles the peer's close frame. If the result is not 0, the connection is dropped without an answer.
    func peerClosed(_ handle: OpaquePointer, _ input: UnsafeMutableRawPointer?, _ length: Int) -> Int32 {
        guard let connection = connection(of: handle), connection.phase == .open else { return 0 }
        connection.phase = .closing
        // Errors in the frame are not reported, because the peer is leaving anyway.
        connection.closeReason = .lost
        guard lws_get_reserved_bits(handle) == 0 else { return -1 }
        guard let input, length >= 2 else {
            connection.closeReason = .closedByPeer(.absent, reason: "")
            return 0
        }
        let bytes = UnsafeRawBufferPointer(start: input, count: length)
        var text = UTF8Stream()
        guard text.take(UnsafeRawBufferPointer(rebasing: bytes[2...])), text.isComplete else { return -1 }
        let code = CloseCode(number: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
        let reason = PeerText.sanitized(UnsafeRawBufferPointer(rebasing: bytes[2...]), limit: CloseCode.reasonLimit)
        connection.closeReason = .closedByPeer(code, reason: reason)
        return 0
    }
}

// libwebsockets 4.1.6 can compress by itself, but it mixes up messages of different connections, because it keeps
// pointers into memory that they share. It also aborts if a message exactly fills its memory. Therefore, it only
// negotiates the extension, and answers with the table of options. Compressed content passes through the library
// unchanged, and frames are written without its help.
func libraryExtensionCallback(
    _ context: OpaquePointer?,
    _ entry: UnsafePointer<lws_extension>?,
    _ handle: OpaquePointer?,
    _ reason: lws_extension_callback_reasons,
    _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?,
    _ length: Int
) -> Int32 {
    guard let context, let handle, let owner = lws_context_user(context) else { return -1 }
    return Unmanaged<LibraryLoop>.fromOpaque(owner)._withUnsafeGuaranteedRef { loop in
        loop.extensionCallback(handle, reason, input)
    }
}

extension LibraryLoop {
    func extensionCallback(
        _ handle: OpaquePointer,
        _ reason: lws_extension_callback_reasons,
        _ input: UnsafeMutableRawPointer?
    ) -> Int32 {
        switch reason {
        case LWS_EXT_CB_CONSTRUCT: clws_answer_options(input)
        default: break
        }
        return 0
    }

    /// Returns whether this offer is the chosen one. Called once for each of the client's offers, in order.
    func acceptsOffer(_ handle: OpaquePointer) -> Bool {
        guard let connection = connection(of: handle), connection.site.site.traits.compresses,
            let offers = LibraryText.header(WSI_TOKEN_EXTENSIONS, of: handle),
            let chosen = DeflateAgreement.chosen(from: offers)
        else { return false }
        defer { connection.offersSeen += 1 }
        guard chosen.index == connection.offersSeen else { return false }
        connection.agreement = chosen.agreement
        return true
    }
}
#endif
