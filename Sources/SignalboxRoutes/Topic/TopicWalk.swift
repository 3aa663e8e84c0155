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
