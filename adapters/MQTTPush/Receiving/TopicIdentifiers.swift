import SignalboxRoutes

/// The subscription identifiers of a connection's topics, which the broker sends with each message (MQTT 5.0, 3.8.2.1.2).
///
/// An identifier names the pattern to compare with a message's topic, so that a new topic is not compared with all
/// patterns. Only a topic whose filter overlaps with none before it has one. If its pattern matches, no other could be the
/// first that matches, so the result is the same as without an identifier. That also holds for any identifier that a
/// broker should not send.
///
/// An identifier depends only on the filter. Messages that wait in a session from an earlier configuration therefore name
/// the same filter or none.
struct TopicIdentifiers {
    private var topics: [UInt32: MQTTTopic] = [:]
    private var identifiers: [TopicFilter: UInt32] = [:]

    /// Assigns identifiers. With a single topic there is nothing to choose, so it has none.
    ///
    /// - Parameter topics: The topics in the order in which they are compared with a message.
    init(_ topics: [MQTTTopic]) {
        guard topics.count > 1 else { return }
        var tree = TopicFilterTree()
        for topic in topics {
            let filter = topic.pattern.filter
            let identifier = TopicIdentifiers.identifier(of: filter)
            guard !tree.insert(filter), self.topics[identifier] == nil else { continue }
            self.topics[identifier] = topic
            identifiers[filter] = identifier
        }
    }

    /// The identifier of one of the topics, or `nil` if it has none.
    func identifier(of topic: MQTTTopic) -> UInt32? { identifiers[topic.pattern.filter] }

    /// The topic with an identifier, or `nil` if no topic has it.
    func topic(_ identifier: UInt32) -> MQTTTopic? { topics[identifier] }

    /// A hash of the filter (FNV-1a) in the range of identifiers, 1 to 268,435,455.
    private static func identifier(of filter: TopicFilter) -> UInt32 {
        var hash: UInt32 = 2_166_136_261
        for byte in filter.text.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return 1 + hash % UInt32(PacketSize.largest)
    }
}
