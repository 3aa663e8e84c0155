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
