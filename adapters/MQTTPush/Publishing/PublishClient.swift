import AdapterSupport
import CMosquitto

/// The publishing client of one connection. Belongs to one thread, on which the callbacks also run.
final class PublishClient {
    let handle: MosquittoHandle
    // libmosquitto holds an unretained pointer to the target; this reference outlives the handle.
    private let target: PublishReceiver
    private let configuration: MQTTPublisherConfiguration

    init(_ configuration: MQTTPublisherConfiguration, target: PublishReceiver) throws(MQTTPushError) {
        handle = try MosquittoHandle(
            configuration,
            cleanStart: true,
            userData: Unmanaged.passUnretained(target).toOpaque()
        )
        self.target = target
        self.configuration = configuration
        mosquitto_int_option(handle.raw, MOSQ_OPT_SEND_MAXIMUM, Int32(configuration.unacknowledgedMessages))
        mosquitto_connect_v5_callback_set(handle.raw, publisherConnected)
        mosquitto_disconnect_v5_callback_set(handle.raw, publisherDisconnected)
        mosquitto_publish_v5_callback_set(handle.raw, publisherPublished)
        mosquitto_subscribe_v5_callback_set(handle.raw, publisherSubscribed)
        mosquitto_message_v5_callback_set(handle.raw, publisherReceived)
    }

    /// Connects and queues CONNECT: see ``MosquittoHandle/connect(_:)``.
    func connect() -> BrokerDisconnectReason? {
        handle.connect([
            (MQTT_PROP_SESSION_EXPIRY_INTERVAL, 0),
            (MQTT_PROP_MAXIMUM_PACKET_SIZE, UInt32(clamping: 4 * configuration.replyBytes + 64 * 1_024)),
        ])
    }

    /// Queues a SUBSCRIBE at QoS 1.
    func subscribe(_ topic: String) -> MosquittoCode {
        MosquittoCode(rawValue: mosquitto_subscribe_v5(handle.raw, nil, topic, 1, 0, nil))
    }

    /// Queues a PUBLISH.
    ///
    /// - Parameter lifetime: The remaining lifetime of the message, if limited.
    /// - Returns: The return code and the packet identifier, which PUBACK repeats. `MOSQ_ERR_NO_CONN` at QoS 1 means
    ///   that the library queued the message for another connection, which this handle never makes.
    func publish(_ message: MQTTMessage, lifetime: Duration?) -> (code: MosquittoCode, packet: Int32) {
        var list: OpaquePointer?
        defer { mosquitto_property_free_all(&list) }
        let added = add(message, lifetime, to: &list)
        guard added.isSuccess else { return (added, 0) }
        var packet: Int32 = 0
        let code = message.payload.withUnsafeBytes { payload in
            mosquitto_publish_v5(
                handle.raw,
                &packet,
                message.topic,
                Int32(payload.count),
                payload.baseAddress,
                Int32(message.qos.rawValue),
                message.retain,
                list
            )
        }
        return (MosquittoCode(rawValue: code), packet)
    }

    private func add(_ message: MQTTMessage, _ lifetime: Duration?, to list: inout OpaquePointer?) -> MosquittoCode {
        guard configuration.version == .v5 else { return .success }
        var code: Int32 = 0
        func keepFirstError(_ next: Int32) {
            if code == 0 { code = next }
        }
        if let topic = message.responseTopic {
            keepFirstError(mosquitto_property_add_string(&list, Int32(MQTT_PROP_RESPONSE_TOPIC.rawValue), topic))
        }
        if let data = message.correlation {
            let identifier = Int32(MQTT_PROP_CORRELATION_DATA.rawValue)
            keepFirstError(mosquitto_property_add_binary(&list, identifier, data, UInt16(clamping: data.count)))
        }
        if let type = message.contentType {
            keepFirstError(mosquitto_property_add_string(&list, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), type))
        }
        if let lifetime {
            let (seconds, rest) = lifetime.components
            let expiry = UInt32(clamping: max(1, seconds + (rest > 0 ? 1 : 0)))
            keepFirstError(
                mosquitto_property_add_int32(&list, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), expiry)
            )
        }
        let identifier = Int32(MQTT_PROP_USER_PROPERTY.rawValue)
        for property in message.userProperties {
            keepFirstError(mosquitto_property_add_string_pair(&list, identifier, property.name, property.value))
        }
        return MosquittoCode(rawValue: code)
    }
}

