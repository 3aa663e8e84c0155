/// What is wrong with a message's bytes or with a body, and where.
///
/// It names members and positions and never shows a value of the message, so it can be logged and answered.
public struct BodyError: Error, Sendable, Hashable {
    /// What kind of error this is.
    public let code: Code
    /// Where in the message, such as `body.items[3].name`; empty when the whole is meant.
    ///
    /// A member's name is shown when it consists of ASCII letters, digits, `_` and `-`, else `?` stands for it. `?`
    /// also ends a path to a place behind more than 1,000 members or elements, which is not searched further.
    public let path: String
    /// Byte offset in the original message, where one is known.
    public let offset: Int?
    /// What was expected, in words; may be empty.
    public let detail: String

    /// An error found by a type that checks its own values.
    ///
    /// - Parameters:
    ///   - code: the kind.
    ///   - path: where, such as `body.amount`.
    ///   - offset: the byte offset in the original message, where known.
    ///   - detail: what was expected, without the message's own content.
    public init(_ code: Code, path: String = "", offset: Int? = nil, detail: String = "") {
        self.code = code
        self.path = path
        self.offset = offset
        self.detail = detail
    }
}

extension BodyError: CustomStringConvertible {
    /// Code, place and expectation in one line, such as `typeMismatch at body.amount (byte 61): Int expected`.
    public var description: String {
        var text = code.description
        if !path.isEmpty { text += " at \(path)" }
        if let offset { text += path.isEmpty ? " at byte \(offset)" : " (byte \(offset))" }
        if !detail.isEmpty { text += ": \(detail)" }
        return text
    }
}
