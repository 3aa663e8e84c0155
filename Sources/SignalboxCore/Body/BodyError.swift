/// An error in a message's bytes or in a body, with its location.
///
/// The error contains member names and positions but no values of the message, so it can be logged and sent as a reply.
public struct BodyError: Error, Sendable, Hashable {
    /// The kind of error.
    public let code: Code
    /// The path to the value, such as `body.items[3].name`. Empty when the error concerns the whole message.
    ///
    /// Member names of up to 64 ASCII letters, digits, `_` and `-` are shown; `?` replaces all others. A path also ends
    /// in `?` when the search for the value stops after 1,000 members or elements.
    public let path: String
    /// The byte offset in the original message, if known.
    public let offset: Int?
    /// A description of what was expected. May be empty.
    public let detail: String

    /// Creates an error for a type that validates its own values.
    ///
    /// - Parameters:
    ///   - code: The kind of error.
    ///   - path: The path to the value, such as `body.amount`.
    ///   - offset: The byte offset in the original message, if known.
    ///   - detail: A description of what was expected, without content of the message.
    public init(_ code: Code, path: String = "", offset: Int? = nil, detail: String = "") {
        self.code = code
        self.path = path
        self.offset = offset
        self.detail = detail
    }
}

extension BodyError: CustomStringConvertible {
    /// The code, location and expectation in one line, such as `typeMismatch at body.amount (byte 61): expected Int`.
    public var description: String {
        var text = code.description
        if !path.isEmpty { text += " at \(path)" }
        if let offset { text += path.isEmpty ? " at byte \(offset)" : " (byte \(offset))" }
        if !detail.isEmpty { text += ": \(detail)" }
        return text
    }
}

extension BodyError {
    /// The kinds of error. Later versions may add more.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Name: String {
            case tooLarge, tooDeep, invalidSyntax, unexpectedEnd, invalidUTF8, invalidEscape, loneSurrogate
            case controlCharacter, duplicateKey
            case typeMismatch, missingMember, valueMissing, invalidValue
            case notAnInteger, integerOutOfRange, inexactNumber, numberOutOfRange, nonfiniteNumber
        }
        private let name: Name

        /// The message has more bytes than ``MessageLimits/bytes``.
        public static let tooLarge = Code(name: .tooLarge)
        /// More arrays and objects are open at once than ``MessageLimits/depth``, or a reply is nested too deeply.
        public static let tooDeep = Code(name: .tooDeep)
        /// A byte is not allowed at its position by RFC 8259. Includes a byte order mark.
        public static let invalidSyntax = Code(name: .invalidSyntax)
        /// The message ends before the JSON text does.
        public static let unexpectedEnd = Code(name: .unexpectedEnd)
        /// The bytes are not valid UTF-8 (RFC 3629).
        public static let invalidUTF8 = Code(name: .invalidUTF8)
        /// A backslash precedes a character that RFC 8259 section 7 does not allow there.
        public static let invalidEscape = Code(name: .invalidEscape)
        /// An escape encodes half of a surrogate pair.
        public static let loneSurrogate = Code(name: .loneSurrogate)
        /// A string contains an unescaped character below U+0020.
        public static let controlCharacter = Code(name: .controlCharacter)
        /// Two members of one object have names that are equal as `String`s.
        public static let duplicateKey = Code(name: .duplicateKey)
        /// The value has a different JSON type than requested.
        public static let typeMismatch = Code(name: .typeMismatch)
        /// An object lacks a requested member.
        public static let missingMember = Code(name: .missingMember)
        /// `null`, or the end of an array, occurs where a value is required.
        public static let valueMissing = Code(name: .valueMissing)
        /// The value has the right JSON type, but the Swift type rejects it.
        public static let invalidValue = Code(name: .invalidValue)
        /// A number has a fraction or an exponent where an integer is required.
        public static let notAnInteger = Code(name: .notAnInteger)
        /// An integer does not fit the requested integer type.
        public static let integerOutOfRange = Code(name: .integerOutOfRange)
        /// The requested floating-point type cannot represent an integer literal exactly.
        public static let inexactNumber = Code(name: .inexactNumber)
        /// A number exceeds the largest finite value of the requested floating-point type.
        public static let numberOutOfRange = Code(name: .numberOutOfRange)
        /// A reply contains an infinity or a NaN, which JSON cannot represent.
        public static let nonfiniteNumber = Code(name: .nonfiniteNumber)

        /// The code's name in logs and replies, such as `duplicateKey`.
        public var description: String { name.rawValue }
    }
}

/// An error of the parser before it becomes a ``BodyError``. Trivial, so throwing it allocates nothing.
struct BodyParserError: Error {
    let code: BodyError.Code
    /// The position in the parsed buffer.
    let position: Int
}
