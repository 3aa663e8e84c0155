import AdapterThreads
import SignalboxCore

/// The payloads that go outward: JSON objects in the words that every adapter uses.
enum AnswerText {
    /// A standard envelope, without a body where that is empty.
    ///
    /// - Parameter body: JSON, in UTF-8.
    static func envelope(_ action: ActionName, id: ActionID?, body: Bytes) -> [UInt8] {
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

    /// What became of an action: `{"id", "outcome", "reply" | "error"}`, without an id where its sender gave none.
    static func answer(_ id: ActionID?, _ key: IDKey, _ outcome: Outcome) -> [UInt8] {
        var text = JSONText()
        text.append(UInt8(ascii: "{"))
        if let id {
            text.append(literal: key == .uuid ? "\"uuid\":" : "\"id\":")
            text.append(string: id.text)
            text.append(UInt8(ascii: ","))
        }
        text.append(literal: "\"outcome\":")
        text.append(string: outcome.name)
        if case .handled(let reply) = outcome {
            if let reply, !reply.isEmpty, reply.text != nil {
                text.append(literal: ",\"reply\":")
                text.append(json: reply)
            }
        } else {
            append(OutcomeRefusal(outcome, to: "publisher"), to: &text)
        }
        text.append(UInt8(ascii: "}"))
        return text.bytes
    }

    private static func append(_ refusal: OutcomeRefusal, to text: inout JSONText) {
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
}
