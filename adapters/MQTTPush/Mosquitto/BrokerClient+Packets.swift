import AdapterSupport
import CMosquitto

extension BrokerClient {
    /// Queues a single SUBSCRIBE packet for topics with the same options.
    ///
    /// MQTT 3.1.1 has no option for retained messages, so the broker sends them after each SUBSCRIBE.
    ///
    /// - Returns: The return code, and the packet identifier that SUBACK will repeat.
    func subscribe(_ topics: SubscriptionGroup) -> (code: MosquittoCode, packet: Int32) {
        let retained = topics.retained == .ignore ? MQTT_SUB_OPT_SEND_RETAIN_NEVER : MQTT_SUB_OPT_SEND_RETAIN_NEW
        let options = settings.version == .v5 ? Int32(retained.rawValue) : 0
        var texts = topics.filters.map { strdup($0) }
        defer { for text in texts { free(text) } }
        var packet: Int32 = 0
        let code = mosquitto_subscribe_multiple(
            raw,
            &packet,
            Int32(texts.count),
            &texts,
            Int32(topics.qos.rawValue),
            options,
            nil
        )
        return (MosquittoCode(rawValue: code), packet)
    }

    /// Queues an UNSUBSCRIBE packet for one filter.
    ///
    /// - Returns: The return code, and the packet identifier that UNSUBACK will repeat.
    func unsubscribe(_ filter: String) -> (code: MosquittoCode, packet: Int32) {
        var packet: Int32 = 0
        let code = mosquitto_unsubscribe_v5(raw, &packet, filter, nil)
        return (MosquittoCode(rawValue: code), packet)
    }

    /// Sends an UNSUBSCRIBE that bypasses the library's queue, under the same condition as ``ping()``.
    ///
    /// - Returns: `false` if the connection is unusable.
    func unsubscribePastQueue(_ filters: [String], packet: UInt16) -> Bool {
        var body = [UInt8(packet >> 8), UInt8(packet & 0xFF)]
        // MQTT 5 has properties here (MQTT 5.0, 3.10.2.1).
        if settings.version == .v5 { body.append(0) }
        for filter in filters {
            let length = UInt16(clamping: filter.utf8.count)
            body += [UInt8(length >> 8), UInt8(length & 0xFF)] + filter.utf8.prefix(Int(length))
        }
        var header: [UInt8] = [0xA2]
        var rest = body.count
        repeat {
            header.append(UInt8(rest & 0x7F) | (rest > 0x7F ? 0x80 : 0))
            rest >>= 7
        } while rest > 0
        return sendPastQueue(header + body)
    }

    /// Queues a PUBLISH packet.
    ///
    /// - Parameter lifetime: How long the message is still valid, or `nil` if there is no limit.
    /// - Returns: The return code, and the packet identifier that PUBACK will repeat. At QoS 1, `MOSQ_ERR_NO_CONN`
    ///   means that the library has queued the message for its next connection, which this handle never makes.
    func publish(_ message: MQTTMessage, lifetime: Duration?) -> (code: MosquittoCode, packet: Int32) {
        var list: OpaquePointer?
        defer { mosquitto_property_free_all(&list) }
        let added = settings.version == .v5 ? BrokerClient.add(message, lifetime, to: &list) : .success
        guard added.isSuccess else { return (added, 0) }
        var packet: Int32 = 0
        let code = message.payload.withUnsafeBytes { payload in
            mosquitto_publish_v5(
                raw,
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

    private static func add(_ message: MQTTMessage, _ lifetime: Duration?, to list: inout OpaquePointer?)
        -> MosquittoCode
    {
        var code: Int32 = 0
        func keepFirstError(_ next: Int32) {
            if code == 0 { code = next }
        }
        let texts = [(MQTT_PROP_RESPONSE_TOPIC, message.responseTopic), (MQTT_PROP_CONTENT_TYPE, message.contentType)]
        // The library crashes when it copies an empty text. To a receiver, a message without a content type is the same.
        for case (let identifier, let text?) in texts where !text.isEmpty {
            keepFirstError(mosquitto_property_add_string(&list, Int32(identifier.rawValue), text))
        }
        if let data = message.correlation {
            let identifier = Int32(MQTT_PROP_CORRELATION_DATA.rawValue)
            keepFirstError(mosquitto_property_add_binary(&list, identifier, data, UInt16(clamping: data.count)))
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
