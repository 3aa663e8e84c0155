package import SignalboxCore

/// The error returned to the sender of a message that was not handled. It helps correct the message and reveals nothing
/// about the program.
package struct ErrorReply {
    /// The name of the outcome: `rejected`, `failed` or `abandoned`.
    package let outcome: String
    /// The reason code, such as `unknownAction`.
    package let code: String
    /// A readable description.
    package let message: String
    /// The path of the invalid value in the message body, if that caused the rejection.
    package let path: String?

    /// - Parameters:
    ///   - outcome: The outcome of the message.
    ///   - sender: The noun for the sender in the description, such as `page`.
    /// - Precondition: The outcome is not `handled`.
    package init(_ outcome: Outcome, to sender: String) {
        self.outcome = outcome.name
        switch outcome {
        case .handled:
            preconditionFailure("a handled message has no error")
        case .rejected(let rejection):
            code = rejection.reason.description
            // The detail of this rejection is the plugin's access rule, which the sender must not learn.
            message =
                rejection.reason == .sourceNotAllowed ? "this \(sender) may not call the action" : rejection.detail
            path = rejection.bodyError.flatMap { $0.path.isEmpty ? nil : $0.path }
        case .failed(let failure):
            code = failure.reason.description
            // The plugin's error belongs in the program's log only: it may contain file names and queries.
            message = failure.reason == .timeout ? "the plugin did not answer in time" : "the plugin failed"
            path = nil
        case .abandoned(let abandonment):
            code = abandonment.description
            message = "the program abandoned the message: \(abandonment)"
            path = nil
        }
    }
}
