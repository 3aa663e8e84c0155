/// How an arrival ended.
///
/// Every accepted arrival has exactly one outcome, even if its message could not be parsed. An adapter receives the
/// outcome through its ``SettlementSink`` and replies to the sender accordingly.
public enum Outcome: Sendable, Hashable {
    /// The plugin succeeded. `reply` is its reply as JSON, or `nil` if it returned no reply.
    case handled(reply: Bytes?)
    /// The plugin was not called.
    case rejected(Rejection)
    /// The plugin threw an error or timed out.
    case failed(Failure)
    /// Signalbox released the arrival without a decision. The message is not acknowledged and may be redelivered.
    case abandoned(Abandonment)

    /// The outcome's name in logs and JSON: `handled`, `rejected`, `failed` or `abandoned`.
    public var name: String {
        switch self {
        case .handled: "handled"
        case .rejected: "rejected"
        case .failed: "failed"
        case .abandoned: "abandoned"
        }
    }

    /// The outcome's code in replies, logs and JSON: either `handled`, or a reason such as `unknownAction`, `timeout`
    /// or `drain`.
    public var code: String {
        switch self {
        case .handled: name
        case .rejected(let rejection): rejection.reason.description
        case .failed(let failure): failure.reason.description
        case .abandoned(let abandonment): abandonment.description
        }
    }
}

extension Outcome: CustomStringConvertible {
    /// The outcome's name, followed by the reply as JSON text, or by the reason and its detail.
    public var description: String {
        switch self {
        case .handled(nil): name
        case .handled(let reply?): "\(name): \(reply)"
        case .rejected(let rejection): "\(name): \(rejection)"
        case .failed(let failure): "\(name): \(failure)"
        case .abandoned(let abandonment): "\(name): \(abandonment.text)"
        }
    }
}

extension Outcome {
    /// The reason why a plugin was not called.
    public struct Rejection: Error, Sendable, Hashable, CustomStringConvertible {
        /// The kinds of rejection. Later versions may add more.
        public struct Reason: Sendable, Hashable, CustomStringConvertible {
            private enum Code: String {
                case malformed, unknownAction, sourceNotAllowed, invalidBody, expired, unavailable
                case idConflict, reentrant, overloaded, deliveryLimit, crashedPlugin
            }
            private let code: Code

            /// The message is not an action: it is not JSON, exceeds a limit, has no action name, or has an invalid id.
            public static let malformed = Reason(code: .malformed)
            /// No plugin is registered for the action's name.
            public static let unknownAction = Reason(code: .unknownAction)
            /// The plugin's access rule does not allow this origin.
            public static let sourceNotAllowed = Reason(code: .sourceNotAllowed)
            /// The body could not be decoded as the plugin's `Info`.
            public static let invalidBody = Reason(code: .invalidBody)
            /// The action's deadline passed before the call could begin.
            public static let expired = Reason(code: .expired)
            /// The plugin cannot be called, either because its circuit breaker is open or because its lane is stalled
            /// by an earlier call that has not returned.
            public static let unavailable = Reason(code: .unavailable)
            /// The same source has already used this id for an action with different content.
            public static let idConflict = Reason(code: .idConflict)
            /// A plugin is waiting for an action that only its own lane could handle, but that plugin is occupying the
            /// lane.
            public static let reentrant = Reason(code: .reentrant)
            /// The source exceeded its rate limit.
            public static let overloaded = Reason(code: .overloaded)
            /// The message has been delivered the maximum number of times, and each time the process died while
            /// handling it.
            public static let deliveryLimit = Reason(code: .deliveryLimit)
            /// The message is in its source's journal, and the process died three times while handling it.
            public static let crashedPlugin = Reason(code: .crashedPlugin)

            private init(code: Code) { self.code = code }

            /// Creates the reason with this name, or returns `nil` if no reason has the name.
            package init?(_ name: String) {
                guard let code = Code(rawValue: name) else { return nil }
                self.code = code
            }

            /// The reason's name in logs, JSON and replies, such as `unknownAction`.
            public var description: String { code.rawValue }
        }

        /// The kind of rejection.
        public let reason: Reason
        /// A description of the error and its location, without any content from the message.
        public let detail: String
        /// The error in the message's bytes or body, if this caused the rejection.
        public let bodyError: BodyError?

