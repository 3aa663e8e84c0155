import AdapterThreads
import SignalboxCore

/// The messages to browser.js: a line that says what it is, and JSON behind it.
enum ProgramFrame {
    /// What became of a call of the page.
    static func outcome(_ number: UInt64, _ outcome: Outcome) -> [UInt8] {
        guard case .handled(let reply) = outcome else {
            return refusal(number, OutcomeRefusal(outcome, to: "page"))
        }
        var frame = Array("reply \(number)".utf8)
        if let reply, !reply.isEmpty {
            frame.append(UInt8(ascii: "\n"))
            frame += reply
        }
        return frame
    }

    /// A call of the page was handled, and its reply cannot be sent.
    static func unsent(_ number: UInt64, _ refusal: SendRefused) -> [UInt8] {
        let detail = "the reply cannot be sent to a page: \(refusal)"
        return frame("refuse \(number)", list: [.some("threw"), detail, nil, "failed"])
    }

    private static func refusal(_ number: UInt64, _ refusal: OutcomeRefusal) -> [UInt8] {
        frame("refuse \(number)", list: [refusal.code, refusal.message, refusal.path, refusal.outcome])
    }

    private static func frame(_ line: String, list: [String?]) -> [UInt8] {
        var text = JSONText()
        text.append(literal: "\(line)\n")
        var separator = UInt8(ascii: "[")
        for item in list {
            text.append(separator)
            separator = UInt8(ascii: ",")
            if let item { text.append(string: item) } else { text.append(literal: "null") }
        }
        text.append(UInt8(ascii: "]"))
        return text.bytes
    }

    /// A message of the program.
    ///
    /// - Parameter number: what the page's answer bears, or 0 when none is waited for.
    static func message(_ number: UInt64, _ action: ActionName, _ id: ActionID?, _ body: Bytes) -> [UInt8] {
        var text = JSONText()
        text.append(literal: "message \(number) \(action.text)\n")
        if let id { text.append(string: id.text) }
        text.append(UInt8(ascii: "\n"))
        text.append(json: body)
        return text.bytes
    }
}
