import CLibwebsockets

extension LibraryLoop {
    // How many messages one connection sends until others have their turn.
    private static let messagesPerTurn = 64
    // From this many bytes on it is worth to ask the system whether it takes them: the library copies what it does not take.
    private static let copiedWithoutAsking = 4_096
    // A server's library does not tell of an empty answer.
    private static let pingContent = Array("ping".utf8)

    /// Writes what waits.
    func writable(_ handle: OpaquePointer) -> Int32 {
        guard let connection = connection(of: handle), connection.phase == .open else { return 0 }
        queue.wrote(cost: connection.unsentCost, on: connection.id)
        connection.unsentCost = 0
        if let cut = connection.cut { return close(connection, handle, cut.code, reason: cut.reason, end: cut.end) }
        guard connection.hasNext else {
            isDrained(connection)
            return 0
        }
        let result = writeTurn(connection, handle)
        // For the next that waits, and to learn when the library is done with these.
        if result == 0 { lws_callback_on_writable(handle) }
        return result
    }

    private func isDrained(_ connection: LibraryConnection) {
        guard connection.owesDrained else { return }
        connection.owesDrained = false
        receiver.drained(connection.id)
    }

    private func writeTurn(_ connection: LibraryConnection, _ handle: OpaquePointer) -> Int32 {
        var gone = 0
        defer { queue.wrote(cost: gone, on: connection.id) }
        var left = LibraryLoop.messagesPerTurn
        while left > 0, let next = connection.takeNext() {
            left -= 1
            switch next {
            case .message(let kind, let bytes):
                guard let written = write(bytes, kind, connection, handle) else { return -1 }
                gone += connection.unsentCost
                connection.unsentCost = ServiceQueue.cost(of: bytes)
                if isFull(handle, written) { return 0 }
            case .ping: if !write(LibraryLoop.pingContent, LWS_WRITE_PING, connection, handle) { return -1 }
            case .close(let code, let reason):
                return close(connection, handle, code, reason: reason, end: .closedHere(code, reason: reason))
            }
        }
        return 0
    }

    private func isFull(_ handle: OpaquePointer, _ count: Int) -> Bool {
        count > LibraryLoop.copiedWithoutAsking
            ? lws_send_pipe_choked(handle) != 0 : lws_partial_buffered(handle) != 0
    }

    // Returns how many bytes the message has in its frame; `nil` when the connection is broken.
    private func write(
        _ message: [UInt8],
        _ kind: MessageKind,
        _ connection: LibraryConnection,
        _ handle: OpaquePointer
    ) -> Int? {
        let frame = kind == .text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY
        guard message.count >= MessageDeflater.smallestMessage, let packed = connection.deflater?.deflate(message)
        else {
            return write(message, frame, connection, handle) ? message.count : nil
        }
        sendsCompressed = true
        defer { sendsCompressed = false }
        return write(packed, frame, connection, handle) ? packed.count : nil
    }

    private func write(
        _ bytes: [UInt8],
        _ kind: lws_write_protocol,
        _ connection: LibraryConnection,
        _ handle: OpaquePointer
    ) -> Bool {
        guard let start = outgoing.fill(bytes), lws_write(handle, start, bytes.count, kind) >= 0 else { return false }
        connection.owesDrained = true
        return true
    }

    private func close(
        _ connection: LibraryConnection,
        _ handle: OpaquePointer,
        _ code: CloseCode,
        reason: String,
        end: ConnectionEnd
    ) -> Int32 {
        var text = LibraryText.reason(reason)
        let sent = code.isSendable ? code : .normal
        connection.phase = .ending
        connection.end = end
        // The close frame's answer is to be read; messages before it are passed over.
        resume(connection)
        lws_close_reason(handle, lws_close_status(rawValue: UInt32(sent.number)), &text, text.count)
        return -1
    }
}
