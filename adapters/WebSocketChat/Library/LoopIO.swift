import CLibwebsockets
import DequeModule
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
        act(on: connection.decoder.decode(chunk) { receiver.received($0, on: connection.id) }, connection)
        return 0
    }

    /// Delivers the input that was held back while the connection was paused.
    func receiveRest(of connection: LibraryConnection) {
        guard connection.phase == .open, connection.cut == nil else { return connection.decoder.discardHeld() }
        act(on: connection.decoder.resume { receiver.received($0, on: connection.id) }, connection)
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
        receiver.ponged(connection.id)
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
        let reason = LibraryText.sanitized(input + 2, count: length - 2, limit: CloseCode.reasonLimit)
        connection.closeReason = .closedByPeer(code, reason: reason)
        return 0
    }
}

extension LibraryLoop {
    // The maximum number of messages per write callback, because the thread also serves other connections.
    private static let messagesPerTurn = 64
    // For messages larger than this, in bytes, the socket is checked first, because the library copies whatever the
    // socket refuses.
    private static let uncheckedWriteBytes = 4_096
    // The ping has content, because a server's library does not report empty pongs.
    private static let pingContent = Array("ping".utf8)

    /// Writes pending output.
    func writable(_ handle: OpaquePointer) -> Int32 {
        guard let connection = connection(of: handle), connection.phase == .open else { return 0 }
        queue.wrote(cost: connection.unsentCost, on: connection.id)
        connection.unsentCost = 0
        if let cut = connection.cut {
            return close(connection, handle, cut.code, reason: cut.reason, closeReason: cut.closeReason)
        }
        guard !connection.outgoing.isEmpty else { return 0 }
        let result = writeTurn(connection, handle)
        // The output continues in the next callback. That callback also shows that the library no longer needs what has
        // been written so far.
        if result == 0 { lws_callback_on_writable(handle) }
        return result
    }

    private func writeTurn(_ connection: LibraryConnection, _ handle: OpaquePointer) -> Int32 {
        var releasedCost = 0
        defer {
            queue.wrote(cost: releasedCost, on: connection.id)
            if connection.outgoing.isEmpty { connection.outgoing = Deque() }
        }
        var left = LibraryLoop.messagesPerTurn
        while left > 0, let next = connection.outgoing.popFirst() {
            left -= 1
            switch next {
            case .message(let kind, let bytes):
                guard let written = write(bytes, kind, connection, handle) else { return -1 }
                releasedCost += connection.unsentCost
                connection.unsentCost = ServiceQueue.cost(of: bytes)
                if isFull(handle, written) { return 0 }
            case .ping: if !write(LibraryLoop.pingContent, LWS_WRITE_PING, handle) { return -1 }
            case .close(let code, let reason):
                return close(
                    connection,
                    handle,
                    code,
                    reason: reason,
                    closeReason: .closedLocally(code, reason: reason)
                )
            }
        }
        return 0
    }

    private func isFull(_ handle: OpaquePointer, _ count: Int) -> Bool {
        count > LibraryLoop.uncheckedWriteBytes
            ? lws_send_pipe_choked(handle) != 0 : lws_partial_buffered(handle) != 0
    }

    // Returns the length of the message in its frame, or `nil` if the connection is broken.
    private func write(
        _ message: [UInt8],
        _ kind: MessageKind,
        _ connection: LibraryConnection,
        _ handle: OpaquePointer
    ) -> Int? {
        let frame = kind == .text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY
        guard message.count >= MessageDeflater.minimumMessageSize, let packed = connection.deflater?.deflate(message)
        else {
            return write(message, frame, handle) ? message.count : nil
        }
        sendsCompressed = true
        defer { sendsCompressed = false }
        return write(packed, frame, handle) ? packed.count : nil
    }

    private func write(_ bytes: [UInt8], _ kind: lws_write_protocol, _ handle: OpaquePointer) -> Bool {
        guard let start = outgoing.fill(bytes) else { return false }
        return lws_write(handle, start, bytes.count, kind) >= 0
    }

