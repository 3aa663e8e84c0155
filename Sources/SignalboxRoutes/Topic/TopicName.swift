/// A topic that a message was, or can be, published to: MQTT 5.0, section 4.7, without wildcards.
///
/// Topics are compared byte by byte: `é` written as one character and as two are two topics.
public struct TopicName: Sendable {
    /// The most bytes of UTF-8 that a topic name, filter or pattern may have.
    public static let maximumLength = 65_535

    /// The topic as it was given.
    public let text: String

    /// A topic that came from a broker or a configuration. Time grows with the length alone.
    ///
    /// - Throws: ``TopicError`` when it is empty, too long, or contains `+`, `#` or U+0000.
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
        self.text = text
    }
}

extension TopicName: Hashable {
    /// Equal when the bytes are.
    public static func == (left: TopicName, right: TopicName) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        TopicGrammar.hash(text, into: &hasher)
    }
}

extension TopicName: CustomStringConvertible {
    /// The topic as it was given, control characters included: escape it before it is shown.
    public var description: String { text }
}
