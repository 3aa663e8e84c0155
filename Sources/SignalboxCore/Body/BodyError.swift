/// What is wrong with a message's bytes or with a body, and where.
///
/// It names members and positions and never shows a value of the message, so it can be logged and answered.
public struct BodyError: Error, Sendable, Hashable {
    /// What kind of error this is.
    public let code: Code
    /// Where in the message, such as `body.items[3].name`; empty when the whole is meant.
    ///
    /// A member's name is shown when it consists of ASCII letters, digits, `_` and `-`, else `?` stands for it. `?`
    /// also ends a path to a place behind more than 1,000 members or elements, which is not searched further.
    public let path: String
    /// Byte offset in the original message, where one is known.
    public let offset: Int?
    /// What was expected, in words; may be empty.
    public let detail: String

    /// An error found by a type that checks its own values.
    ///
    /// - Parameters:
    ///   - code: the kind.
    ///   - path: where, such as `body.amount`.
    ///   - offset: the byte offset in the original message, where known.
    ///   - detail: what was expected, without the message's own content.
    public init(_ code: Code, path: String = "", offset: Int? = nil, detail: String = "") {
        self.code = code
        self.path = path
        self.offset = offset
        self.detail = detail
    }
}

extension BodyError: CustomStringConvertible {
    /// Code, place and expectation in one line, such as `typeMismatch at body.amount (byte 61): Int expected`.
    public var description: String {
        var text = code.description
        if !path.isEmpty { text += " at \(path)" }
        if let offset { text += path.isEmpty ? " at byte \(offset)" : " (byte \(offset))" }
        if !detail.isEmpty { text += ": \(detail)" }
        return text
    }
}

extension BodyError {
    /// The kinds of error; more may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Word: String {
            case tooLarge, tooDeep, invalidSyntax, unexpectedEnd, invalidUTF8, invalidEscape, loneSurrogate
            case controlCharacter, duplicateKey
            case typeMismatch, missingMember, valueMissing, invalidValue
            case notAnInteger, integerOutOfRange, inexactNumber, numberOutOfRange, nonfiniteNumber
        }
        private let word: Word

        /// More bytes than ``MessageLimits/bytes``.
        public static let tooLarge = Code(word: .tooLarge)
        /// More arrays and objects open at once than ``MessageLimits/depth``, or a reply nested too deeply.
        public static let tooDeep = Code(word: .tooDeep)
        /// A byte that RFC 8259 does not allow at its place, a byte order mark included.
        public static let invalidSyntax = Code(word: .invalidSyntax)
        /// The message ends before the JSON text does.
        public static let unexpectedEnd = Code(word: .unexpectedEnd)
        /// Bytes that are not UTF-8 (RFC 3629).
        public static let invalidUTF8 = Code(word: .invalidUTF8)
        /// A backslash followed by something that RFC 8259 section 7 does not name.
        public static let invalidEscape = Code(word: .invalidEscape)
        /// Half of a surrogate pair, written as an escape.
        public static let loneSurrogate = Code(word: .loneSurrogate)
        /// A character below U+0020 in a string, not escaped.
        public static let controlCharacter = Code(word: .controlCharacter)
        /// Two members of one object have names that are equal as `String`s.
        public static let duplicateKey = Code(word: .duplicateKey)
        /// A value of another JSON type than was asked for.
        public static let typeMismatch = Code(word: .typeMismatch)
        /// An object without a member that was asked for.
        public static let missingMember = Code(word: .missingMember)
        /// `null`, or the end of an array, where a value was asked for.
        public static let valueMissing = Code(word: .valueMissing)
        /// A value of the right JSON type that its Swift type refuses.
        public static let invalidValue = Code(word: .invalidValue)
        /// A number written with a fraction or an exponent where an integer was asked for.
        public static let notAnInteger = Code(word: .notAnInteger)
        /// An integer that the integer type asked for cannot hold.
        public static let integerOutOfRange = Code(word: .integerOutOfRange)
        /// An integer literal that the floating-point type asked for cannot hold exactly.
        public static let inexactNumber = Code(word: .inexactNumber)
        /// A number beyond the largest finite value of the floating-point type asked for.
        public static let numberOutOfRange = Code(word: .numberOutOfRange)
        /// An infinity or a NaN in a reply: JSON has none.
        public static let nonfiniteNumber = Code(word: .nonfiniteNumber)

        /// The word used in logs and answers, such as `duplicateKey`.
        public var description: String { word.rawValue }
    }
}

/// The reader's finding before it becomes a ``BodyError``: trivial, so that throwing it costs nothing.
struct BodyFault: Error {
    let code: BodyError.Code
    /// Position in the buffer that was read.
    let position: Int
}
