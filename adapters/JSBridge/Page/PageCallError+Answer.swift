extension PageCallError {
    /// What a page said instead of a reply.
    ///
    /// - Parameters:
    ///   - kind: the word of bridge.js.
    ///   - detail: cut by the caller.
    init(answered kind: String, _ detail: String) {
        switch kind {
        case "threw": self.init(.threw, detail)
        case "full": self.init(.full, detail)
        default: self.init(.invalidReply, detail)
        }
    }

    /// The page's answer is over the limit of a message.
    static func answerTooLong(limit: Int) -> PageCallError {
        PageCallError(.invalidReply, "the answer has more than \(limit) bytes")
    }

    /// How much of the page's words is kept, in characters.
    static let longestDetail = 500
}
