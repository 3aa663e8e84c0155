/// What a publisher's connection has received. Belongs to one thread.
final class PublishReceiver: BrokerClientDelegate {
    private(set) var connack: ReasonCode?
    private(set) var disconnectCode: ReasonCode?
    private(set) var hasProtocolError = false
    private(set) var subscribeCode: ReasonCode?
    private var acknowledgements: [(packet: Int32, code: ReasonCode)] = []
    private var replies: [PublishReply] = []
    private let replyTopic: String
    private let replyLimit: Int

    init(replyTopic: String, replyLimit: Int) {
        self.replyTopic = replyTopic
        self.replyLimit = replyLimit
    }

    func takeAcknowledgements() -> [(packet: Int32, code: ReasonCode)] {
        defer { acknowledgements.removeAll(keepingCapacity: true) }
        return acknowledgements
    }

    func takeReplies() -> [PublishReply] {
        defer { replies.removeAll(keepingCapacity: true) }
        return replies
    }

    func takeSubscribeCode() -> ReasonCode? {
        defer { subscribeCode = nil }
        return subscribeCode
    }

    func accepted(sessionPresent: Bool) {}

    func note(_ event: BrokerEvent) {
        switch event {
        case .connected(let code, _): connack = code
        // The library may report the end twice; the first report has the reason.
        case .disconnected(let code): disconnectCode = disconnectCode ?? code
        // The packet has one filter. A broker that sends no code for it has not granted it.
        case .subscribed(_, let codes): subscribeCode = codes.first ?? .unspecified
        case .unsubscribed: break
        case .published(let packet, let code): acknowledgements.append((packet, code))
        case .violation: hasProtocolError = true
        }
    }

    func received(_ message: BrokerMessage) {
        let messageProperties = message.properties.map { PushProperties(copying: $0) }
        let correlation = message.topic.elementsEqual(replyTopic.utf8) ? messageProperties?.correlationData : nil
        guard message.payload.count <= replyLimit else {
            let error = MQTTPublishError(.tooLarge, "the reply has \(message.payload.count) bytes: raise replyBytes")
            replies.append(PublishReply(correlation: correlation, result: .failure(error)))
            return
        }
        let payload = Array(message.payload)
        let userProperties = messageProperties?.userProperties ?? []
        let reply = MQTTReply(
            payload: payload,
            outcome: userProperties.first { $0.name == "outcome" }?.value,
            contentType: messageProperties?.contentType,
            userProperties: userProperties.map { MQTTMessage.UserProperty(name: $0.name, value: $0.value) }
        )
        replies.append(
            PublishReply(correlation: correlation, result: .success(reply))
        )
    }
}

/// A message on the reply topic.
struct PublishReply {
    /// The correlation of the request; `nil` if the message has none or arrived on another topic.
    let correlation: [UInt8]?
    let result: Result<MQTTReply, MQTTPublishError>
}
