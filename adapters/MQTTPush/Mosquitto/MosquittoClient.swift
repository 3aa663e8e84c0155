import CMosquitto

/// The receiving client of one connection.
///
/// Belongs to one thread, on which the callbacks also run. Releasing it closes the socket without sending anything
/// more, which returns an unacknowledged batch to the broker.
final class MosquittoClient {
    let handle: MosquittoHandle
    // libmosquitto holds an unretained pointer to the target; this reference outlives the handle.
    private let target: PushReceiver

    init(
        _ configuration: MQTTPushConfiguration,
        cleanStart: Bool,
        target: PushReceiver
    ) throws(MQTTPushError) {
        handle = try MosquittoHandle(
            configuration,
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
    func connect(_ configuration: MQTTPushConfiguration) -> BrokerDisconnectReason? {
        handle.connect([
            (MQTT_PROP_SESSION_EXPIRY_INTERVAL, UInt32(clamping: configuration.sessionExpiry.components.seconds)),
            (MQTT_PROP_MAXIMUM_PACKET_SIZE, UInt32(clamping: configuration.packetLimit)),
        ])
    }

    /// Queues one SUBSCRIBE for topics with the same options.
    ///
    /// MQTT 3.1.1 has no option for retained messages: the broker sends them after each SUBSCRIBE.
    ///
    /// - Returns: The return code and the packet identifier, which SUBACK repeats.
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
                Int32(topics.qos.rawValue),
                options,
                nil
            )
        }
        return (MosquittoCode(rawValue: code), packet)
    }

    /// Queues one UNSUBSCRIBE.
    ///
    /// - Returns: The return code and the packet identifier, which UNSUBACK repeats.
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
            let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: copy.count)
            buffer.initialize(from: copy, count: copy.count)
            return buffer
        }
        defer { for pointer in pointers { pointer?.deallocate() } }
        return pointers.withUnsafeMutableBufferPointer { body($0) }
    }
}

// libmosquitto calls these synchronously on the thread that calls `read`, `write` or `keepAlive` of a
// `MosquittoHandle`. `userData` is the client's `PushReceiver`, which the client keeps alive until the handle is
// destroyed. All pointers are valid only during the call, so the functions copy everything before they return. They are
// global functions because a closure literal would inherit the isolation of the type that contains it.

func mosquittoConnected(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ code: Int32,
    _ flags: Int32,
    _ properties: OpaquePointer?
) {
    receiver(userData)?.connected(code: code, flags: flags)
}

func mosquittoDisconnected(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ code: Int32,
    _ properties: OpaquePointer?
) {
    receiver(userData)?.disconnected(code: code)
}

func mosquittoSubscribed(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ packet: Int32,
    _ count: Int32,
    _ granted: UnsafePointer<Int32>?,
    _ properties: OpaquePointer?
) {
    let codes = UnsafeBufferPointer(start: granted, count: granted == nil ? 0 : max(0, Int(count)))
    receiver(userData)?.subscribed(packet, codes)
}

func mosquittoUnsubscribed(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ packet: Int32,
    _ properties: OpaquePointer?
) {
    receiver(userData)?.unsubscribed(packet)
}

func mosquittoReceived(
    _ handle: OpaquePointer?,
    _ userData: UnsafeMutableRawPointer?,
    _ message: UnsafePointer<mosquitto_message>?,
    _ properties: OpaquePointer?
) {
    guard let message else { return }
    receiver(userData)?.received(message, properties: properties)
}

private func receiver(_ userData: UnsafeMutableRawPointer?) -> PushReceiver? {
    guard let userData else { return nil }
    return Unmanaged<PushReceiver>.fromOpaque(userData).takeUnretainedValue()
}
