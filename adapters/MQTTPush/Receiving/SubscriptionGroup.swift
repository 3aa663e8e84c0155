import SignalboxRoutes

/// Topics of a connection that one SUBSCRIBE asks for, as they want the same quality and the same of stored messages.
struct SubscriptionGroup: Equatable {
    let quality: MQTTQuality
    let retained: MQTTRetained
    private(set) var filters: [String] = []

    /// The groups of topics, at most four, each in the topics' order.
    static func groups(of topics: [MQTTTopic]) -> [SubscriptionGroup] {
        var groups: [SubscriptionGroup] = []
        for topic in topics {
            let filter = topic.pattern.filter.text
            let known = groups.firstIndex { $0.quality == topic.quality && $0.retained == topic.retained }
            if let known {
                groups[known].filters.append(filter)
            } else {
                groups.append(
                    SubscriptionGroup(quality: topic.quality, retained: topic.retained, filters: [filter])
                )
            }
        }
        return groups
    }
}
