import SignalboxRoutes

extension PushConnection {
    /// Brings what was added and removed to the broker, between two batches. What stays is not touched.
    func updateTopics() -> ConnectionEnd? {
        guard isOpen, board.revision != topicsRevision else { return nil }
        let wanted = board.snapshot(takingFresh: true)
        topicsRevision = wanted.revision
        let added = wanted.topics.filter { wanted.fresh.contains($0.pattern.filter.text) }
        receiver.use(wanted)
        return subscribe(added) ?? unsubscribe(wanted.gone) ?? flush()
    }

    /// Queues SUBSCRIBEs.
    func subscribe(_ topics: [MQTTTopic]) -> ConnectionEnd? {
        for group in SubscriptionGroup.groups(of: topics) {
            let (code, packet) = client.subscribe(group, version: configuration.version)
            if let end = ended(code, code.text) { return end }
            receiver.requests.sent(group, packet: packet)
            // The answer to an earlier UNSUBSCRIBE says nothing any more about what is subscribed to again.
            for (packet, filter) in receiver.leaving where group.filters.contains(filter) {
                receiver.leaving[packet] = nil
            }
        }
        return nil
    }

    /// Queues one UNSUBSCRIBE for each filter that is not on its way.
    func unsubscribe(_ filters: [String]) -> ConnectionEnd? {
        for filter in filters where !receiver.leaving.values.contains(filter) {
            let (code, packet) = client.unsubscribe(filter)
            if let end = ended(code, code.text) { return end }
            receiver.leaving[packet] = filter
        }
        return nil
    }

    /// Tells of the filters that the broker has taken back.
    func noteUnsubscribed() {
        let filters = receiver.takeUnsubscribed()
        if !filters.isEmpty { board.unsubscribed(filters) }
    }
}
