package import SignalboxCore

/// Writes the JSON objects that adapters send to their peers, in the same format for all adapters.
package enum AnswerWriter {
    /// Encodes an action as a standard envelope. An empty body is left out.
    ///
    /// - Parameter body: The body as JSON, encoded as UTF-8.
    package static func envelope(_ action: ActionName, id: ActionID?, body: Bytes) -> [UInt8] {
        var object = JSONObject()
        object.add("action", action.text)
        object.add("id", id?.text)
        if !body.isEmpty { object.add("body", json: body) }
        return object.bytes
    }

    /// Encodes the answer that tells a sender that its action is on disk: `{"id" | "uuid", "outcome": "accepted"}`. The
    /// outcome follows in another answer.
    package static func accepted(_ id: ActionID, _ key: IDKey) -> [UInt8] {
        var object = JSONObject()
        object.add(key == .uuid ? "uuid" : "id", id.text)
        object.add("outcome", acceptance)
        return object.bytes
    }

    /// What an answer has in place of the outcome of an action that is accepted, but has no outcome yet.
    package static let acceptance = "accepted"

    /// Encodes the answer that reports an action's outcome to its sender:
    /// `{"id" | "uuid", "outcome", "reply" | "error"}`.
    ///
    /// The id has the same key as in the sender's message. If no id is given, the answer contains no id.
    ///
    /// - Parameter sender: The noun for the sender in error descriptions, such as `connection`.
    package static func answer(_ id: ActionID?, _ key: IDKey, _ outcome: Outcome, to sender: String) -> [UInt8] {
        var object = JSONObject()
        object.add(key == .uuid ? "uuid" : "id", id?.text)
        object.add("outcome", outcome.name)
        if case .handled(let reply) = outcome {
            // If the text were not UTF-8, the peer would close the connection.
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

/// The error with which an adapter answers a message that was not handled. The error helps the sender to correct the
/// message, but reveals nothing about the program.
package struct ErrorReply {
    /// The name of the outcome: `rejected`, `failed` or `abandoned`.
    package let outcome: String
    /// The reason code, such as `unknownAction`.
    package let code: String
    /// A human-readable description.
    package let message: String
    /// The path of the value in the body that caused the rejection, if there is one.
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
            // The rejection's detail contains the plugin's access rule, which the sender must not learn.
            message =
                rejection.reason == .sourceNotAllowed ? "this \(sender) may not call the action" : rejection.detail
            path = rejection.bodyError.flatMap { $0.path.isEmpty ? nil : $0.path }
        case .failed(let failure):
            code = failure.reason.description
            // The plugin's error may contain file names and queries, so it must appear only in the program's log.
            message = failure.reason == .timeout ? "the plugin did not answer in time" : "the plugin failed"
            path = nil
        case .abandoned(let abandonment):
            code = abandonment.description
            message = "the program abandoned the message: \(abandonment)"
            path = nil
        }
    }
}
