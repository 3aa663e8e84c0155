/// Why a text is not taken as a URL, and where.
///
/// The description never repeats the text, which comes from outside and may hold a secret.
public struct URLTextError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of reason; more may be added.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        private enum Code: String {
            case empty, tooLong, missingScheme, controlCharacter, surroundingSpace, userinfo, invalidHost,
                internationalHost
            case invalidPort, invalidEscape, notUTF8, ambiguousURL, tooManyItems, duplicateItem
            case notAnOrigin
        }
        private let code: Code

        /// There is nothing.
        public static let empty = Reason(code: .empty)
        /// It has more bytes than ``URLText/maximumLength``.
        public static let tooLong = Reason(code: .tooLong)
        /// It does not begin with a scheme and a colon, and there is no base to resolve it against.
        public static let missingScheme = Reason(code: .missingScheme)
        /// A control character: engines drop tabs and line ends, so that what is read is not what was written.
        public static let controlCharacter = Reason(code: .controlCharacter)
        /// A space before or behind the URL, which engines drop.
        public static let surroundingSpace = Reason(code: .surroundingSpace)
        /// A user name or password before the host, made to look like a host, or a secret.
        public static let userinfo = Reason(code: .userinfo)
        /// The host is none: empty where one is needed, or with characters that no host has.
        public static let invalidHost = Reason(code: .invalidHost)
        /// The host has characters beyond ASCII. It is to be given in its ASCII form, with `xn--`.
        public static let internationalHost = Reason(code: .internationalHost)
        /// The port is not a number up to 65,535.
        public static let invalidPort = Reason(code: .invalidPort)
        /// A `%` without two hexadecimal digits behind it.
        public static let invalidEscape = Reason(code: .invalidEscape)
        /// Escaped bytes that are not UTF-8, or an escaped control character.
        public static let notUTF8 = Reason(code: .notUTF8)
        /// The WHATWG's rules and RFC 3986 read another host or another path.
        public static let ambiguousURL = Reason(code: .ambiguousURL)
        /// The query has more items than are read.
        public static let tooManyItems = Reason(code: .tooManyItems)
        /// The query names one item twice.
        public static let duplicateItem = Reason(code: .duplicateItem)
        /// A URL, or nothing of the kind, where a scheme, a host and a port alone are expected.
        public static let notAnOrigin = Reason(code: .notAnOrigin)

        /// The word used in logs and JSON, such as `ambiguousURL`.
        public var description: String { code.rawValue }
    }

    /// What kind of reason.
    public let reason: Reason
    /// Where, in bytes from the beginning of the text.
    public let offset: Int
    /// What exactly, in words.
    public let detail: String

    package init(_ reason: Reason, at offset: Int, _ detail: String) {
        self.reason = reason
        self.offset = offset
        self.detail = detail
    }

    /// The reason, the place and what exactly.
    public var description: String { "\(reason) at byte \(offset): \(detail)" }
}
