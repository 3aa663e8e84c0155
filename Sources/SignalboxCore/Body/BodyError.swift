/// An error in a message or a body, with its location.
///
/// The error contains member names and positions but none of the message's values, so you can log it or send it as a
/// reply.
public struct BodyError: Error, Sendable, Hashable {
    /// The kind of error.
    public let code: Code
    /// The path to the value that caused the error, such as `body.items[3].name`. Empty if the error concerns the whole
    /// message.
    ///
    /// A member name appears in the path if it consists of up to 64 ASCII letters, digits, `_` and `-`. Any other name
    /// is replaced with `?`. The path also ends in `?` if Signalbox gave up locating the value after skipping 1,000
    /// members or elements.
    public let path: String
    /// The byte offset of the error in the original message, if known.
    public let offset: Int?
    /// A description of what was expected. May be empty.
    public let detail: String

    /// Creates an error. Use this in a type that validates its values while decoding.
    ///
    /// - Parameters:
    ///   - code: The kind of error.
    ///   - path: The path to the value that caused the error, such as `body.amount`.
    ///   - offset: The byte offset of the error in the original message, if known.
    ///   - detail: A description of what was expected, without any content from the message.
    public init(_ code: Code, path: String = "", offset: Int? = nil, detail: String = "") {
        self.code = code
        self.path = path
        self.offset = offset
        self.detail = detail
    }
}

extension BodyError: CustomStringConvertible {
    /// The code, the location and the detail in one line, such as `typeMismatch at body.amount (byte 61): expected
    /// Int`.
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
        /// More arrays and objects are open at once than ``MessageLimits/depth`` allows, or a reply is nested too
        /// deeply.
        public static let tooDeep = Code(name: .tooDeep)
        /// The text contains a byte that RFC 8259 does not allow at that position, such as the first byte of a byte
        /// order mark.
        public static let invalidSyntax = Code(name: .invalidSyntax)
        /// The message ends before the JSON text does.
        public static let unexpectedEnd = Code(name: .unexpectedEnd)
        /// The bytes are not valid UTF-8 (RFC 3629).
        public static let invalidUTF8 = Code(name: .invalidUTF8)
        /// A backslash is followed by a character that RFC 8259 section 7 does not allow there.
        public static let invalidEscape = Code(name: .invalidEscape)
        /// An escape encodes only half of a surrogate pair.
        public static let loneSurrogate = Code(name: .loneSurrogate)
        /// A string contains an unescaped character below U+0020.
        public static let controlCharacter = Code(name: .controlCharacter)
        /// Two members of the same object have names that are equal as `String`s.
        public static let duplicateKey = Code(name: .duplicateKey)
        /// The value's JSON type differs from the requested type.
        public static let typeMismatch = Code(name: .typeMismatch)
        /// The object lacks a requested member.
        public static let missingMember = Code(name: .missingMember)
        /// A value is required, but it is `null` or the array has ended.
        public static let valueMissing = Code(name: .valueMissing)
        /// The value has the right JSON type, but the Swift type being decoded rejects it.
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

/// A parser error that has not yet been converted to a ``BodyError``. The type is trivial, so throwing such an error
/// allocates nothing.
struct BodyParserError: Error {
    let code: BodyError.Code
    /// The position in the parsed buffer.
    let position: Int
}
