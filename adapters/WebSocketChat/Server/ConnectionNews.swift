import SignalboxCore
import SignalboxRoutes

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
