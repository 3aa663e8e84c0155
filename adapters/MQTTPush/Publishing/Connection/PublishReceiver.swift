import CMosquitto

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// What libmosquitto's callbacks write to in a publisher's connection. Belongs to one thread.
final class PublishReceiver {
    /// Grows with every callback; when a read did not move it, the socket was empty.
    private(set) var callbacks = 0
    private(set) var greeting: ReasonCode?
    private(set) var goodbye: Int32?
    private(set) var brokeProtocol = false
    private(set) var granted: ReasonCode?
    private var answers: [(packet: Int32, code: ReasonCode)] = []
    private var replies: [PublishReply] = []
    private let replyTopic: String
    private let replyLimit: Int
    private let version: MQTTVersion

    init(replyTopic: String, replyLimit: Int, version: MQTTVersion) {
        self.replyTopic = replyTopic
        self.replyLimit = replyLimit
        self.version = version
    }

    func takeAnswers() -> [(packet: Int32, code: ReasonCode)] {
        defer { answers.removeAll(keepingCapacity: true) }
        return answers
    }

    func takeReplies() -> [PublishReply] {
        defer { replies.removeAll(keepingCapacity: true) }
        return replies
    }

    func takeGranted() -> ReasonCode? {
        defer { granted = nil }
        return granted
    }

    func connected(code: Int32) {
        callbacks += 1
        greeting = version == .v5 ? ReasonCode(rawValue: code) : ReasonCode(returnCode: code)
    }

    func disconnected(code: Int32) {
        callbacks += 1
        // The library may report the end twice; the first report has the reason.
        if goodbye == nil { goodbye = code }
    }

    func subscribed(_ code: Int32) {
        callbacks += 1
        granted = ReasonCode(rawValue: code)
    }

    func published(packet: Int32, code: Int32) {
        callbacks += 1
        answers.append((packet, ReasonCode(rawValue: code)))
    }

    func received(_ message: UnsafePointer<mosquitto_message>, properties: OpaquePointer?) {
        callbacks += 1
        guard let topic = message.pointee.topic, message.pointee.qos < 2 else {
            // QoS 2 is never subscribed, and a broker must not raise a message's QoS (MQTT 5.0, 3.8.4).
            brokeProtocol = true
            return
        }
        let said = properties.map { PushProperties(copying: $0) }
        let length = message.pointee.payload == nil ? 0 : max(0, Int(message.pointee.payloadlen))
        let isOurs = replyTopic.withCString { strcmp($0, topic) == 0 }
        guard length <= replyLimit else {
            let error = MQTTPublishError(.tooLarge, "the reply has \(length) bytes: raise replyBytes")
            replies.append(PublishReply(correlation: isOurs ? said?.correlationData : nil, result: .failure(error)))
            return
        }
        let payload = Array(UnsafeRawBufferPointer(start: message.pointee.payload, count: length))
        let others = said?.userProperties ?? []
        let reply = MQTTReply(
            payload: payload,
            outcome: others.first { $0.name == "outcome" }?.value,
            contentType: said?.contentType,
            userProperties: others.map { MQTTMessage.UserProperty(name: $0.name, value: $0.value) }
        )
        replies.append(PublishReply(correlation: isOurs ? said?.correlationData : nil, result: .success(reply)))
    }
}