    private func close(
        _ connection: LibraryConnection,
        _ handle: OpaquePointer,
        _ code: CloseCode,
        reason: String,
        closeReason: DisconnectReason
    ) -> Int32 {
        var text = LibraryText.reason(reason)
        let sent = code.isSendable ? code : .normal
        connection.phase = .closing
        connection.closeReason = closeReason
        // The peer's close frame must be read. Messages that precede it are ignored.
        resume(connection)
        lws_close_reason(handle, lws_close_status(rawValue: UInt32(sent.number)), &text, text.count)
        return -1
    }
}

// libwebsockets 4.1.6 can compress by itself, but it mixes up messages of different connections, because it keeps
// pointers into memory that they share. It also aborts if a message exactly fills its memory. Therefore, only two of
// its functions are used. The first negotiates the extension, and answers with the table of options. The second is
// another callback, which changes the first byte of a frame. Compressed content passes through the library unchanged.
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
        case LWS_EXT_CB_CLIENT_CONSTRUCT:
            // The library has room for only one agreement.
            guard let connection = connection(of: handle), connection.agreement == nil else { return -1 }
            clws_read_options(input)
        case LWS_EXT_CB_OPTION_CONFIRM: return confirm(handle)
        case LWS_EXT_CB_PACKET_TX_PRESEND: if sendsCompressed { clws_mark_compressed(input) }
        default: break
        }
        return 0
    }

    /// Returns whether this offer is the chosen one. Called once for each of the client's offers, in order.
    func acceptsOffer(_ handle: OpaquePointer) -> Bool {
        guard server?.endpoint.compresses == true, let connection = connection(of: handle),
            let offers = LibraryText.header(WSI_TOKEN_EXTENSIONS, of: handle),
            let chosen = DeflateAgreement.chosen(from: offers)
        else { return false }
        defer { connection.offersSeen += 1 }
        guard chosen.index == connection.offersSeen else { return false }
        connection.agreement = chosen.agreement
        return true
    }

    private func confirm(_ handle: OpaquePointer) -> Int32 {
        guard let connection = connection(of: handle), connection.target?.offersCompression == true,
            let answer = LibraryText.header(WSI_TOKEN_EXTENSIONS, of: handle),
            let agreement = DeflateAgreement.negotiated(by: answer)
        else { return -1 }
        connection.agreement = agreement
        return 0
    }
}

/// The buffer for the message being sent. It has room for the frame header before the message.
///
/// The library writes the header and the mask into the buffer, and no longer needs the buffer when the call that sends
/// returns.
final class OutgoingBuffer {
    private static let keptBytes = 65_536
    private static let head = CLWS_PRE
    private let keepsContent: Bool
    private var memory: UnsafeMutableRawBufferPointer?
    /// The content, if it is known. It is retained so that its storage does not change.
    private var content: [UInt8] = []

    /// Creates a buffer.
    ///
    /// - Parameter keepsContent: Whether the library leaves the content unchanged. If so, a message that is sent to
    ///   several connections in a row is copied only once.
    init(keepsContent: Bool = false) {
        self.keepsContent = keepsContent
    }

    deinit {
        memory?.deallocate()
    }

    /// Replaces the content with a copy of the bytes.
    ///
    /// - Returns: A pointer to the start of the copy.
    func fill(_ bytes: [UInt8]) -> UnsafeMutablePointer<UInt8>? {
        let count = OutgoingBuffer.head + bytes.count
        if (memory?.count ?? 0) < count {
            memory?.deallocate()
            memory = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 512), alignment: 16)
            content = []
        }
        guard let start = memory?.baseAddress?.advanced(by: OutgoingBuffer.head) else { return nil }
        if !holds(bytes) {
            bytes.withUnsafeBytes { source in
                if let base = source.baseAddress { start.copyMemory(from: base, byteCount: source.count) }
            }
            if keepsContent { content = bytes }
        }
        return start.assumingMemoryBound(to: UInt8.self)
    }

    private func holds(_ bytes: [UInt8]) -> Bool {
        guard keepsContent, bytes.count == content.count else { return false }
        return bytes.withUnsafeBytes { new in content.withUnsafeBytes { new.baseAddress == $0.baseAddress } }
    }

    /// Frees the buffer if it is large. Call this while nothing is being sent.
    func release() {
        guard let held = memory, held.count > OutgoingBuffer.keptBytes else { return }
        held.deallocate()
        memory = nil
        content = []
    }
}
