import SignalboxCore
import SignalboxRoutes

extension MQTTPublisherConfiguration {
    /// Whether everything is in its range and goes together.
    ///
    /// - Throws: ``MQTTPushError`` `invalidConfiguration` for the first fault, with the source's name and what to do.
    public func validate() throws(MQTTPushError) {
        do throws(MQTTPushError) {
            try validateBounds()
            try validateTimes()
            try validateReplies()
            try reconnect.validate()
            try security.validate(for: broker)
            try will?.validate()
            if password != nil && username == nil { throw fault("a password needs a user name") }
        } catch {
            throw error.about(source)
        }
    }

    private func validateBounds() throws(MQTTPushError) {
        guard (1...1_000_000).contains(queuedMessages) else { throw fault("the queued messages are 1 to 1000000") }
        guard (1_024...1_073_741_824).contains(queuedBytes) else { throw fault("the queued bytes are 1 KiB to 1 GiB") }
        guard (1...10_000).contains(unacknowledgedMessages) else {
            throw fault("the unacknowledged messages are 1 to 10000")
        }
        guard (1...100_000).contains(requestsInFlight) else { throw fault("the requests in flight are 1 to 100000") }
        guard (1...67_108_864).contains(replyBytes) else { throw fault("the bytes of a reply are 1 to 64 MiB") }
    }

    private func validateTimes() throws(MQTTPushError) {
        guard keepalive == .zero || keepalive.isWholeSeconds(in: 5...65_535) else {
            throw fault("the keepalive is 0 (none) or a whole number of seconds, 5 to 65535")
        }
        guard (Duration.milliseconds(10) ... .seconds(3_600)).contains(publishTimeout) else {
            throw fault("the publish timeout is 10 ms to 1 h")
        }
        guard (Duration.milliseconds(100) ... .seconds(3_600)).contains(answerTimeout) else {
            throw fault("the answer timeout is 100 ms to 1 h")
        }
        guard (Duration.zero ... .seconds(3_600)).contains(stopTimeout) else {
            throw fault("the stop timeout is 0 to 1 h")
        }
    }

    private func validateReplies() throws(MQTTPushError) {
        do {
            _ = try TopicName(replyTopic)
        } catch {
            throw fault("the reply topic \(replyTopic.debugDescription): \(error)")
        }
        guard replyTopic.utf8.count <= 1_024, !replyTopic.hasPrefix("$") else {
            throw fault("the reply topic has at most 1024 bytes and does not begin with $")
        }
    }

    private func fault(_ detail: String) -> MQTTPushError {
        MQTTPushError(.invalidConfiguration, detail)
    }
}
