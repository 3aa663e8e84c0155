import SignalboxCore

extension MQTTPushConfiguration {
    /// The configuration of the second client, or `nil` when the source only receives.
    var publisher: MQTTPublisherConfiguration? {
        guard let publishing else { return nil }
        var publisher = MQTTPublisherConfiguration(
            source: source,
            broker: broker,
            clientID: publishing.clientID ?? clientID.publisher
        )
        publisher.version = version
        publisher.security = security
        publisher.username = username
        publisher.password = password
        publisher.keepalive = keepalive
        publisher.answerTimeout = answerTimeout
        publisher.reconnect = reconnect
        publisher.firstConnectionMustSucceed = firstConnectionMustSucceed
        publisher.queuedMessages = publishing.queuedMessages
        publisher.queuedBytes = publishing.queuedBytes
        publisher.publishTimeout = publishing.publishTimeout
        publisher.stopTimeout = publishing.stopTimeout
        publisher.replyTopic = publishing.responseTopic
        publisher.replyBytes = limits.bytes
        return publisher
    }

    /// What can be said of ``publishing`` beside its bounds.
    func validatePublishing() throws(MQTTPushError) {
        guard let publishing, let publisher else { return }
        try publisher.validate()
        guard !perConnection.contains(where: { $0.clientID == publisher.clientID }) else {
            throw MQTTPushError(
                .invalidConfiguration,
                "the publishing client has a client id of the source's: two clients with one id disconnect each other"
            )
        }
        guard (1...1_000_000).contains(publishing.waitingReplies) else {
            throw MQTTPushError(.invalidConfiguration, "the waiting replies are 1 to 1000000")
        }
        if version == .v311, !publishing.replyTopics.isEmpty {
            throw MQTTPushError(
                .invalidConfiguration,
                "MQTT 3.1.1 has no response topics, so nothing can be answered: leave the reply topics out, or use MQTT 5"
            )
        }
        do throws(MQTTPublishError) {
            if let topic = publishing.sendTopic { _ = try SendTopic(topic) }
        } catch {
            throw MQTTPushError(.invalidConfiguration, error.detail)
        }
    }
}

extension MQTTClientID {
    /// The id of the publishing client beside this one.
    fileprivate var publisher: MQTTClientID {
        if isRandom { return .random() }
        // An id of the greatest length has no room for more.
        return (try? .fixed(text + "-tx")) ?? .random()
    }
}
