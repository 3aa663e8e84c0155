import AdapterThreads
import SignalboxCore

/// What a page's process learns about a message: what the page is told, and nothing else about the program.
enum WorkerOutcome {
    /// The texts of a frame: `handled` and the reply; or `rejected`, `failed` or `abandoned`, the code, and for a rejection the
    /// sentence and the path.
    static func texts(_ outcome: Outcome) -> [[UInt8]] {
        if case .handled(let reply) = outcome {
            return [Array("handled".utf8)] + (reply.map { [Array($0)] } ?? [])
        }
        let refusal = OutcomeRefusal(outcome, to: "page")
        return [refusal.outcome, refusal.code, refusal.message, refusal.path ?? ""].map { Array($0.utf8) }
    }

    /// The outcome that tells the page the same. Texts in any other form are a failure.
    static func outcome(_ texts: [[UInt8]]) -> Outcome {
        func text(_ place: Int) -> String {
            texts.indices.contains(place) ? String(decoding: texts[place], as: UTF8.self) : ""
        }
        switch text(0) {
        case "handled": return .handled(reply: texts.count > 1 ? Bytes(texts[1]) : nil)
        case "rejected":
            guard let reason = Outcome.Rejection.Reason(text(1)) else { break }
            return .rejected(Outcome.Rejection(reason, detail: text(2), path: text(3)))
        case "abandoned": return .abandoned(Outcome.Abandonment(text(1)) ?? .stop)
        default: break
        }
        return .failed(Outcome.Failure(text(1) == "timeout" ? .timeout : .threw, detail: "the plugin failed"))
    }
}
