import AdapterSupport
import SignalboxCore

/// Encodes text messages to a peer as JSON objects. Embedded JSON is checked for UTF-8, because a peer closes the
/// connection on invalid text.
enum ChatFrame {
    /// Encodes a standard envelope, without an empty body. Returns `nil` if the body is not UTF-8.
    static func envelope(_ action: ActionName, id: ActionID?, body: Bytes) -> [UInt8]? {
        guard isUTF8(body) else { return nil }
        var text = JSONText()
        text.append(literal: "{\"action\":")
        text.append(string: action.text)
        if let id {
            text.append(literal: ",\"id\":")
            text.append(string: id.text)
        }
        if !body.isEmpty {
            text.append(literal: ",\"body\":")
            text.append(json: body)
        }
        text.append(UInt8(ascii: "}"))
        return text.bytes
    }

    /// Encodes an action's outcome under the key its sender used for the id: `{"id", "outcome", "reply" | "error"}`.
    static func answer(_ id: ActionID, _ key: IDKey, _ outcome: Outcome) -> [UInt8] {
        var text = JSONText()
        text.append(literal: key == .uuid ? "{\"uuid\":" : "{\"id\":")
        text.append(string: id.text)
        text.append(literal: ",\"outcome\":")
        text.append(string: outcome.name)
        if case .handled(let reply) = outcome {
            if let reply, !reply.isEmpty, isUTF8(reply) {
                text.append(literal: ",\"reply\":")
                text.append(json: reply)
            }
        } else {
            append(ErrorReply(outcome, to: "connection"), to: &text)
        }
        text.append(UInt8(ascii: "}"))
        return text.bytes
    }

    private static func append(_ refusal: ErrorReply, to text: inout JSONText) {
        text.append(literal: ",\"error\":{\"code\":")
        text.append(string: refusal.code)
        text.append(literal: ",\"message\":")
        text.append(string: refusal.message)
        if let path = refusal.path {
            text.append(literal: ",\"path\":")
            text.append(string: path)
        }
        text.append(UInt8(ascii: "}"))
    }

    private static func isUTF8(_ bytes: Bytes) -> Bool {
        bytes.withUnsafeBytes { UTF8Stream.isText($0) }
    }
}
