/// Why a chain, or a handler for one, cannot be built: a mistake in the program or its configuration, never in a URL.
public struct NavigationChainError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case invalidName, duplicateName, unknownName, tooManyHandlers, invalidPosition, invalidOrder,
                invalidDeadline
            case invalidScheme, dangerousScheme, invalidHost, invalidPattern, invalidHome
        }
        private let word: Word

        /// A handler's name is empty, too long, has control characters, or is kept for verdicts.
        public static let invalidName = Code(word: .invalidName)
        /// Two handlers have the same name.
        public static let duplicateName = Code(word: .duplicateName)
        /// The chain has no handler of this name.
        public static let unknownName = Code(word: .unknownName)
        /// More than ``NavigationRouter/maximumHandlers``.
        public static let tooManyHandlers = Code(word: .tooManyHandlers)
        /// A place that the chain does not have.
        public static let invalidPosition = Code(word: .invalidPosition)
        /// An order that does not name each handler exactly once.
        public static let invalidOrder = Code(word: .invalidOrder)
        /// A deadline that is not more than zero, or is more than ``NavigationRouter/maximumDeadline``.
        public static let invalidDeadline = Code(word: .invalidDeadline)
        /// A text that is no scheme, or no scheme at all.
        public static let invalidScheme = Code(word: .invalidScheme)
        /// A scheme that runs script, reads files or opens other programs, in a list of harmless ones.
        public static let dangerousScheme = Code(word: .dangerousScheme)
        /// A text that is no host, no host at all, or too many.
        public static let invalidHost = Code(word: .invalidHost)
        /// Patterns that cannot be read, that contradict each other, or that do not say whose paths they are.
        public static let invalidPattern = Code(word: .invalidPattern)
        /// A home page that is not the root of a site.
        public static let invalidHome = Code(word: .invalidHome)

        /// The word used in logs, such as `duplicateName`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// The name of the handler it is about; empty when it is about the chain.
    public let handler: String
    /// What is wrong and what to do about it, in a sentence.
    public let detail: String

    init(_ code: Code, _ detail: String, handler: String = "") {
        self.code = code
        self.handler = handler
        self.detail = detail
    }

    /// The handler and the detail, in one line.
    public var description: String {
        let about = handler.isEmpty ? "navigation chain" : "navigation handler \(LineText.line(handler))"
        return "\(about): \(LineText.line(detail))"
    }
}
