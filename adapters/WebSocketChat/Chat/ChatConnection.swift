import AdapterSupport
public import SignalboxCore
import SignalboxRoutes

/// One WebSocket connection, to which a program can send messages.
///
/// Inside a plugin, `context.chat` is the connection that the message arrived on. Use it to send further messages to
/// the same peer, or give the connection a tag, so that ``broadcast(_:_:to:)`` reaches it together with all others that
/// have the tag.
///
/// This type is safe to use from any thread.
public final class ChatConnection: Sender {
    /// The identifier of the connection, which is never reused within the process.
    public let id: String
    /// The principal that the client's token identifies. It is `nil` for feeds, and if the server has no principals.
    public let principal: String?
    let number: ConnectionID
    private let hub: ChatHub

    init(_ number: ConnectionID, principal: String?, hub: ChatHub) {
        self.number = number
        id = String(number.number, radix: 36)
        self.principal = principal
        self.hub = hub
    }

    /// Sends a standard envelope. This method never blocks.
    ///
    /// - Throws: `closed` if the connection has ended, `full` if the peer reads too slowly (a server then closes the
    ///   connection with 1013), `tooLarge` if the message could never fit, `invalid` if the body is not UTF-8.
    public func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        guard body.isUTF8 else { throw .invalid }
        try hub.send(AnswerWriter.envelope(action, id: id, body: body), .text, to: number)
    }

    /// Sends a text message unchanged, for peers that do not use envelopes.
    ///
    /// - Throws: `closed`, `full` and `tooLarge`, as for ``send(_:id:body:)``.
    public func send(text: String) throws(SendRefused) {
        try hub.send(Array(text.utf8), .text, to: number)
    }

    /// Sends a binary message unchanged.
    ///
    /// - Throws: `closed`, `full` and `tooLarge`, as for ``send(_:id:body:)``.
    public func send(binary: Bytes) throws(SendRefused) {
        try hub.send(binary.withUnsafeBytes { Array($0) }, .binary, to: number)
    }

    /// Sends a text message given as bytes.
    ///
    /// - Throws: `closed`, `full` and `tooLarge`, as for ``send(_:id:body:)``, and `invalid` if the message is not
    ///   UTF-8.
    package func send(utf8 message: [UInt8]) throws(SendRefused) {
        guard message.withUnsafeBytes({ UTF8Stream.isText($0) }) else { throw .invalid }
        try hub.send(message, .text, to: number)
    }

    func answer(_ frame: [UInt8]) throws(SendRefused) {
        try hub.send(frame, .text, to: number)
    }

    /// Adds a tag of 1 to 128 bytes to the connection, which loses all its tags when it ends.
    ///
    /// - Returns: `true` if the connection now has the tag, and `false` if it has ended or has reached its limit of
    ///   tags.
    @discardableResult
    public func join(_ tag: String) -> Bool { hub.join(tag, number) }

    /// Removes a tag. This method does nothing if the connection does not have the tag.
    public func leave(_ tag: String) { hub.leave(tag, number) }

    /// The tags of the connection, in no particular order.
    public var tags: [String] { hub.tags(of: number) }

    /// Sends a standard envelope to every connection of the source that has the tag, including this one if it has the
    /// tag.
    ///
    /// This method never blocks. If the source is a server, it closes the connections that read too slowly with 1013,
    /// while all others still receive the envelope.
    @discardableResult
    public func broadcast(_ action: ActionName, _ body: Bytes, to tag: String) -> BroadcastReport {
        hub.broadcast(action, body, to: tag)
    }

    /// Closes the connection with 1000 after all messages that were sent before.
    public func close() { hub.close(number, .normal, reason: "") }
}

extension ActionContext {
    /// The connection that the action arrived on, or `nil` if its source is not a chat source.
    public var chat: ChatConnection? { sender as? ChatConnection }
}

/// The result of a broadcast.
public struct BroadcastReport: Sendable, Hashable {
    /// The number of connections that the message was queued for.
    public internal(set) var sent = 0
    /// The number of connections that did not accept the message, because they had ended or read too slowly.
    ///
    /// If the body is not UTF-8 or is too large, this is the number of all connections with the tag.
    public internal(set) var refused = 0
}

extension ActionName {
    /// The action that a source submits when a connection opens, before the first message of the connection.
    ///
    /// The body is an object with `connection`, `peer` and, if present, `principal`, `origin` and `subprotocol`. A peer
    /// cannot send this action.
    public static let chatConnected = ActionName.own("connected")
    /// The action that a source submits when a connection ends, after the last message of the connection.
    ///
    /// The body is that of ``chatConnected`` with the additional members `reason` and, if there is one, `code` (RFC
    /// 6455, 7.4). A peer cannot send this action.
    public static let chatClosed = ActionName.own("closed")
}

/// Encodes the bodies of ``ActionName/chatConnected`` and ``ActionName/chatClosed``.
enum ConnectionEventBody {
    /// - Parameter end: The reason for the end, or `nil` if the connection has opened.
    static func of(_ chat: ChatConnection, _ facts: ChatFacts, end: DisconnectReason? = nil) -> [UInt8] {
        var object = JSONObject()
        object.add("connection", chat.id)
        object.add("peer", facts.peer)
        object.add("principal", facts.principal)
        object.add("origin", facts.origin?.description)
        object.add("subprotocol", facts.subprotocol)
        if let (code, reason) = end?.closeFacts {
            object.add("reason", reason)
            if let code { object.add("code", Int(code.number)) }
        }
        return object.bytes
    }
}
