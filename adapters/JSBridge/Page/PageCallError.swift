/// Why a call to a page brought no answer.
public struct PageCallError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String { case closed, full, tooLarge, invalidArgument, timeout, threw, invalidReply }
        private let word: Word

        /// The page is gone, or went before it answered; or the task that waited was cancelled.
        public static let closed = Code(word: .closed)
        /// Too much waits for the page already.
        public static let full = Code(word: .full)
        /// The message is larger than a page takes.
        public static let tooLarge = Code(word: .tooLarge)
        /// The argument has no JSON form.
        public static let invalidArgument = Code(word: .invalidArgument)
        /// No answer came in time. The page may have been called all the same.
        public static let timeout = Code(word: .timeout)
        /// The page's listener threw, or its promise was rejected.
        public static let threw = Code(word: .threw)
        /// The answer is not what was asked for.
        public static let invalidReply = Code(word: .invalidReply)

        /// The word used in logs, such as `timeout`.
        public var description: String { word.rawValue }
    }

    /// What kind of error this is.
    public let code: Code
    /// What exactly, in words.
    public let detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// The code and the detail.
    public var description: String { "\(code): \(detail)" }
}
