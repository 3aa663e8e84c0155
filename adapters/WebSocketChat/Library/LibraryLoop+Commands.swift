import CLibwebsockets

extension LibraryLoop {
    /// Carries out what other threads, and the receiver, asked for.
    func carryOut() {
        // What the receiver asks for meanwhile comes at once, too: nobody else wakes the thread for it.
        while true {
            let entries = queue.take()
            if entries.isEmpty { break }
            for entry in entries { carryOut(entry) }
        }
        stopIfDone()
    }

    private func carryOut(_ entry: ServiceQueue.Entry) {
        switch entry {
        case .connect(let id, let target): connect(id, target)
        case .message(let id, let kind, let bytes): append(.message(kind, bytes), to: id)
        case .command(let id, .ping): append(.ping, to: id)
        case .command(let id, .close(let code, let reason)):
            guard let connection = connections[id] else { return }
            if connection.phase == .opening {
                cut(connection, code, reason: reason)
            } else {
                append(.close(code, reason: reason), to: id)
            }
        case .command(let id, .cut(let code, let reason)):
            if let connection = connections[id] { cut(connection, code, reason: reason) }
        case .command(let id, .pause):
            if let connection = connections[id] { pause(connection) }
        case .command(let id, .resume):
            if let connection = connections[id] { resume(connection) }
        }
    }

    private func append(_ next: LibraryConnection.Outgoing, to id: ConnectionID) {
        guard let connection = connections[id], connection.phase == .open, let handle = connection.handle else {
            return
        }
        // Where something waits already, the library was asked.
        if !connection.hasNext { lws_callback_on_writable(handle) }
        connection.append(next)
    }

    private static func closingSeconds(_ limits: TransportLimits) -> Int32 {
        Int32(clamping: min(limits.connectWithin, 5))
    }

    /// Closes before anything else is sent. A connection that is not open yet is given up.
    ///
    /// - Parameter end: what the receiver is told, unless that we closed.
    func cut(_ connection: LibraryConnection, _ code: CloseCode, reason: String, end: ConnectionEnd? = nil) {
        guard connection.cut == nil, connection.phase != .ending else { return }
        connection.cut = (code, reason, end ?? .closedHere(code, reason: reason))
        connection.drop()
        queue.closed(connection.id)
        guard let handle = connection.handle else { return }
        if connection.phase == .open {
            // The close frame's answer is to be read.
            resume(connection)
            lws_callback_on_writable(handle)
            // A peer that takes nothing does not let itself be told either.
            lws_set_timeout(handle, PENDING_TIMEOUT_CLOSE_SEND, LibraryLoop.closingSeconds(limits))
        } else {
            connection.end = connection.cut?.end
            lws_set_timeout(handle, PENDING_TIMEOUT_CLOSE_SEND, LWS_TO_KILL_ASYNC)
        }
    }
}
