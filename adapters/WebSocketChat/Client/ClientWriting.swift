#if WebSocket
import AdapterSupport
import SecureTransport

extension ClientLoop {
    /// How long a server may keep a connection whose end both sides have confirmed (RFC 6455, 7.1.1).
    static let closedWithin = Duration.seconds(1)
    // How long a peer has to answer a close frame, unless the limits allow less.
    private static let answerWithin = Duration.seconds(5)

    /// Writes pending output: as much as the link accepts, and at most one new batch, because the thread also serves other
    /// connections.
    func write(_ connection: ClientConnection) {
        guard let link = connection.link, !connection.isWritingOver else { return }
        var mayFill = true
        while true {
            if connection.frames.isEmpty {
                guard mayFill else { return endWriting(connection) }
                mayFill = false
                fill(connection)
                if connection.frames.isEmpty { return endWriting(connection) }
            }
            guard flush(connection, link) else { return }
        }
    }

    /// - Returns: Whether the link has taken all frames.
    private func flush(_ connection: ClientConnection, _ link: any Link) -> Bool {
        do throws(LinkError) {
            connection.written += try connection.frames.bytes[connection.written...]
                .withUnsafeBufferPointer { rest throws(LinkError) in try link.write(UnsafeRawBufferPointer(rest)) }
        } catch {
            connection.isWritingOver = true
            // Reading usually finds the end of the connection first, with what the server has sent before it.
            if connection.isOpen { connection.deadline = .now + ClientLoop.closedWithin }
            return false
        }
        guard connection.written == connection.frames.bytes.count else { return false }
        queue.wrote(cost: connection.frames.cost, on: connection.id)
        connection.frames.removeAll()
        connection.written = 0
        return true
    }

    /// Makes frames of what is waiting.
    private func fill(_ connection: ClientConnection) {
        while let content = connection.nextPong() { connection.frames.append(.pong, content) }
        while let next = connection.outgoing.first {
            if case .message(_, let bytes) = next, !connection.frames.isEmpty,
                !connection.frames.hasRoom(forCost: ServiceQueue.cost(of: bytes))
            {
                return
            }
            connection.outgoing.removeFirst()
            switch next {
            case .message(let kind, let bytes): add(bytes, kind, connection)
            case .ping: connection.frames.append(.ping, [])
            case .close(let code, let reason): close(connection, code, reason: reason)
            }
        }
        if let content = connection.closing.frame {
            connection.closing.frame = nil
            connection.closing.isSent = true
            connection.frames.append(.close, content)
        }
    }

    private func add(_ message: [UInt8], _ kind: MessageKind, _ connection: ClientConnection) {
        let mayPack = message.count >= MessageDeflater.minimumMessageSize
        let packed = mayPack ? connection.deflater?.deflate(message) : nil
        let cost = ServiceQueue.cost(of: message)
        connection.frames.append(packed ?? message, kind, isCompressed: packed != nil, cost: cost)
    }

    /// Leaves the end of a connection to the server once both close frames were exchanged (RFC 6455, 7.1.1).
    private func endWriting(_ connection: ClientConnection) {
        guard connection.closing.isSent, connection.closing.isReceived else { return }
        connection.isWritingOver = true
        let limit = ContinuousClock.now + ClientLoop.closedWithin
        connection.deadline = connection.deadline.map { min($0, limit) } ?? limit
        connection.link?.finish()
    }

    // MARK: - Closing

    private func close(_ connection: ClientConnection, _ code: CloseCode, reason: String) {
        beginClosing(connection, code, reason: reason, .closedLocally(code, reason: reason))
    }

    /// Closes the connection before anything else is sent, except for frames that were begun. A connection that is not
    /// open is aborted.
    ///
    /// - Parameter closeReason: The reason to report to the receiver, or `nil` to report `closedLocally`.
    func cut(
        _ connection: ClientConnection,
        _ code: CloseCode,
        reason: String,
        closeReason: DisconnectReason? = nil
    ) {
        let end = closeReason ?? .closedLocally(code, reason: reason)
        switch connection.phase {
        case .closing where connection.ignoresInput:
            // The answer to the close frame cannot be recognised any more (RFC 6455, 7.1.7).
            connection.closing.isReceived = true
            write(connection)
        case .closing: break
        case .open: beginClosing(connection, code, reason: reason, end)
        case .retrying, .connecting, .upgrading: finish(connection, end)
        }
    }

    private func beginClosing(
        _ connection: ClientConnection,
        _ code: CloseCode,
        reason: String,
        _ end: DisconnectReason
    ) {
        queue.closed(connection.id)
        var limit = min(.seconds(limits.connectWithin), ClientLoop.answerWithin)
        // After a violation, no answer is awaited (RFC 6455, 7.1.7), nor if the close frame cannot be sent.
        if connection.ignoresInput || connection.isWritingOver {
            connection.closing.isReceived = true
            limit = ClientLoop.closedWithin
        }
        let content = ClosingFrame.content(code.isSendable ? code : .normal, reason: reason)
        connection.close(content, end, until: .now + limit)
        // The peer's close frame must be read. Messages that precede it are ignored.
        connection.isPaused = false
        connection.isHungUp = false
        connection.hasHeld = true
    }
}

/// The content of a close frame (RFC 6455, 5.5.1).
enum ClosingFrame {
    /// Returns the code and as much of the reason as fits, without splitting a character.
    static func content(_ code: CloseCode, reason: String) -> [UInt8] {
        withUnsafeBytes(of: code.number.bigEndian) { Array($0) } + text(reason)
    }

    /// Returns as much of a reason as fits into a close frame, without splitting a character.
    static func text(_ reason: String) -> [UInt8] {
        var bytes: [UInt8] = []
        for character in reason.unicodeScalars {
            let next = Array(String(character).utf8)
            guard bytes.count + next.count <= CloseCode.reasonLimit else { break }
            bytes += next
        }
        return bytes
    }
}
#endif
