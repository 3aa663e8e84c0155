package import SignalboxCore

/// What a sender is told about a message that was not handled: enough to correct the sender, and nothing about the program.
package struct OutcomeRefusal {
    /// `rejected`, `failed` or `abandoned`.
    package let outcome: String
    /// Such as `unknownAction`.
    package let code: String
    /// A sentence for people.
    package let message: String
    /// Where in the message, when that was at fault.
    package let path: String?

    /// - Parameters:
    ///   - outcome: what became of the message.
    ///   - sender: who sent it, as the sentence has it, such as `page`.
    /// - Precondition: the outcome is not `handled`.
    package init(_ outcome: Outcome, to sender: String) {
        self.outcome = outcome.name
        switch outcome {
        case .handled:
            preconditionFailure("a handled message is answered, not refused")
        case .rejected(let rejection):
            code = rejection.reason.description
            // The detail of this one is the plugin's access rule.
            message =
                rejection.reason == .sourceNotAllowed ? "this \(sender) may not call the action" : rejection.detail
            path = rejection.bodyError.flatMap { $0.path.isEmpty ? nil : $0.path }
        case .failed(let failure):
            code = failure.reason.description
            // What the plugin threw is for the program's log: it may tell of files and queries.
            message = failure.reason == .timeout ? "the plugin did not answer in time" : "the plugin failed"
            path = nil
        case .abandoned(let abandonment):
            code = abandonment.description
            message = "the program let go of the message: \(abandonment)"
            path = nil
        }
    }
}
