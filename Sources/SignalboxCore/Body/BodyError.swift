/// What is wrong with a message's bytes or with a body, and where.
public struct BodyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The word used in logs and answers.
        public let description: String
        public static let tooLarge = Code(description: "tooLarge")
    }
    public let code: Code
    /// Where in the body, such as `body.items[3].name`; empty when the whole is meant.
    public let path: String
    /// Byte offset in the original message, where one is known.
    public let offset: Int?
    public var description: String { "" }
}
