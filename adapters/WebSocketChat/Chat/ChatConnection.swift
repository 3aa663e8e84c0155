import AdapterSupport
public import SignalboxCore
import SignalboxRoutes
import Synchronization

/// A WebSocket connection that a program can send messages to.
///
/// Inside a plugin, `context.chat` is the connection that the message arrived on. Use it to send further messages to
/// the same peer, to ask it with ``call(_:_:returning:timeout:)``, or to give the connection a tag.
/// ``broadcast(_:_:to:)`` sends a message to all connections that have the same tag.
///
/// This type is safe to use from any thread.
public final class ChatConnection: Sender {
    /// The connection's identifier, which is never reused within the process.
    public let id: String
    /// The principal identified by the client's token, or `nil` for feeds and for servers without principals.
    public let principal: String?
    let number: ConnectionID
    let hub: ChatHub
    let calls = ChatCalls()
    private let closeRequested = Atomic(false)

    init(_ number: ConnectionID, principal: String?, hub: ChatHub) {
        self.number = number
        id = String(number.number, radix: 36)
        self.principal = principal
        self.hub = hub
    }

    /// Sends a standard envelope. This method never blocks.
    ///
    /// - Throws:
    ///   - `closed` if the connection has ended.
    ///   - `full` if the peer reads too slowly. A server then closes the connection with 1013.
    ///   - `tooLarge` if the message could never fit into the connection's queue.
    ///   - `invalid` if the body is not UTF-8.
    public func send(_ action: ActionName, id: ActionID?, body: Bytes) throws(SendRefused) {
        guard body.isUTF8 else { throw .invalid }
        try hub.send(AnswerWriter.envelope(action, id: id, body: body), .text, to: number)
    }

    /// Sends a text message as is, for peers that do not use envelopes.
    ///
    /// - Throws: `closed`, `full` or `tooLarge`, as for ``send(_:id:body:)``.
    public func send(text: String) throws(SendRefused) {
        try hub.send(Array(text.utf8), .text, to: number)
    }

    /// Sends a binary message as is.
    ///
    /// - Throws: `closed`, `full` or `tooLarge`, as for ``send(_:id:body:)``.
    public func send(binary: Bytes) throws(SendRefused) {
        try hub.send(binary.withUnsafeBytes { Array($0) }, .binary, to: number)
    }

    /// Sends a text message given as bytes.
    ///
    /// - Throws: `closed`, `full` or `tooLarge`, as for ``send(_:id:body:)``, and `invalid` if the message is not
    ///   UTF-8.
    package func send(utf8 message: [UInt8]) throws(SendRefused) {
        guard message.withUnsafeBytes({ UTF8Stream.isText($0) }) else { throw .invalid }
        try hub.send(message, .text, to: number)
    }

    /// The number of bytes that are queued and not written yet, or `nil` if the connection has ended.
    package var waitingBytes: Int? { hub.waitingBytes(on: number) }

    func answer(_ frame: [UInt8]) throws(SendRefused) {
        try hub.send(frame, .text, to: number)
    }

    /// Adds a tag, which must be 1 to 128 bytes long, to the connection. The connection loses all its tags when it
    /// ends.
    ///
    /// - Returns: Whether the connection now has the tag. The result is `false` if the connection has ended or has
    ///   reached its limit of tags.
    @discardableResult
    public func join(_ tag: String) -> Bool { hub.join(tag, number) }

    /// Removes a tag. Does nothing if the connection does not have the tag.
    public func leave(_ tag: String) { hub.leave(tag, number) }

    /// The tags of the connection, in no particular order.
    public var tags: [String] { hub.tags(of: number) }

    /// Sends a standard envelope to all of the source's connections that have the tag, including this connection if it
    /// has the tag.
    ///
    /// This method never blocks. If the source is a server, any connection that reads too slowly is closed with 1013.
    /// All other connections still receive the envelope.
    @discardableResult
    public func broadcast(_ action: ActionName, _ body: Bytes, to tag: String) -> BroadcastReport {
        hub.broadcast(action, body, to: tag)
    }

    /// Closes the connection with 1000, after sending all earlier messages.
    public func close() { close(with: .normal, reason: "") }

    /// Closes the connection, after sending all earlier messages. The run of a feed that does not reconnect then ends
    /// without an error, whatever the code.
    ///
    /// - Parameters:
    ///   - code: The code of the close frame (RFC 6455, 7.4): 1000 to 1003, 1007 to 1014, or 3000 to 4999.
    ///   - reason: The text that follows the code, at most 123 bytes in UTF-8.
    /// - Throws: `invalid` for any other code, and `tooLarge` for a longer reason.
    public func close(code: UInt16, reason: String = "") throws(SendRefused) {
        if let refusal = ChatConnection.refusal(ofClosingWith: code, reason: reason) { throw refusal }
        close(with: CloseCode(number: code), reason: reason)
    }

    /// Returns why ``close(code:reason:)`` would refuse these values, or `nil` if it would not.
    package static func refusal(ofClosingWith code: UInt16, reason: String) -> SendRefused? {
        guard CloseCode(number: code).isSendable else { return .invalid }
        return reason.utf8.count <= CloseCode.reasonLimit ? nil : .tooLarge
    }

    /// Whether this program closed the connection on purpose, and not because the peer broke a rule.
    var isCloseRequested: Bool { closeRequested.load(ordering: .relaxed) }

    private func close(with code: CloseCode, reason: String) {
        closeRequested.store(true, ordering: .relaxed)
        hub.close(number, code, reason: reason)
    }
}

extension ActionContext {
    /// The connection that the action arrived on, or `nil` if the action does not come from a chat source.
    public var chat: ChatConnection? { sender as? ChatConnection }
}

/// The result of a broadcast.
public struct BroadcastReport: Sendable, Hashable {
    /// The number of connections for which the message was queued.
    public internal(set) var sent = 0
    /// The number of connections that did not accept the message because they had ended or read too slowly.
    ///
    /// If the body is too large or is not UTF-8, every connection with the tag is counted here.
    public internal(set) var refused = 0
}

extension ActionName {
    /// The action that a source submits when a connection opens, before the connection's first message.
    ///
    /// The body is an object with `connection`, `peer` and, if present, `principal`, `origin` and `subprotocol`. Peers
    /// cannot send this action.
    public static let chatConnected = ActionName.own("connected")
    /// The action that a source submits when a connection ends, after the connection's last message.
    ///
    /// The body has the same members as ``chatConnected``, plus `reason` and, if the close code is known, `code`
    /// (RFC 6455, 7.4). Peers cannot send this action.
    public static let chatClosed = ActionName.own("closed")
}

/// Encodes the bodies of ``ActionName/chatConnected`` and ``ActionName/chatClosed``.
enum ConnectionEventBody {
    /// - Parameter end: Why the connection ended, or `nil` if it has just opened.
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