/// The target of libmosquitto's callbacks in a publisher's connection. Belongs to one thread.
final class PublishReceiver {
    /// The number of callbacks so far. If a read does not change it, the socket was empty.
    private(set) var callbacks = 0
    private(set) var connack: ReasonCode?
    private(set) var disconnectCode: Int32?
    private(set) var hasProtocolError = false
    private(set) var subscribeCode: ReasonCode?
    private var acknowledgements: [(packet: Int32, code: ReasonCode)] = []
    private var replies: [PublishReply] = []
    private let replyTopic: String
    private let replyLimit: Int
    private let version: MQTTVersion

    init(replyTopic: String, replyLimit: Int, version: MQTTVersion) {
        self.replyTopic = replyTopic
        self.replyLimit = replyLimit
        self.version = version
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

    func connected(code: Int32) {
        callbacks += 1
        connack = version == .v5 ? ReasonCode(rawValue: code) : ReasonCode(returnCode: code)
    }

    func disconnected(code: Int32) {
        callbacks += 1
        // The library may report the end twice; the first report has the reason.
        if disconnectCode == nil { disconnectCode = code }
    }

    func subscribed(_ code: Int32) {
        callbacks += 1
        subscribeCode = ReasonCode(rawValue: code)
    }

    func published(packet: Int32, code: Int32) {
        callbacks += 1
        acknowledgements.append((packet, ReasonCode(rawValue: code)))
    }

    func received(_ message: UnsafePointer<mosquitto_message>, properties: OpaquePointer?) {
        callbacks += 1
        guard let topic = message.pointee.topic, message.pointee.qos < 2 else {
            // QoS 2 is never subscribed, and a broker must not raise a message's QoS (MQTT 5.0, 3.8.4).
            hasProtocolError = true
            return
        }
        let messageProperties = properties.map { PushProperties(copying: $0) }
        let length = message.pointee.payload == nil ? 0 : max(0, Int(message.pointee.payloadlen))
        let isReplyTopic = replyTopic.withCString { strcmp($0, topic) == 0 }
        guard length <= replyLimit else {
            let error = MQTTPublishError(.tooLarge, "the reply has \(length) bytes: raise replyBytes")
            replies.append(
                PublishReply(
                    correlation: isReplyTopic ? messageProperties?.correlationData : nil,
                    result: .failure(error)
                )
            )
            return
        }
        let payload = Array(UnsafeRawBufferPointer(start: message.pointee.payload, count: length))
        let userProperties = messageProperties?.userProperties ?? []
        let reply = MQTTReply(
            payload: payload,
            outcome: userProperties.first { $0.name == "outcome" }?.value,
            contentType: messageProperties?.contentType,
            userProperties: userProperties.map { MQTTMessage.UserProperty(name: $0.name, value: $0.value) }
        )
        replies.append(
            PublishReply(correlation: isReplyTopic ? messageProperties?.correlationData : nil, result: .success(reply))
        )
    }
}

/// A message on the reply topic.
struct PublishReply {
    /// The correlation of the request; `nil` if the message has none or arrived on another topic.
    let correlation: [UInt8]?
    let result: Result<MQTTReply, MQTTPublishError>
}

// As for the receiving client, libmosquitto calls these on the thread that reads and writes. `userData` is the client's
// `PublishReceiver`, which lives as long as the handle. The functions copy everything before they return.

func publisherConnected(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ code: Int32,
    _ flags: Int32,
    _ properties: OpaquePointer?
) {
    receiver(userData)?.connected(code: code)
}

func publisherDisconnected(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ code: Int32,
    _ properties: OpaquePointer?
) {
    receiver(userData)?.disconnected(code: code)
}

func publisherPublished(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ packet: Int32,
    _ code: Int32,
    _ properties: OpaquePointer?
) {
    receiver(userData)?.published(packet: packet, code: code)
}

func publisherSubscribed(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ packet: Int32,
    _ count: Int32,
    _ granted: UnsafePointer<Int32>?,
    _ properties: OpaquePointer?
) {
    // The packet has one filter. A broker that sends no code for it has not granted it.
    let code = count > 0 ? granted?.pointee : nil
    receiver(userData)?.subscribed(code ?? Int32(MQTT_RC_UNSPECIFIED.rawValue))
}

func publisherReceived(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ message: UnsafePointer<mosquitto_message>?,
    _ properties: OpaquePointer?
) {
    guard let message else { return }
    receiver(userData)?.received(message, properties: properties)
}

private func receiver(_ userData: UnsafeMutableRawPointer?) -> PublishReceiver? {
    guard let userData else { return nil }
    return Unmanaged<PublishReceiver>.fromOpaque(userData).takeUnretainedValue()
}
