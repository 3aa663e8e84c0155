package import SignalboxCore

/// Writes what adapters send to the other side: JSON objects in the format that all adapters share.
package enum AnswerWriter {
    /// Returns a standard envelope, which omits an empty body.
    ///
    /// - Parameter body: JSON in UTF-8.
    package static func envelope(_ action: ActionName, id: ActionID?, body: Bytes) -> [UInt8] {
        var object = JSONObject()
        object.add("action", action.text)
        object.add("id", id?.text)
        if !body.isEmpty { object.add("body", json: body) }
        return object.bytes
    }

    /// Returns an action's outcome under the key that its sender used for the id:
    /// `{"id" | "uuid", "outcome", "reply" | "error"}`, without an id if none was given.
    ///
    /// - Parameter sender: The noun for the sender in descriptions of errors, such as `connection`.
    package static func answer(_ id: ActionID?, _ key: IDKey, _ outcome: Outcome, to sender: String) -> [UInt8] {
        var object = JSONObject()
        object.add(key == .uuid ? "uuid" : "id", id?.text)
        object.add("outcome", outcome.name)
        if case .handled(let reply) = outcome {
            // A peer closes the connection for text that is not UTF-8.
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
