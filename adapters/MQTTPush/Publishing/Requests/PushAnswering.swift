/// The ways outward of a push source that has a publisher.
struct PushAnswering: Sendable {
    /// Answers requests; `nil` where no topic may be answered on.
    let desk: ReplyDesk?
    /// What `context.sender` is; `nil` where nothing can be sent unasked.
    let sender: PushSender?

    init(_ configuration: MQTTPushConfiguration, publisher: MQTTPublisher) {
        guard let publishing = configuration.publishing else {
            desk = nil
            sender = nil
            return
        }
        desk = publishing.replyTopics.isEmpty ? nil : ReplyDesk(publishing, publisher: publisher)
        let topic = publishing.sendTopic.flatMap { try? SendTopic($0) }
        sender = topic.map { PushSender(topic: $0, publisher: publisher) }
    }
}
