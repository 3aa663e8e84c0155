import CMosquitto

/// The receiving client of one connection.
///
/// Belongs to one thread, on which the callbacks run too. Releasing it closes the socket without sending anything more,
/// which is how a batch is given back to the broker.
final class MosquittoClient {
    let handle: MosquittoHandle
    // libmosquitto holds an unretained pointer to it, and this reference keeps it until the handle is destroyed.
    private let target: PushReceiver

    init(
        _ configuration: MQTTPushConfiguration,
        cleanStart: Bool,
        target: PushReceiver
    ) throws(MQTTPushError) {
        handle = try MosquittoHandle(
            BrokerLogin(configuration),
            cleanStart: cleanStart,
            userData: Unmanaged.passUnretained(target).toOpaque()
        )
        self.target = target
        mosquitto_int_option(handle.raw, MOSQ_OPT_RECEIVE_MAXIMUM, Int32(configuration.receiveMaximum))
        mosquitto_connect_v5_callback_set(handle.raw, mosquittoConnected)
        mosquitto_disconnect_v5_callback_set(handle.raw, mosquittoDisconnected)
        mosquitto_subscribe_v5_callback_set(handle.raw, mosquittoSubscribed)
        mosquitto_unsubscribe_v5_callback_set(handle.raw, mosquittoUnsubscribed)
        mosquitto_message_v5_callback_set(handle.raw, mosquittoReceived)
    }

    /// Connects and queues CONNECT: see ``MosquittoHandle/connect(_:)``.
    func connect(_ configuration: MQTTPushConfiguration) -> ConnectionEnd? {
        handle.connect([
            (MQTT_PROP_SESSION_EXPIRY_INTERVAL, UInt32(clamping: configuration.sessionExpiry.components.seconds)),
            (MQTT_PROP_MAXIMUM_PACKET_SIZE, UInt32(clamping: configuration.packetLimit)),
        ])
    }

    /// Queues one SUBSCRIBE for topics that are asked for in the same way.
    ///
    /// MQTT 3.1.1 has no say in stored messages: they come with each SUBSCRIBE.
    ///
    /// - Returns: the packet's identifier, which the answer bears.
    func subscribe(_ topics: SubscriptionGroup, version: MQTTVersion) -> (code: MosquittoCode, packet: Int32) {
        let retained =
            topics.retained == .ignore ? MQTT_SUB_OPT_SEND_RETAIN_NEVER : MQTT_SUB_OPT_SEND_RETAIN_NEW
        let options = version == .v5 ? Int32(retained.rawValue) : 0
        var packet: Int32 = 0
        let code = MosquittoClient.withPointers(to: topics.filters) { pointers in
            mosquitto_subscribe_multiple(
                handle.raw,
                &packet,
                Int32(pointers.count),
                pointers.baseAddress,
                Int32(topics.quality.rawValue),
                options,
                nil
            )
        }
        return (MosquittoCode(rawValue: code), packet)
    }

    /// Queues one UNSUBSCRIBE.
    ///
    /// - Returns: the packet's identifier, which the answer bears.
    func unsubscribe(_ filter: String) -> (code: MosquittoCode, packet: Int32) {
        var packet: Int32 = 0
        let code = mosquitto_unsubscribe_v5(handle.raw, &packet, filter, nil)
        return (MosquittoCode(rawValue: code), packet)
    }

    private static func withPointers<Result>(
        to texts: [String],
        _ body: (UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { text in
            let copy = Array(text.utf8CString)
            let place = UnsafeMutablePointer<CChar>.allocate(capacity: copy.count)
            place.initialize(from: copy, count: copy.count)
            return place
        }
        defer { for pointer in pointers { pointer?.deallocate() } }
        return pointers.withUnsafeMutableBufferPointer { body($0) }
    }
}
