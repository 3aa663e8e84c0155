import AdapterThreads
import SignalboxCore

/// What the promise of a raw call is settled with.
enum RawAnswer: Sendable, Hashable {
    /// Resolved with this JSON.
    case reply(String)
    /// Rejected with an error of this text: a code, a colon and a sentence.
    case error(String)
}

extension RawAnswer {
    /// The page ends before there is an outcome.
    static let closed = RawAnswer.error("closed: the page ends")

    /// What the caller is told of an outcome.
    init(_ outcome: Outcome) {
        guard case .handled(let reply) = outcome else {
            let refusal = OutcomeRefusal(outcome, to: "page")
            self = .error("\(refusal.code): \(refusal.message)")
            return
        }
        self = .reply(reply.map { String(decoding: $0, as: UTF8.self) } ?? "null")
    }
}