        /// Creates a rejection.
        ///
        /// - Parameters:
        ///   - reason: The kind of rejection.
        ///   - detail: A description of the error, without any content from the message.
        public init(_ reason: Reason, detail: String) {
            self.reason = reason
            self.detail = detail
            bodyError = nil
        }

        /// Creates a rejection reported by a different process.
        ///
        /// - Parameter path: The path to the error in the body, or an empty string if the body did not cause the
        ///   rejection.
        package init(_ reason: Reason, detail: String, path: String) {
            self.reason = reason
            self.detail = detail
            bodyError = path.isEmpty ? nil : BodyError(.invalidValue, path: path, offset: nil, detail: detail)
        }

        /// Creates a rejection caused by an error in the message's bytes or body.
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
    /// The reason why a called plugin failed.
    public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The kinds of failure. Later versions may add more.
        public struct Reason: Sendable, Hashable, CustomStringConvertible {
            private enum Code: String { case threw, timeout }
            private let code: Code

            /// The plugin threw an error.
            public static let threw = Reason(code: .threw)
            /// The plugin did not return before its timeout. The call may still be running, but its late result is
            /// discarded.
            public static let timeout = Reason(code: .timeout)

            /// The reason's name in logs, JSON and replies.
            public var description: String { code.rawValue }
        }

        /// The kind of failure.
        public let reason: Reason
        /// A description of the error that the plugin threw, or of the timeout that elapsed.
        public let detail: String
        /// Whether the same call may succeed later. The plugin's error determines this; the default is `false`.
        public let isRetryable: Bool
        /// What happens to the action after its last attempt. The plugin's error determines this; the default is
        /// `deadLetter`.
        public let whenExhausted: RetryExhaustion
        /// How long the next attempt must wait at least, or `nil` for the wait of the retry policy alone. The plugin's error
        /// determines this (``RetryableError/retryDelay``).
        public package(set) var retryDelay: Duration?

        /// Creates a failure.
        ///
        /// - Parameters:
        ///   - reason: The kind of failure.
        ///   - detail: A description of the failure.
        ///   - isRetryable: Whether the same call may succeed later.
        ///   - whenExhausted: What happens to the action after its last attempt.
        public init(
            _ reason: Reason,
            detail: String,
            isRetryable: Bool = false,
            whenExhausted: RetryExhaustion = .deadLetter
        ) {
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
    /// The reason why Signalbox released an arrival. The message is not acknowledged, and the source redelivers the
    /// message if it can.
    public struct Abandonment: Error, Sendable, Hashable, CustomStringConvertible {
        private enum Code: String { case drain, stop, ackDeadline, givenBack, kept }
        private let code: Code
        /// A description of the cause. Empty if the code alone is sufficient.
        public let detail: String

        private init(code: Code, detail: String = "") {
            self.code = code
            self.detail = detail
        }

        /// The call had not started when the drain timeout expired.
        public static let drain = Abandonment(code: .drain)
        /// The program stopped immediately.
        public static let stop = Abandonment(code: .stop)
        /// The source's ack deadline passed before a call, or a further attempt, could start.
        public static let ackDeadline = Abandonment(code: .ackDeadline)
        /// The program stops before the action has an outcome. The journal of its source keeps the message, which was
        /// acknowledged, and the next run handles it.
        public static let kept = Abandonment(code: .kept)
        /// The plugin currently cannot handle the action and requested a redelivery with ``RetryExhaustion/abandon``.
        ///
        /// - Parameter detail: A description of the failure.
        public static func givenBack(_ detail: String) -> Abandonment { Abandonment(code: .givenBack, detail: detail) }

        /// Creates the abandonment with this name, or returns `nil` if no abandonment has the name.
        package init?(_ name: String) {
            guard let code = Code(rawValue: name) else { return nil }
            self.init(code: code)
        }

        /// Whether the journal of the source keeps the action for the next run.
        public var isKept: Bool { code == .kept }

        /// Whether the plugin requested a redelivery.
        public var isGivenBack: Bool { code == .givenBack }

        /// The name, followed by the detail if there is one.
        package var text: String { detail.isEmpty ? description : "\(description): \(detail)" }

        /// The abandonment's name in logs and JSON.
        public var description: String { code.rawValue }
    }
}
