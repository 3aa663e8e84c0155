/// Why a text is no URL pattern, or why a table cannot have it, and where.
public struct RoutePatternError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of fault; more may be added.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        private enum Code: String {
            case empty, tooLong, invalidCharacter, missingScheme, missingHost, invalidHost, invalidPort, anyHost
            case emptySegment, dotSegment, invalidEscape
            case captureNotAlone, invalidCaptureName, unknownKind, kindNotAllowed, duplicateCapture, tooManyCaptures
            case restNotLast, invalidQuery, duplicateItem, ambiguous
        }
        private let code: Code

        /// There is nothing.
        public static let empty = Reason(code: .empty)
        /// More than ``URLPattern/maximumLength`` bytes.
        public static let tooLong = Reason(code: .tooLong)
        /// A control character, a space, a backslash or a `#`.
        public static let invalidCharacter = Reason(code: .invalidCharacter)
        /// It begins neither with a scheme and a colon nor with a slash.
        public static let missingScheme = Reason(code: .missingScheme)
        /// A special scheme, such as `https`, without `//` and a host.
        public static let missingHost = Reason(code: .missingHost)
        /// The host is none that a URL can have.
        public static let invalidHost = Reason(code: .invalidHost)
        /// The port is not a number up to 65,535.
        public static let invalidPort = Reason(code: .invalidPort)
        /// A capture in place of the host of a special scheme, such as `https`: any site would be accepted.
        public static let anyHost = Reason(code: .anyHost)
        /// Nothing between two slashes.
        public static let emptySegment = Reason(code: .emptySegment)
        /// `.` or `..`, which no URL has in its normal form.
        public static let dotSegment = Reason(code: .dotSegment)
        /// A `%` without two hexadecimal digits, escaped bytes that are not UTF-8, or an escaped control character.
        public static let invalidEscape = Reason(code: .invalidEscape)
        /// A `{` or `}` that does not enclose a whole host, segment or value.
        public static let captureNotAlone = Reason(code: .captureNotAlone)
        /// A capture's name is not `[A-Za-z][A-Za-z0-9_]*` of at most ``URLPattern/maximumNameLength`` bytes.
        public static let invalidCaptureName = Reason(code: .invalidCaptureName)
        /// What follows the colon in a capture is not `int` or `uuid`.
        public static let unknownKind = Reason(code: .unknownKind)
        /// A kind where there is none: a number or UUID in place of the host, any but text in the query.
        public static let kindNotAllowed = Reason(code: .kindNotAllowed)
        /// Two captures of the pattern have the same name.
        public static let duplicateCapture = Reason(code: .duplicateCapture)
        /// More than ``URLPattern/maximumCaptures`` captures, those of the query included.
        public static let tooManyCaptures = Reason(code: .tooManyCaptures)
        /// Something follows a `{name...}`.
        public static let restNotLast = Reason(code: .restNotLast)
        /// The part behind `?` is not `item={name}`, with `&` between several.
        public static let invalidQuery = Reason(code: .invalidQuery)
        /// The query part names one item twice.
        public static let duplicateItem = Reason(code: .duplicateItem)
        /// Another pattern of the table matches the same URLs, and no rule says which of the two comes first.
        public static let ambiguous = Reason(code: .ambiguous)

        /// The word used in logs and JSON, such as `emptySegment`.
        public var description: String { code.rawValue }
    }

    /// What kind of fault.
    public let reason: Reason
    /// Where it begins, in bytes of UTF-8 from the start of the pattern.
    public let offset: Int
    /// What exactly, and what to do, in words. It may repeat pieces of the patterns, which come from whoever wrote the program.
    public let detail: String
    /// Of an ambiguity, the pattern that was there before, as it was given; else `nil`.
    public let otherPattern: String?

    init(_ reason: Reason, at offset: Int, _ detail: String, otherPattern: String? = nil) {
        self.reason = reason
        self.offset = offset
        self.detail = detail
        self.otherPattern = otherPattern
    }

    /// The reason, the place and what exactly.
    public var description: String { "\(reason) at byte \(offset): \(detail)" }
}
