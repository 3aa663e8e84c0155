/// What came on the reply topic.
struct PublishReply {
    /// What it answers; `nil` when it does not say, or came on another topic.
    let correlation: [UInt8]?
    let result: Result<MQTTReply, MQTTPublishError>
}
