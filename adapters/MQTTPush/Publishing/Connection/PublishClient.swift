import CMosquitto

/// The publishing client of one connection. Belongs to one thread, on which the callbacks run too.
final class PublishClient {
    let handle: MosquittoHandle
    // libmosquitto holds an unretained pointer to it, and this reference keeps it until the handle is destroyed.
    private let target: PublishReceiver
    private let configuration: MQTTPublisherConfiguration

    init(_ configuration: MQTTPublisherConfiguration, target: PublishReceiver) throws(MQTTPushError) {
        handle = try MosquittoHandle(
            BrokerLogin(configuration),
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
    func connect() -> ConnectionEnd? {
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
    /// - Parameter left: for how long it is still wanted, where it says so.
    /// - Returns: the packet's identifier, which the answer bears. `MOSQ_ERR_NO_CONN` at QoS 1 means that the library has
    ///   queued it for a connection that this handle never has again.
    func publish(_ message: MQTTMessage, left: Duration?) -> (code: MosquittoCode, packet: Int32) {
        var list: OpaquePointer?
        defer { mosquitto_property_free_all(&list) }
        let added = add(message, left, to: &list)
        guard added.isSuccess else { return (added, 0) }
        var packet: Int32 = 0
        let code = message.payload.withUnsafeBytes { payload in
            mosquitto_publish_v5(
                handle.raw,
                &packet,
                message.topic,
                Int32(payload.count),
                payload.baseAddress,
                Int32(message.quality.rawValue),
                message.retain,
                list
            )
        }
        return (MosquittoCode(rawValue: code), packet)
    }

    private func add(_ message: MQTTMessage, _ left: Duration?, to list: inout OpaquePointer?) -> MosquittoCode {
        guard configuration.version == .v5 else { return .success }
        var code: Int32 = 0
        func keep(_ next: Int32) {
            if code == 0 { code = next }
        }
        if let topic = message.responseTopic {
            keep(mosquitto_property_add_string(&list, Int32(MQTT_PROP_RESPONSE_TOPIC.rawValue), topic))
        }
        if let data = message.correlation {
            let identifier = Int32(MQTT_PROP_CORRELATION_DATA.rawValue)
            keep(mosquitto_property_add_binary(&list, identifier, data, UInt16(clamping: data.count)))
        }
        if let type = message.contentType {
            keep(mosquitto_property_add_string(&list, Int32(MQTT_PROP_CONTENT_TYPE.rawValue), type))
        }
        if let left {
            let (seconds, rest) = left.components
            let wanted = UInt32(clamping: max(1, seconds + (rest > 0 ? 1 : 0)))
            keep(mosquitto_property_add_int32(&list, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), wanted))
        }
        let identifier = Int32(MQTT_PROP_USER_PROPERTY.rawValue)
        for property in message.userProperties {
            keep(mosquitto_property_add_string_pair(&list, identifier, property.name, property.value))
        }
        return MosquittoCode(rawValue: code)
    }
}

extension BrokerLogin {
    /// That of a publisher.
    init(_ configuration: MQTTPublisherConfiguration) {
        self.init(
            source: configuration.source,
            broker: configuration.broker,
            clientID: configuration.clientID,
            version: configuration.version,
            security: configuration.security,
            username: configuration.username,
            password: configuration.password,
            will: configuration.will,
            keepalive: configuration.keepalive
        )
    }
}
