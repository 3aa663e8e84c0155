/// Why a text is not a topic name, a topic filter or a topic pattern, and where.
///
/// The description never repeats the text, which may come from outside.
public struct TopicError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of fault; more may be added.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        private enum Code: String {
            case empty, tooLong, nullCharacter, wildcardInName, wildcardNotAlone, multiLevelNotLast
            case invalidShareName, missingSharedFilter
            case captureNotAlone, invalidCaptureName, unknownKind, duplicateCapture, tooManyCaptures, restNotLast
        }
        private let code: Code

        /// A topic has at least one character (MQTT 5.0, 4.7.3-1).
        public static let empty = Reason(code: .empty)
        /// More than ``TopicName/maximumLength`` bytes of UTF-8 (MQTT 5.0, 4.7.3-3).
        public static let tooLong = Reason(code: .tooLong)
        /// U+0000 is in it (MQTT 5.0, 4.7.3-2).
        public static let nullCharacter = Reason(code: .nullCharacter)
        /// A topic name, to which messages are published, has a `+` or `#` (MQTT 5.0, 4.7.1-1).
        public static let wildcardInName = Reason(code: .wildcardInName)
        /// A `+` or `#` shares its level with other characters (MQTT 5.0, 4.7.1-1 and 4.7.1-2).
        public static let wildcardNotAlone = Reason(code: .wildcardNotAlone)
        /// A `#` is followed by another level (MQTT 5.0, 4.7.1-1).
        public static let multiLevelNotLast = Reason(code: .multiLevelNotLast)
        /// The name after `$share/` is empty or has a wildcard or a capture (MQTT 5.0, 4.8.2-1 and 4.8.2-2).
        public static let invalidShareName = Reason(code: .invalidShareName)
        /// Nothing follows `$share/NAME` (MQTT 5.0, 4.8.2-2).
        public static let missingSharedFilter = Reason(code: .missingSharedFilter)
        /// A `{` or `}` in a pattern that does not enclose a whole level.
        public static let captureNotAlone = Reason(code: .captureNotAlone)
        /// A capture's name is not `[A-Za-z][A-Za-z0-9_]*` of at most ``TopicPattern/maximumNameLength`` bytes.
        public static let invalidCaptureName = Reason(code: .invalidCaptureName)
        /// What follows the colon in a capture is not `int` or `uuid`.
        public static let unknownKind = Reason(code: .unknownKind)
        /// Two captures of a pattern have the same name.
        public static let duplicateCapture = Reason(code: .duplicateCapture)
        /// More than ``TopicPattern/maximumCaptures`` captures.
        public static let tooManyCaptures = Reason(code: .tooManyCaptures)
        /// A `{name...}` is followed by another level.
        public static let restNotLast = Reason(code: .restNotLast)

        /// The word used in logs and JSON, such as `wildcardNotAlone`.
        public var description: String { code.rawValue }

        fileprivate var sentence: String {
            switch code {
            case .empty: "a topic must not be empty"
            case .tooLong: "a topic must not be longer than \(TopicName.maximumLength) bytes"
            case .nullCharacter: "a topic must not contain U+0000"
            case .wildcardInName: "a topic name must not contain + or #"
            case .wildcardNotAlone: "+ and # must be alone in their level"
            case .multiLevelNotLast: "# must be the last level"
            case .invalidShareName: "the share name must not be empty and must not contain +, # or a capture"
            case .missingSharedFilter: "a topic filter must follow $share/NAME/"
            case .captureNotAlone: "a capture {name} must be a whole level, and { and } have no other use"
            case .invalidCaptureName:
                "a capture's name must be [A-Za-z][A-Za-z0-9_]*, at most \(TopicPattern.maximumNameLength) bytes"
            case .unknownKind: "the kinds of a capture are {name:int} and {name:uuid}"
            case .duplicateCapture: "each capture must have a name of its own"
            case .tooManyCaptures: "a pattern must not have more than \(TopicPattern.maximumCaptures) captures"
            case .restNotLast: "{name...} must be the last level"
            }
        }
    }

    /// What kind of fault this is.
    public let reason: Reason
    /// Where it begins, in bytes of UTF-8 from the start of the text.
    public let offset: Int

    init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The rule that was broken, and where.
    public var description: String { "\(reason.sentence) (at byte \(offset))" }
}
