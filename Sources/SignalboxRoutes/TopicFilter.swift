/// A subscription's topic filter: levels separated by `/`, `+` for any one level, `#` for all remaining levels.
///
/// MQTT 5.0, section 4.7. A level may be empty, and `+` matches an empty level. `a/#` also matches `a`. A filter that
/// begins with a wildcard matches no topic that begins with `$`. A shared subscription, `$share/NAME/FILTER` (section
/// 4.8.2), matches like `FILTER`. The comparison is bytewise and case-sensitive. Filters are
/// equal if they have the same bytes; different filters may match the same topics.
public struct TopicFilter: Sendable, Hashable {
    private let bytes: ByteText

    /// The filter as given and as sent to a broker.
    public var text: String { bytes.text }
    private let filter: [UInt8]

    /// Creates a filter from a configuration or a client. The cost is linear in the length.
    ///
    /// - Throws: ``TopicError`` when the text is empty, too long, or contains U+0000. Also when a wildcard is not alone
    ///   in its level, a `#` is not last, or `$share/` lacks a name or a filter.
    public init(_ text: String) throws(TopicError) {
        try TopicGrammar.checkLength(text.utf8)
        let content = Array(text.utf8)
        let start = try TopicGrammar.filterStart(in: content)
        try TopicGrammar.checkWildcards(in: content, from: start)
        bytes = ByteText(text)
        filter = Array(content[start...])
    }

    /// Whether the subscription is shared, so that a broker distributes its messages among several clients.
    public var isShared: Bool { filter.count < text.utf8.count }

    /// Returns whether a message published to `topic` reaches a subscriber of this filter.
    ///
    /// The cost is linear in the lengths of filter and topic.
    public func matches(_ topic: TopicName) -> Bool {
        let found = topic.text.utf8.withContiguousStorageIfAvailable { TopicWalk.matches(filter, $0) }
        return found ?? TopicWalk.matches(filter, topic.text.utf8)
    }

    /// Returns whether a message published to `topic` reaches a subscriber of this filter.
    ///
    /// - Returns: `false` also for a text that is not a topic name. Create a ``TopicName`` to get the reason.
    public func matches(_ topic: String) -> Bool {
        guard let name = try? TopicName(topic) else { return false }
        return matches(name)
    }
}

extension TopicFilter: CustomStringConvertible {
    /// The filter as given, including control characters. Escape it before display.
    public var description: String { text }
}

/// Matches a valid filter against a valid topic in one pass from left to right.
///
/// Generic over the bytes, so that tests can count the reads.
package enum TopicWalk {
    /// Returns whether the filter matches. Reads each byte of either side at most three times and stores nothing.
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

    /// `/#` also matches the parent level: `sport/#` matches `sport`.
    private static func isAnyChild(_ rest: some Collection<UInt8>) -> Bool {
        rest.elementsEqual([TopicGrammar.separator, TopicGrammar.multiLevel])
    }
}
