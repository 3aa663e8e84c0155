/// What became of an arrival: exactly one per arrival that was accepted, the unreadable ones too.
public enum Outcome: Sendable, Hashable {
    /// The plugin did its work; `reply` is its answer as JSON, or `nil` when it has none.
    case handled(reply: Bytes?)
    /// The plugin was not called.
    case rejected(Rejection)
    /// The plugin threw, or did not return in time.
    case failed(Failure)
    /// Signalbox let go of the arrival before it was decided: not acknowledged, and it may come again.
    case abandoned(Abandonment)

    /// `handled`, `rejected`, `failed` or `abandoned`: the word used in logs and JSON.
    public var name: String {
        switch self {
        case .handled: "handled"
        case .rejected: "rejected"
        case .failed: "failed"
        case .abandoned: "abandoned"
        }
    }

    /// The word for what exactly became of it, as answers, logs and JSON have it: `handled`, or the reason's, such as
    /// `unknownAction`, `timeout` or `drain`.
    public var code: String {
        switch self {
        case .handled: name
        case .rejected(let rejection): rejection.reason.description
        case .failed(let failure): failure.reason.description
        case .abandoned(let abandonment): abandonment.description
        }
    }
}

extension Outcome {
    /// Why a plugin was not called.
    public struct Rejection: Error, Sendable, Hashable, CustomStringConvertible {
        /// The kinds of rejection; more may be added.
        public struct Reason: Sendable, Hashable, CustomStringConvertible {
            private enum Code: String {
                case malformed, unknownAction, sourceNotAllowed, invalidBody, expired, unavailable
                case idConflict, reentrant, overloaded, deliveryLimit
            }
            private let code: Code

            /// The message is not an action: no JSON, over a limit, no action name, a bad id.
            public static let malformed = Reason(code: .malformed)
            /// No plugin is registered for the action's name.
            public static let unknownAction = Reason(code: .unknownAction)
            /// The plugin's access rule does not allow this origin.
            public static let sourceNotAllowed = Reason(code: .sourceNotAllowed)
            /// The body is not what the plugin's `Info` is made from.
            public static let invalidBody = Reason(code: .invalidBody)
            /// The action's deadline passed before the plugin could begin.
            public static let expired = Reason(code: .expired)
            /// The plugin's lane is stalled by an earlier call that has not returned, or its circuit breaker is open.
            public static let unavailable = Reason(code: .unavailable)
            /// The id was given to another action of the same source before, with another body.
            public static let idConflict = Reason(code: .idConflict)
            /// A plugin waits for an action that only its own lane could handle, which it holds itself.
            public static let reentrant = Reason(code: .reentrant)
            /// The source sends more than its rate limit allows.
            public static let overloaded = Reason(code: .overloaded)
            /// It was delivered as often as the limit allows, and the process died each time while handling it.
            public static let deliveryLimit = Reason(code: .deliveryLimit)

            private init(code: Code) { self.code = code }

            /// The reason with this word, or `nil` when there is none.
            package init?(_ word: String) {
                guard let code = Code(rawValue: word) else { return nil }
                self.code = code
            }

            /// The word used in logs, JSON and answers, such as `unknownAction`.
            public var description: String { code.rawValue }
        }

        /// What kind of rejection this is.
        public let reason: Reason
        /// What exactly and where, in words; without the message's own content.
        public let detail: String
        /// The reader's finding, when the bytes or the body were at fault.
        public let bodyError: BodyError?

        /// - Parameters:
        ///   - reason: the kind.
        ///   - detail: what exactly, without the message's own content.
        public init(_ reason: Reason, detail: String) {
            self.reason = reason
            self.detail = detail
            bodyError = nil
        }

        /// A rejection that another process reported.
        ///
        /// - Parameter path: where in the body the fault is; empty when the body is not at fault.
        package init(_ reason: Reason, detail: String, path: String) {
            self.reason = reason
            self.detail = detail
            bodyError = path.isEmpty ? nil : BodyError(.invalidValue, path: path, offset: nil, detail: detail)
        }

        /// A rejection because of what the reader found in the bytes or the body.
        public init(_ reason: Reason, _ error: BodyError) {
            self.reason = reason
            detail = error.description
            bodyError = error
        }

        /// The reason and the detail.
        public var description: String { "\(reason): \(detail)" }
    }
}

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

extension Outcome {
    /// Why Signalbox let go of an arrival. It is not acknowledged and, where the source can, it comes again.
    public struct Abandonment: Error, Sendable, Hashable, CustomStringConvertible {
        private enum Code: String { case drain, stop, holdLimit, givenBack }
        private let code: Code
        /// What exactly, in words; empty when the code says it all.
        public let detail: String

        private init(code: Code, detail: String = "") {
            self.code = code
            self.detail = detail
        }

        /// It had not begun when the time for draining was over.
        public static let drain = Abandonment(code: .drain)
        /// The program was stopped at once.
        public static let stop = Abandonment(code: .stop)
        /// It waited longer than its source may hold an arrival without acknowledging it.
        public static let holdLimit = Abandonment(code: .holdLimit)
        /// The plugin cannot do its work at present and asked for the message again (``RetryExhaustion/abandon``).
        ///
        /// - Parameter detail: how it failed, in words.
        public static func givenBack(_ detail: String) -> Abandonment { Abandonment(code: .givenBack, detail: detail) }

        /// The abandonment with this word, or `nil` when there is none.
        package init?(_ word: String) {
            guard let code = Code(rawValue: word) else { return nil }
            self.init(code: code)
        }

        /// Whether the plugin gave it back.
        public var isGivenBack: Bool { code == .givenBack }

        /// The word, followed by the detail if there is one.
        package var text: String { detail.isEmpty ? description : "\(description): \(detail)" }

        /// The word used in logs and JSON.
        public var description: String { code.rawValue }
    }
}
