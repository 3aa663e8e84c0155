public import SignalboxCore

/// One WebSocket connection as the program sees it: something to send to, with tags by which many are reached. Any thread.
///
/// A plugin gets the connection its message came by with `context.chat`.
public final class ChatConnection: Sender {
    /// A text that no other connection of the process has or had.
    public let id: String
    /// Who the client is, by its token; `nil` where none is asked for, and for feeds.
    public let principal: String?
    let number: ConnectionID
    private let hub: ChatHub

    init(_ number: ConnectionID, principal: String?, hub: ChatHub) {
        self.number = number
        id = String(number.number, radix: 36)
        self.principal = principal
        self.hub = hub
    }

    /// Sends a standard envelope. Never blocks.
    ///
    /// - Throws: `closed` when the connection is gone, `full` when the peer reads too slowly (a server then closes the
    ///   connection with 1013), `tooLarge` when it would never fit, `invalid` when the body is not UTF-8.
    public func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        guard let frame = ChatFrame.envelope(action, id: id, body: body) else { throw .invalid }
        try hub.send(frame, .text, to: number)
    }

    /// Sends a text message as it is, for peers that speak something else than envelopes.
    ///
    /// - Throws: `closed`, `full`, `tooLarge`.
    public func send(text: String) throws(SendRefused) {
        try hub.send(Array(text.utf8), .text, to: number)
    }

    /// Sends a binary message as it is.
    ///
    /// - Throws: `closed`, `full`, `tooLarge`.
    public func send(binary: Bytes) throws(SendRefused) {
        try hub.send(binary.withUnsafeBytes { Array($0) }, .binary, to: number)
    }

    /// Sends a text message that is given as bytes.
    ///
    /// - Throws: `closed`, `full`, `tooLarge`; `invalid` when it is not UTF-8.
    package func send(utf8 message: [UInt8]) throws(SendRefused) {
        guard message.withUnsafeBytes({ UTF8Stream.isText($0) }) else { throw .invalid }
        try hub.send(message, .text, to: number)
    }

    func answer(_ frame: [UInt8]) throws(SendRefused) {
        try hub.send(frame, .text, to: number)
    }

    /// Gives the connection a tag: 1 to 128 bytes. Tags end with the connection.
    ///
    /// - Returns: whether the connection has it now: not when it is gone, or has as many as it may.
    @discardableResult
    public func join(_ tag: String) -> Bool { hub.join(tag, number) }

    /// Takes a tag away.
    public func leave(_ tag: String) { hub.leave(tag, number) }

    /// The connection's tags, in no order.
    public var tags: [String] { hub.tags(of: number) }

    /// Sends a standard envelope to every connection of the source that has the tag, this one too if it has it.
    ///
    /// Never blocks. One that reads too slowly is closed with 1013 and does not keep the others from hearing it.
    @discardableResult
    public func broadcast(_ action: ActionName, _ body: Bytes, to tag: String) -> BroadcastReport {
        hub.broadcast(action, body, to: tag)
    }

    /// Closes the connection with 1000 after all that was sent before.
    public func close() { hub.close(number, .normal, reason: "") }
}

extension ActionContext {
    /// The connection the action came by, or `nil` when it came from another kind of source.
    public var chat: ChatConnection? { sender as? ChatConnection }
}
