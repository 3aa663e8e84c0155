public import SignalboxCore
import SignalboxRoutes

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

/// How far a broadcast came.
public struct BroadcastReport: Sendable, Hashable {
    /// How many connections it was handed over for.
    public internal(set) var sent = 0
    /// How many did not take it: they went meanwhile, or read too slowly and were closed with 1013; all of them when the
    /// body is not UTF-8, or too large for any.
    public internal(set) var refused = 0
}

extension ActionName {
    /// A connection was opened; submitted before its first message. The body is an object of `connection`, `peer`, and
    /// where there are any `principal`, `origin` and `subprotocol`. No peer can send it.
    public static let chatConnected = ActionName.own("connected")
    /// A connection ended; submitted after its last message. The body is that of ``chatConnected`` with `code` (RFC 6455,
    /// 7.4), where there was one, and `reason`. No peer can send it.
    public static let chatClosed = ActionName.own("closed")
}

/// The bodies of ``ActionName/chatConnected`` and ``ActionName/chatClosed``.
enum ConnectionNews {
    static func opened(_ chat: ChatConnection, _ facts: ChatFacts) -> [UInt8] {
        text(of: members(chat, facts))
    }

    static func closed(_ chat: ChatConnection, _ facts: ChatFacts, _ end: ConnectionEnd) -> [UInt8] {
        let (code, reason) = told(end)
        return text(of: members(chat, facts) + [("reason", reason)], code: code)
    }

    private static func members(_ chat: ChatConnection, _ facts: ChatFacts) -> [(String, String?)] {
        [
            ("connection", chat.id), ("peer", facts.peer), ("principal", facts.principal),
            ("origin", facts.origin?.description), ("subprotocol", facts.subprotocol),
        ]
    }

    private static func told(_ end: ConnectionEnd) -> (CloseCode?, String) {
        switch end {
        case .closedByPeer(.absent, let reason): (nil, reason)
        case .closedByPeer(let code, let reason), .closedHere(let code, let reason): (code, reason)
        case .brokeProtocol(let code): (code, "the peer broke the protocol")
        case .lost: (nil, "the connection broke")
        case .stopped: (nil, "the source stopped")
        case .unusable(let text), .notResolved(let text), .notConnected(let text), .notSecured(let text),
            .noUpgrade(let text):
            (nil, text)
        case .refused(let status): (nil, "refused with \(status)")
        }
    }

    private static func text(of members: [(String, String?)], code: CloseCode? = nil) -> [UInt8] {
        var text = JSONText()
        var separator = UInt8(ascii: "{")
        for case (let name, let value?) in members {
            text.append(separator)
            separator = UInt8(ascii: ",")
            text.append(string: name)
            text.append(UInt8(ascii: ":"))
            text.append(string: value)
        }
        if let code { text.append(literal: ",\"code\":\(code.number)") }
        text.append(UInt8(ascii: "}"))
        return text.bytes
    }
}
