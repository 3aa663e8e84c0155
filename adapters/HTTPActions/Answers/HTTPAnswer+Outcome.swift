import AdapterSupport
import SignalboxCore
import WebSocketChat

extension HTTPAnswer {
    /// Creates the answer that reports an outcome. The body is the reply of a handled action; otherwise, it is an object with
    /// the outcome and the error, as the answers of other sources.
    init(_ outcome: Outcome, id: ActionID?, headers: [(name: String, value: String)]) {
        let named = headers + [("Signalbox-Outcome", outcome.code)]
        if case .handled(let reply) = outcome {
            let hasReply = reply.map { !$0.isEmpty && $0.isUTF8 } ?? false
            self.init(
                status: 200,
                headers: named,
                contentType: hasReply ? "application/json" : nil,
                body: hasReply ? reply.map(Array.init) ?? [] : []
            )
            return
        }
        let status = HTTPAnswer.status(of: outcome)
        self.init(
            status: status,
            headers: named + (HTTPAnswer.isTemporary(status) ? [("Retry-After", "1")] : []),
            contentType: "application/json",
            body: AnswerWriter.answer(id, .id, outcome, to: "client") + [UInt8(ascii: "\n")]
        )
    }

    /// Creates the answer to a request whose message is on disk, but not handled yet.
    static func accepted(_ id: ActionID, headers: [(name: String, value: String)]) -> HTTPAnswer {
        HTTPAnswer(
            status: 202,
            headers: headers + [("Signalbox-Outcome", AnswerWriter.acceptance)],
            contentType: "application/json",
            body: AnswerWriter.accepted(id, .id) + [UInt8(ascii: "\n")]
        )
    }

    private static func isTemporary(_ status: Int) -> Bool { status == 429 || status == 503 }

    /// Returns the status that says the same as an outcome (RFC 9110, 15; RFC 6585).
    static func status(of outcome: Outcome) -> Int {
        switch outcome {
        case .handled: 200
        case .rejected(let rejection): status(of: rejection)
        case .failed(let failure): failure.reason == .timeout ? 504 : 500
        case .abandoned: 503
        }
    }

    private static func status(of rejection: Outcome.Rejection) -> Int {
        switch rejection.reason {
        case .malformed: rejection.bodyError?.code == .tooLarge ? 413 : 400
        case .sourceNotAllowed: 403
        case .unknownAction: 404
        case .idConflict: 409
        case .expired: 410
        case .invalidBody: 422
        case .overloaded: 429
        case .unavailable: 503
        // The program, and not the client, has to change something.
        default: 500
        }
    }
}
