package import SignalboxCore

/// Writes the JSON objects that adapters send to their peers, in the format that all adapters share.
package enum AnswerWriter {
    /// Returns a standard envelope. It has no member for an empty body.
    ///
    /// - Parameter body: The body as JSON in UTF-8.
    package static func envelope(_ action: ActionName, id: ActionID?, body: Bytes) -> [UInt8] {
        var object = JSONObject()
        object.add("action", action.text)
        object.add("id", id?.text)
        if !body.isEmpty { object.add("body", json: body) }
        return object.bytes
    }

    /// Returns the answer with the outcome of an action: `{"id" | "uuid", "outcome", "reply" | "error"}`.
    ///
    /// The id has the same key as in the message of the sender. The answer has no id if none is given.
    ///
    /// - Parameter sender: The noun for the sender in descriptions of errors, such as `connection`.
    package static func answer(_ id: ActionID?, _ key: IDKey, _ outcome: Outcome, to sender: String) -> [UInt8] {
        var object = JSONObject()
        object.add(key == .uuid ? "uuid" : "id", id?.text)
        object.add("outcome", outcome.name)
        if case .handled(let reply) = outcome {
            // A peer would close the connection if it received text that is not UTF-8.
            if let reply, !reply.isEmpty, reply.isUTF8 { object.add("reply", json: reply) }
        } else {
            let refusal = ErrorReply(outcome, to: sender)
            var error = JSONObject()
            error.add("code", refusal.code)
            error.add("message", refusal.message)
            error.add("path", refusal.path)
            object.add("error", json: error.bytes)
        }
        return object.bytes
    }
}

/// The error that the sender of a message gets if the message was not handled. It helps the sender to correct the
/// message, but reveals nothing about the program.
package struct ErrorReply {
    /// The name of the outcome: `rejected`, `failed` or `abandoned`.
    package let outcome: String
    /// The reason code, such as `unknownAction`.
    package let code: String
    /// A readable description.
    package let message: String
    /// The path of the invalid value in the body, if such a value caused the rejection.
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
            // The error of the plugin belongs only in the log of the program, because it may contain file names and
            // queries.
            message = failure.reason == .timeout ? "the plugin did not answer in time" : "the plugin failed"
            path = nil
        case .abandoned(let abandonment):
            code = abandonment.description
            message = "the program abandoned the message: \(abandonment)"
            path = nil
        }
    }
}
