extension Outcome {
    /// How a plugin that was called failed.
    public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The kinds of failure; more may be added.
        public struct Reason: Sendable, Hashable, CustomStringConvertible {
            private enum Code: String { case threw, timeout }
            private let code: Code

            /// The plugin threw an error.
            public static let threw = Reason(code: .threw)
            /// The plugin did not return within its timeout. It may still be running; its late result is not sent.
            public static let timeout = Reason(code: .timeout)

            /// The word used in logs, JSON and answers.
            public var description: String { code.rawValue }
        }

        /// What kind of failure this is.
        public let reason: Reason
        /// What the plugin threw, or how long it was waited for, in words.
        public let detail: String
        /// Whether the same call may succeed later, so that a retry is worth it. What the plugin says; `false` when it
        /// says nothing.
        public let isRetryable: Bool
        /// What happens to the action once no attempt is left. What the plugin says; `deadLetter` when it says nothing.
        public let whenExhausted: RetryExhaustion

        /// A failure that no retry mends.
        ///
        /// - Parameters:
        ///   - reason: the kind.
        ///   - detail: what exactly, in words.
        public init(_ reason: Reason, detail: String) {
            self.init(reason, detail: detail, isRetryable: false)
        }

        /// - Parameters:
        ///   - reason: the kind.
        ///   - detail: what exactly, in words.
        ///   - isRetryable: whether the same call may succeed later.
        public init(_ reason: Reason, detail: String, isRetryable: Bool) {
            self.init(reason, detail: detail, isRetryable: isRetryable, whenExhausted: .deadLetter)
        }

        /// - Parameters:
        ///   - reason: the kind.
        ///   - detail: what exactly, in words.
        ///   - isRetryable: whether the same call may succeed later.
        ///   - whenExhausted: what happens to the action once no attempt is left.
        public init(_ reason: Reason, detail: String, isRetryable: Bool, whenExhausted: RetryExhaustion) {
            self.reason = reason
            self.detail = detail
            self.isRetryable = isRetryable
            self.whenExhausted = whenExhausted
        }

        /// The reason and the detail.
        public var description: String { "\(reason): \(detail)" }
    }
}
