import SignalboxCore
import SignalboxTesting

/// A frame that tells a sender what became of its action.
struct AnswerFrame: Decodable {
    struct Refusal: Decodable {
        let code: String
    }

    let id: String
    let outcome: String
    let reply: RawBody?
    let error: Refusal?

    /// `nil` when the message is none.
    static func read(_ message: Bytes) -> AnswerFrame? {
        try? Body(json: message).decode(AnswerFrame.self)
    }

    var answer: ConformanceAnswer {
        if let error { .error(code: error.code) } else { .reply(reply?.bytes.copied()) }
    }
}
