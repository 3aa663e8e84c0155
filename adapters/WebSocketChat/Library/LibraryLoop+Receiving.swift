import CLibwebsockets

extension LibraryLoop {
    /// Hands on what came. Always 0: a server's library ignores the wish to end a connection from here.
    func received(_ handle: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        // What still comes is passed over until the close frame could be written.
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
        act(on: connection.reading.take(chunk) { receiver.received($0, on: connection.id) }, connection)
        return 0
    }

    /// Hands on what was left when the connection was paused.
    func receiveRest(of connection: LibraryConnection) {
        guard connection.phase == .open, connection.cut == nil else { return connection.reading.drop() }
        act(on: connection.reading.goOn { receiver.received($0, on: connection.id) }, connection)
    }

    private func act(on outcome: MessageReading.Outcome, _ connection: LibraryConnection) {
        switch outcome {
        case .proceed: break
        case .pause: pause(connection)
        case .close(let code, let reason): cut(connection, code, reason: reason)
        case .broken(let code, let reason): cut(connection, code, reason: reason, end: .brokeProtocol(code))
        }
    }

    /// An answer to a ping. One whose reserved bits are set is none (RFC 7692, 6); of pings, libwebsockets 4.1.6 does not tell.
    func ponged(_ handle: OpaquePointer) {
        guard let connection = connection(of: handle) else { return }
        guard lws_get_reserved_bits(handle) == 0 else {
            return cut(connection, .protocolError, reason: "reserved bits", end: .brokeProtocol(.protocolError))
        }
        receiver.ponged(connection.id)
    }

    /// The peer's close frame. A result other than 0 ends the connection without an answer.
    func peerClosed(_ handle: OpaquePointer, _ input: UnsafeMutableRawPointer?, _ length: Int) -> Int32 {
        guard let connection = connection(of: handle), connection.phase == .open else { return 0 }
        connection.phase = .ending
        // Nobody is told of what is wrong with it, as the peer goes anyway.
        connection.end = .lost
        guard lws_get_reserved_bits(handle) == 0 else { return -1 }
        guard let input, length >= 2 else {
            connection.end = .closedByPeer(.absent, reason: "")
            return 0
        }
        let bytes = UnsafeRawBufferPointer(start: input, count: length)
        var text = UTF8Stream()
        guard text.take(UnsafeRawBufferPointer(rebasing: bytes[2...])), text.isComplete else { return -1 }
        let code = CloseCode(number: UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
        let reason = LibraryText.shown(input + 2, count: length - 2, limit: CloseCode.reasonLimit)
        connection.end = .closedByPeer(code, reason: reason)
        return 0
    }
}
