/// The topic filter of a subscription (MQTT 5.0, section 4.7).
///
/// A filter consists of levels separated by `/`:
///
/// - The level `+` matches any one level, even an empty one.
/// - The level `#` matches all remaining levels, so `a/#` also matches `a`.
/// - A filter that begins with a wildcard does not match topics that begin with `$`.
/// - A shared subscription, `$share/NAME/FILTER` (section 4.8.2), matches like `FILTER`.
///
/// Filters and topics are compared byte by byte, so case matters. Two filters are equal only if they have the same
/// bytes, so unequal filters may match the same topics.
public struct TopicFilter: Sendable, Hashable {
    private let bytes: ByteText

    /// The filter as given, which is also the text to send to a broker.
    public var text: String { bytes.text }
    private let filter: [UInt8]

    /// Creates a filter from a configuration or a client. The cost is linear in the length of the text.
    ///
    /// - Throws: ``TopicError`` in any of these cases:
    ///   - The text is empty, is too long or contains U+0000.
    ///   - A wildcard shares its level with other characters.
    ///   - A `#` is not last.
    ///   - `$share/` is not followed by a name and a filter.
    public init(_ text: String) throws(TopicError) {
        try TopicGrammar.checkLength(text.utf8)
        let content = Array(text.utf8)
        let start = try TopicGrammar.filterStart(in: content)
        try TopicGrammar.checkWildcards(in: content, from: start)
        bytes = ByteText(text)
        filter = Array(content[start...])
    }

    /// Whether the subscription is shared, so that the broker distributes its messages among several clients.
    public var isShared: Bool { filter.count < text.utf8.count }

    /// Whether any level is a wildcard.
    package var hasWildcard: Bool { filter.contains(where: TopicGrammar.isWildcard) }

    /// The levels, without those of `$share/NAME`.
    var levels: [ArraySlice<UInt8>] {
        filter.split(separator: TopicGrammar.separator, omittingEmptySubsequences: false)
    }

    /// Returns whether a subscriber with this filter receives messages published to `topic`.
    ///
    /// The cost is linear in the lengths of the filter and the topic.
    public func matches(_ topic: TopicName) -> Bool {
        let found = topic.text.utf8.withContiguousStorageIfAvailable { TopicWalk.matches(filter, $0) }
        return found ?? TopicWalk.matches(filter, topic.text.utf8)
    }

    /// Returns whether a subscriber with this filter receives messages published to `topic`.
    ///
    /// - Returns: Whether the filter matches, or `false` if the text is not a topic name. To get the reason, create a
    ///   ``TopicName``.
    public func matches(_ topic: String) -> Bool {
        guard let name = try? TopicName(topic) else { return false }
        return matches(name)
    }
}

extension TopicFilter: CustomStringConvertible {
    /// The filter as given, including any control characters. Escape this text before you display it.
    public var description: String { text }
}

/// Matches a valid filter against a valid topic in one pass from left to right.
///
/// The methods are generic over the collection of bytes, so that tests can count how often each byte is read.
package enum TopicWalk {
    /// Returns whether the filter matches the topic. The method reads each byte of either text at most three times and
    /// stores nothing.
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

    /// Returns whether the rest of a filter is `/#`, which also matches the parent level: `sport/#` matches `sport`.
    private static func isAnyChild(_ rest: some Collection<UInt8>) -> Bool {
        rest.elementsEqual([TopicGrammar.separator, TopicGrammar.multiLevel])
    }
}
