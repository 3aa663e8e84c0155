#if WebSocket
import CLibwebsockets
import DequeModule

extension LibraryLoop {
    /// The state of a connection after a write.
    private enum WriteResult {
        /// More can be written.
        case ready
        /// The system accepts no more at the moment. If it has accepted the write only in part, the library writes the
        /// rest before the next callback.
        case full
        /// The connection is broken.
        case broken
    }

    // The maximum number of messages per write callback, because the thread also serves other connections.
    private static let messagesPerTurn = FrameBatch.messageLimit
    // After writes larger than this, in bytes, the socket is checked before more is written, because the library copies
    // whatever the socket refuses.
    private static let uncheckedWriteBytes = 4_096
    // The ping has content, because the library does not report empty pongs.
    private static let pingContent = Array("ping".utf8)

    /// Writes pending output.
    ///
    /// The library makes this call only when the system has accepted everything that was written before. Between two
    /// calls, it may write a ping, a pong or a close frame. These never split a frame, because each write consists of
    /// complete frames and the library completes a write that was accepted only in part before it writes anything else.
    func writable(_ handle: OpaquePointer) -> Int32 {
        guard let connection = connection(of: handle), connection.phase == .open else { return 0 }
        queue.wrote(cost: connection.unsentCost, on: connection.id)
        connection.unsentCost = 0
        if let cut = connection.cut {
            return close(connection, handle, cut.code, reason: cut.reason, closeReason: cut.closeReason)
        }
        guard !connection.outgoing.isEmpty else { return 0 }
        let result = writeTurn(connection, handle)
        if connection.outgoing.isEmpty { connection.outgoing = Deque() }
        // The output continues in the next callback, which also shows that the system has accepted the rest of a write.
        if result == 0 && (connection.unsentCost > 0 || !connection.outgoing.isEmpty) {
            lws_callback_on_writable(handle)
        }
        return result
    }

    private func writeTurn(_ connection: LibraryConnection, _ handle: OpaquePointer) -> Int32 {
        var left = LibraryLoop.messagesPerTurn
        var result = WriteResult.ready
        while result == .ready, left > 0, let next = connection.outgoing.first {
            if !frames.isEmpty && !fits(next) {
                result = flush(connection, handle)
                continue
            }
            connection.outgoing.removeFirst()
            left -= 1
            switch next {
            case .message(let kind, let bytes) where fits(next): addFrame(bytes, kind, connection)
            case .message(let kind, let bytes): result = write(bytes, kind, connection, handle)
            case .ping:
                let ping = LibraryLoop.pingContent
                result = accepted(write(ping, LWS_WRITE_PING, handle), ping.count, cost: 0, connection, handle)
            case .close(let code, let reason):
                let closeReason = DisconnectReason.closedLocally(code, reason: reason)
                return close(connection, handle, code, reason: reason, closeReason: closeReason)
            }
        }
        if !frames.isEmpty { result = flush(connection, handle) }
        return result == .broken ? -1 : 0
    }

    // MARK: - Frames

    private func fits(_ next: LibraryConnection.Outgoing) -> Bool {
        guard case .message(_, let bytes) = next else { return false }
        return frames.hasRoom(forCost: ServiceQueue.cost(of: bytes))
    }

    private func addFrame(_ message: [UInt8], _ kind: MessageKind, _ connection: LibraryConnection) {
        let packed = compressed(message, for: connection)
        frames.append(packed ?? message, kind, isCompressed: packed != nil, cost: ServiceQueue.cost(of: message))
    }

    /// Writes the frames that were added.
    private func flush(_ connection: LibraryConnection, _ handle: OpaquePointer) -> WriteResult {
        let (cost, count) = (frames.cost, frames.bytes.count)
        let isWritten = frames.take { LibraryLoop.write($0, handle) }
        return accepted(isWritten, count, cost: cost, connection, handle)
    }

    // Unlike a message, the part of an HTTP document gets no frame head from the library, on any connection.
    private static func write(_ frames: UnsafeMutableBufferPointer<UInt8>, _ handle: OpaquePointer) -> Bool {
        lws_write(handle, frames.baseAddress, frames.count, LWS_WRITE_HTTP) >= 0
    }

    // MARK: - Single messages

    /// Writes a message that is too large for a batch.
    private func write(
        _ message: [UInt8],
        _ kind: MessageKind,
        _ connection: LibraryConnection,
        _ handle: OpaquePointer
    ) -> WriteResult {
        let packed = compressed(message, for: connection)
        let content = packed ?? message
        let head = FrameHead(kind, isCompressed: packed != nil, length: content.count)
        let isWritten = outgoing.fill(content, after: head).map { LibraryLoop.write($0, handle) } ?? false
        return accepted(isWritten, content.count, cost: ServiceQueue.cost(of: message), connection, handle)
    }

    private func compressed(_ message: [UInt8], for connection: LibraryConnection) -> [UInt8]? {
        guard message.count >= MessageDeflater.minimumMessageSize else { return nil }
        return connection.deflater?.deflate(message)
    }

    private func write(_ bytes: [UInt8], _ kind: lws_write_protocol, _ handle: OpaquePointer) -> Bool {
        guard let start = outgoing.fill(bytes) else { return false }
        return lws_write(handle, start, bytes.count, kind) >= 0
    }

    /// Stops counting what was written as waiting, unless the library still buffers some of it.
    private func accepted(
        _ isWritten: Bool,
        _ count: Int,
        cost: Int,
        _ connection: LibraryConnection,
        _ handle: OpaquePointer
    ) -> WriteResult {
        guard isWritten else { return .broken }
        guard lws_partial_buffered(handle) == 0 else {
            connection.unsentCost += cost
            return .full
        }
        queue.wrote(cost: cost, on: connection.id)
        guard count > LibraryLoop.uncheckedWriteBytes, !connection.outgoing.isEmpty else { return .ready }
        return lws_send_pipe_choked(handle) == 0 ? .ready : .full
    }

    // MARK: - Closing

    private func close(
        _ connection: LibraryConnection,
        _ handle: OpaquePointer,
        _ code: CloseCode,
        reason: String,
        closeReason: DisconnectReason
    ) -> Int32 {
        var text = ClosingFrame.text(reason)
        let sent = code.isSendable ? code : .normal
        connection.phase = .closing
        connection.closeReason = closeReason
        // The peer's close frame must be read. Messages that precede it are ignored.
        resume(connection)
        lws_close_reason(handle, lws_close_status(rawValue: UInt32(sent.number)), &text, text.count)
        return -1
    }
}

/// The buffer for a message that is sent alone. It has room for the frame's head before the message.
///
/// The library no longer needs the buffer when the call that sends returns.
final class OutgoingBuffer {
    private static let keptBytes = 65_536
    // More than the longest head of a server, which has ``FrameHead/maximumSize`` bytes.
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

    /// Replaces the content with a copy of the bytes, and writes the frame's head in front of it.
    ///
    /// - Returns: The frame.
    func fill(_ bytes: [UInt8], after head: FrameHead) -> UnsafeMutableBufferPointer<UInt8>? {
        guard let content = fill(bytes) else { return nil }
        var front: [UInt8] = []
        head.append(to: &front)
        let start = content - front.count
        start.update(from: front, count: front.count)
        return UnsafeMutableBufferPointer(start: start, count: front.count + bytes.count)
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
#endif
