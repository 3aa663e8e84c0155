import SignalboxCore
import SignalboxTesting

/// What the payload of an answer says.
struct AnswerPayload: Decodable {
    struct Refusal: Decodable {
        let code: String
    }

    let outcome: String
    let reply: RawBody?
    let error: Refusal?

    static func read(_ payload: Bytes) throws -> ConformanceAnswer {
        let answer = try Body(json: payload).decode(AnswerPayload.self)
        if let error = answer.error { return .error(code: error.code) }
        return .reply(answer.reply?.bytes.copied())
    }
}
