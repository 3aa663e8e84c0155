/// The topic of a published message, which contains no wildcards (MQTT 5.0, section 4.7).
///
/// Topics are compared byte by byte, so the composed and decomposed forms of `é` are different topics.
public struct TopicName: Sendable, Hashable {
    /// The maximum length of a topic name, filter or pattern in UTF-8 bytes.
    public static let maximumLength = 65_535

    private let bytes: ByteText

    /// The topic as given.
    public var text: String { bytes.text }

    /// Creates a topic from a broker's message or a configuration. The cost is linear in the length of the text.
    ///
    /// - Throws: ``TopicError`` if the text is empty, is too long, or contains `+`, `#` or U+0000.
    public init(_ text: String) throws(TopicError) {
        var text = text
        text.makeContiguousUTF8()
        try TopicGrammar.checkLength(text.utf8)
        var offset = 0
        for byte in text.utf8 {
            if byte == 0 { throw TopicError(.nullCharacter, at: offset) }
            if TopicGrammar.isWildcard(byte) { throw TopicError(.wildcardInName, at: offset) }
            offset += 1
        }
        bytes = ByteText(text)
    }
}

extension TopicName: CustomStringConvertible {
    /// The topic as given, including any control characters. Escape this text before you display it.
    public var description: String { text }
}

/// The grammar shared by topic names, filters and patterns.
enum TopicGrammar {
    static let separator = UInt8(ascii: "/")
    static let dollar = UInt8(ascii: "$")
    static let singleLevel = UInt8(ascii: "+")
    static let multiLevel = UInt8(ascii: "#")
    static let sharePrefix = "$share/"

    static func isWildcard(_ byte: UInt8) -> Bool {
        byte == singleLevel || byte == multiLevel
    }

    static func checkLength(_ bytes: String.UTF8View) throws(TopicError) {
        if bytes.isEmpty { throw TopicError(.empty, at: 0) }
        if bytes.count > TopicName.maximumLength { throw TopicError(.tooLong, at: TopicName.maximumLength) }
    }

    /// Returns the position after `$share/NAME/`, where the filter of a shared subscription begins, or 0 for other
    /// filters.
    ///
    /// A whole filter `$share` has neither a name nor a filter. A longer first level, such as `$shared`, is ordinary.
    static func filterStart(in bytes: [UInt8]) throws(TopicError) -> Int {
        if bytes.elementsEqual(sharePrefix.utf8.dropLast()) {
            throw TopicError(.missingSharedFilter, at: bytes.endIndex)
        }
        guard bytes.starts(with: sharePrefix.utf8) else { return 0 }
        let nameStart = sharePrefix.utf8.count
        let nameEnd = bytes[nameStart...].firstIndex(of: separator) ?? bytes.endIndex
        let name = bytes[nameStart..<nameEnd]
        if name.isEmpty || name.contains(where: isWildcard) { throw TopicError(.invalidShareName, at: nameStart) }
        let start = nameEnd + 1
        if start >= bytes.endIndex { throw TopicError(.missingSharedFilter, at: bytes.endIndex) }
        return start
    }

    /// Rejects U+0000 anywhere, and misplaced wildcards from `start` on.
    static func checkWildcards(in bytes: [UInt8], from start: Int) throws(TopicError) {
        for (offset, byte) in bytes.enumerated() {
            if byte == 0 { throw TopicError(.nullCharacter, at: offset) }
            guard offset >= start, isWildcard(byte) else { continue }
            let beginsLevel = offset == start || bytes[offset - 1] == separator
            let isLast = offset + 1 == bytes.endIndex
            guard beginsLevel, isLast || bytes[offset + 1] == separator else {
                throw TopicError(.wildcardNotAlone, at: offset)
            }
            if byte == multiLevel && !isLast { throw TopicError(.multiLevelNotLast, at: offset) }
        }
    }
}

/// An error that explains why a text is not a topic name, topic filter or topic pattern, with the position of the
/// error.
///
/// The description never contains the text, which may be untrusted.
public struct TopicError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of error. Later versions may add more.
    public struct Reason: Sendable, Hashable, CustomStringConvertible {
        /// The topic is empty (MQTT 5.0, 4.7.3-1).
        public static let empty = Reason("empty", "a topic must not be empty")
        /// The topic has more than ``TopicName/maximumLength`` UTF-8 bytes (MQTT 5.0, 4.7.3-3).
        public static let tooLong = Reason(
            "tooLong",
            "a topic must not be longer than \(TopicName.maximumLength) bytes"
        )
        /// The topic contains U+0000 (MQTT 5.0, 4.7.3-2).
        public static let nullCharacter = Reason("nullCharacter", "a topic must not contain U+0000")
        /// A topic name for publishing contains `+` or `#` (MQTT 5.0, 4.7.1-1).
        public static let wildcardInName = Reason("wildcardInName", "a topic name must not contain + or #")
        /// A `+` or `#` shares its level with other characters (MQTT 5.0, 4.7.1-1 and 4.7.1-2).
        public static let wildcardNotAlone = Reason("wildcardNotAlone", "+ and # must be alone in their level")
        /// A `#` is followed by another level (MQTT 5.0, 4.7.1-1).
        public static let multiLevelNotLast = Reason("multiLevelNotLast", "# must be the last level")
        /// The name after `$share/` is empty or contains a wildcard or a capture (MQTT 5.0, 4.8.2-1 and 4.8.2-2).
        public static let invalidShareName = Reason(
            "invalidShareName",
            "the share name must not be empty and must not contain +, # or a capture"
        )
        /// Nothing follows `$share/NAME` (MQTT 5.0, 4.8.2-2).
        public static let missingSharedFilter = Reason("missingSharedFilter", "a topic filter must follow $share/NAME/")
        /// A `{` or `}` in a pattern does not enclose a whole level.
        public static let captureNotAlone = Reason(
            "captureNotAlone",
            "a capture {name} must be a whole level, and { and } have no other use"
        )
        /// A capture's name does not match `[A-Za-z][A-Za-z0-9_]*` or has more than ``TopicPattern/maximumNameLength``
        /// bytes.
        public static let invalidCaptureName = Reason(
            "invalidCaptureName",
            "a capture's name must be [A-Za-z][A-Za-z0-9_]*, at most \(TopicPattern.maximumNameLength) bytes"
        )
        /// The text after the colon in a capture is not `int` or `uuid`.
        public static let unknownKind = Reason("unknownKind", "the kinds of a capture are {name:int} and {name:uuid}")
        /// Two captures in the pattern have the same name.
        public static let duplicateCapture = Reason("duplicateCapture", "capture names must be unique")
        /// The pattern has more than ``TopicPattern/maximumCaptures`` captures.
        public static let tooManyCaptures = Reason(
            "tooManyCaptures",
            "a pattern must not have more than \(TopicPattern.maximumCaptures) captures"
        )
        /// A `{name...}` is followed by another level.
        public static let restNotLast = Reason("restNotLast", "{name...} must be the last level")

        /// The reason's name in logs and JSON, such as `wildcardNotAlone`.
        public let description: String
        fileprivate let sentence: String

        private init(_ name: String, _ sentence: String) {
            description = name
            self.sentence = sentence
        }
    }

    /// The kind of error.
    public let reason: Reason
    /// The position of the error in UTF-8 bytes from the start of the text.
    public let offset: Int

    init(_ reason: Reason, at offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    /// The rule that the text violates, with the position.
    public var description: String { "\(reason.sentence) (at byte \(offset))" }
}
