/// What a client subscribes to: levels between `/`, `+` for any one level, `#` for all that remains.
///
/// MQTT 5.0, section 4.7. A level may be empty, and `+` stands for an empty level too. `a/#` matches `a` itself. A
/// filter that begins with a wildcard matches no topic that begins with `$`. A shared subscription,
/// `$share/NAME/FILTER` (section 4.8.2), matches as `FILTER`. Topics are compared byte by byte, letter case included.
public struct TopicFilter: Sendable {
    /// The filter as it was given, and as it is sent to a broker.
    public let text: String
    private let filter: [UInt8]

    /// A filter that came from a configuration or a client. Time grows with the length alone.
    ///
    /// - Throws: ``TopicError`` when it is empty, too long, contains U+0000, has a wildcard that is not alone in its
    ///   level, a `#` that is not last, or a `$share/` without name or filter.
    public init(_ text: String) throws(TopicError) {
        try TopicGrammar.checkLength(text.utf8)
        let bytes = Array(text.utf8)
        let start = try TopicGrammar.filterStart(in: bytes)
        try TopicGrammar.checkWildcards(in: bytes, from: start)
        self.text = text
        filter = Array(bytes[start...])
    }

    /// Whether a broker serves this filter to several clients in turns: it begins with `$share/`.
    public var isShared: Bool { filter.count < text.utf8.count }

    /// Whether a message published to `topic` reaches a subscriber of this filter.
    ///
    /// Time grows with the length of filter and topic alone.
    public func matches(_ topic: TopicName) -> Bool {
        let found = topic.text.utf8.withContiguousStorageIfAvailable { TopicWalk.matches(filter, $0) }
        return found ?? TopicWalk.matches(filter, topic.text.utf8)
    }

    /// Whether a message published to `topic` reaches a subscriber of this filter.
    ///
    /// - Returns: `false` also for a text that is no topic name; make a ``TopicName`` to learn why it is none.
    public func matches(_ topic: String) -> Bool {
        guard let name = try? TopicName(topic) else { return false }
        return matches(name)
    }
}

extension TopicFilter: Hashable {
    /// Equal when the bytes are; two filters that match the same topics may differ.
    public static func == (left: TopicFilter, right: TopicFilter) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) {
        TopicGrammar.hash(text, into: &hasher)
    }
}

extension TopicFilter: CustomStringConvertible {
    /// The filter as it was given, control characters included: escape it before it is shown.
    public var description: String { text }
}

/// Lays a valid filter beside a valid topic and reads both from left to right, once.
///
/// Generic over the bytes, so that a test can count how often each is read.
package enum TopicWalk {
    /// Whether the filter matches; each byte of either side is read at most three times, and nothing is stored.
    package static func matches(_ filter: some Collection<UInt8>, _ topic: some Collection<UInt8>) -> Bool {
        if let first = filter.first, TopicGrammar.isWildcard(first), topic.first == TopicGrammar.dollar { return false }
        var expected = filter.startIndex
        var actual = topic.startIndex
        while expected != filter.endIndex {
            let byte = filter[expected]
            if byte == TopicGrammar.multiLevel { return true }
            if byte == TopicGrammar.singleLevel {
                skipLevel(of: topic, from: &actual)
            } else if actual != topic.endIndex, topic[actual] == byte {
                topic.formIndex(after: &actual)
            } else {
                return actual == topic.endIndex && isAnyChild(filter[expected...])
            }
            filter.formIndex(after: &expected)
        }
        return actual == topic.endIndex
    }

    private static func skipLevel<Topic: Collection<UInt8>>(of topic: Topic, from position: inout Topic.Index) {
        while position != topic.endIndex, topic[position] != TopicGrammar.separator {
            topic.formIndex(after: &position)
        }
    }

    /// `/#` matches the parent level too: `sport/#` matches `sport`.
    private static func isAnyChild(_ rest: some Collection<UInt8>) -> Bool {
        rest.elementsEqual([TopicGrammar.separator, TopicGrammar.multiLevel])
    }
}
