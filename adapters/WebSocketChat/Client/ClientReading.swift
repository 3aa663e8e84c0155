#if WebSocket
import SecureTransport
import SignalboxCore

extension ClientLoop {
    /// Processes the input that a pause has held back, and then reads once.
    func read(_ connection: ClientConnection) {
        if connection.hasHeld { processHeld(connection) }
        guard connection.isReading, let link = connection.link else { return }
        do throws(LinkError) {
            let count = try link.read(into: buffer)
            if count > 0 { process(UnsafeRawBufferPointer(rebasing: buffer[..<count]), of: connection) }
        } catch {
            // A close frame has said more than the end of the connection does.
            finish(connection, connection.closeReason ?? .lost)
        }
    }

    private func processHeld(_ connection: ClientConnection) {
        guard !connection.isPaused else { return }
        connection.hasHeld = false
        if connection.isOpen {
            act(on: connection.decoder.resume { receiver.received($0, on: connection.id) }, connection)
        } else {
            connection.decoder.discardHeld()
        }
        guard !connection.isPaused, !connection.held.isEmpty else { return }
        let held = connection.held
        connection.held = []
        held.withUnsafeBytes { process($0, of: connection) }
    }

    private func process(_ bytes: UnsafeRawBufferPointer, of connection: ClientConnection) {
        guard !connection.ignoresInput else { return }
        // A local copy, because each access to the property of a class is checked.
        var reader = connection.reader
        defer { connection.reader = reader }
        var offset = 0
        do throws(FrameViolation) {
            while let piece = try reader.next(in: bytes, at: &offset) {
                switch piece {
                case .data(let range):
                    // Messages that precede the peer's answer to a close frame are ignored.
                    guard connection.isOpen else { continue }
                    received(reader.chunk(UnsafeRawBufferPointer(rebasing: bytes[range])), on: connection)
                case .ping: if connection.isOpen { connection.answer(ping: reader.control) }
                case .pong: if connection.isOpen { receiver.ponged(connection.id) }
                case .close(let status): return peerClosed(connection, status, reader.closeReason)
                }
                guard !connection.isPaused else {
                    connection.held.append(contentsOf: bytes[offset...])
                    return
                }
            }
        } catch {
            connection.ignoresInput = true
            let code = CloseCode(number: error.status)
            cut(connection, code, reason: "the server \(error.text)", closeReason: .protocolViolation(code))
        }
    }

    private func received(_ chunk: FrameChunk, on connection: ClientConnection) {
        act(on: connection.decoder.decode(chunk) { receiver.received($0, on: connection.id) }, connection)
    }

    private func act(on outcome: FrameDecoder.Outcome, _ connection: ClientConnection) {
        switch outcome {
        case .proceed: break
        case .pause:
            connection.isPaused = true
            connection.hasHeld = true
        case .close(let code, let reason): cut(connection, code, reason: reason)
        case .broken(let code, let reason):
            connection.ignoresInput = true
            cut(connection, code, reason: reason, closeReason: .protocolViolation(code))
        }
    }

    /// Handles the peer's close frame. It is answered with the same code (RFC 6455, 5.5.1).
    private func peerClosed(_ connection: ClientConnection, _ status: UInt16?, _ reason: String) {
        connection.closing.isReceived = true
        if connection.isOpen {
            let code = status.map { CloseCode(number: $0) }
            let reason = PeerText.sanitized(reason, limit: CloseCode.reasonLimit)
            connection.decoder.discardHeld()
            queue.closed(connection.id)
            connection.close(
                code.map { ClosingFrame.content($0, reason: "") } ?? [],
                .closedByPeer(code ?? .absent, reason: reason),
                until: .now + ClientLoop.closedWithin
            )
        }
        write(connection)
    }
}

extension FrameReader {
    /// The data that was read last, with what the reader knows about it.
    fileprivate func chunk(_ bytes: UnsafeRawBufferPointer) -> FrameChunk {
        FrameChunk(bytes: bytes, isFinal: endsMessage, isBinary: isBinary, endsFrame: endsFrame, reserved: reserved)
    }
}
#endif
