import SignalboxRoutes

/// The SUBSCRIBEs on one connection that are waiting for the broker's answers.
struct SubscriptionRequests {
    /// The broker's answers for all filters requested since the previous acknowledgement.
    struct Acknowledgement {
        var requested: [String] = []
        var granted = 0
        var downgraded: [String] = []
        var refused: [(filter: String, code: ReasonCode)] = []
    }

    private var waiting: [UInt16: SubscriptionGroup] = [:]
    private var acknowledgement = Acknowledgement()
    /// Whether further SUBSCRIBEs follow, so that the answers to those that were sent are not all.
    var hasUnsent = false

    mutating func sent(_ group: SubscriptionGroup, packet: UInt16) {
        waiting[packet] = group
    }

    var isEmpty: Bool { waiting.isEmpty }

    /// Counts a filter as refused that is not sent, because the broker has announced that it would refuse it.
    mutating func refused(_ filter: String, _ code: ReasonCode) {
        acknowledgement.requested.append(filter)
        acknowledgement.refused.append((filter, code))
    }

    /// Returns the answers if no packet waits for one, or `nil` if one does or there are none.
    mutating func takeAcknowledgement() -> Acknowledgement? {
        guard waiting.isEmpty, !hasUnsent, !acknowledgement.requested.isEmpty else { return nil }
        defer { acknowledgement = Acknowledgement() }
        return acknowledgement
    }

    /// Records the broker's answer to one packet, which may have any number of codes. Answers to unknown packets are
    /// ignored.
    ///
    /// - Returns: The answers for all filters if every packet has been answered, otherwise `nil`.
    mutating func acknowledged(_ packet: UInt16, _ codes: [ReasonCode]) -> Acknowledgement? {
        guard let group = waiting.removeValue(forKey: packet) else { return nil }
        acknowledgement.requested += group.filters
        for (filter, code) in zip(group.filters, codes) {
            if code.isFailure {
                acknowledgement.refused.append((filter, code))
                continue
            }
            acknowledgement.granted += 1
            if code.rawValue < Int32(group.qos.rawValue) { acknowledgement.downgraded.append(filter) }
        }
        // A filter without a reason code is not granted.
        for filter in group.filters.dropFirst(codes.count) { acknowledgement.refused.append((filter, .unspecified)) }
        return takeAcknowledgement()
    }
}

/// The topics in one SUBSCRIBE, which have the same quality of service and treat retained messages in the same way.
struct SubscriptionGroup: Equatable {
    let qos: MQTTQoS
    let retained: MQTTRetained
    private(set) var filters: [String] = []
    /// The subscription identifier, which applies to all topics of a packet (MQTT 5.0, 3.8.2.1.2).
    var identifier: UInt32?

    /// Divides the topics into one group for each topic with an identifier, and at most four groups for the others. The
    /// order within each group is preserved.
    static func groups(of topics: [MQTTTopic], _ identifiers: TopicIdentifiers? = nil) -> [SubscriptionGroup] {
        var groups: [SubscriptionGroup] = []
        var others: [SubscriptionGroup] = []
        for topic in topics {
            let filter = topic.pattern.filter.text
            if let identifier = identifiers?.identifier(of: topic) {
                var group = SubscriptionGroup(qos: topic.qos, retained: topic.retained, filters: [filter])
                group.identifier = identifier
                groups.append(group)
            } else if let known = others.firstIndex(where: { $0.qos == topic.qos && $0.retained == topic.retained }) {
                others[known].filters.append(filter)
            } else {
                others.append(SubscriptionGroup(qos: topic.qos, retained: topic.retained, filters: [filter]))
            }
        }
        return groups + others
    }

    /// The group as two groups, or `nil` if it has a single filter.
    var halves: (SubscriptionGroup, SubscriptionGroup)? {
        guard filters.count > 1 else { return nil }
        var (first, second) = (self, self)
        first.filters.removeSubrange((filters.count / 2)...)
        second.filters.removeSubrange(..<(filters.count / 2))
        return (first, second)
    }

    /// Removes filters that are not subscribed any more.
    mutating func remove(_ isRemoved: (String) -> Bool) {
        filters.removeAll(where: isRemoved)
    }
}
