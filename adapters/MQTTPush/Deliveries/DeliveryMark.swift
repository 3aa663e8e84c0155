/// Identifies a message of QoS 1 by its packet identifier, which the broker keeps until the message is acknowledged, and by a
/// checksum of a few of its bytes, as identifiers are reused for other messages. A retained message comes with each subscription
/// under another identifier, so its mark has none, and a checksum of all its bytes.
struct DeliveryMark: Hashable {
    /// 0 for a retained message.
    let packet: UInt16
    let check: UInt64

    init(packet: UInt16, check: UInt64) {
        self.packet = packet
        self.check = check
    }

    init(packet: UInt16, topic: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer) {
        self.packet = packet
        check = DeliveryMark.check([topic.suffix(8), payload.prefix(8), payload.suffix(8)], of: topic, payload)
    }

    init(retained payload: UnsafeRawBufferPointer, on topic: UnsafeRawBufferPointer) {
        packet = 0
        check = DeliveryMark.check([topic[...], payload[...]], of: topic, payload)
    }

    private static func check(
        _ parts: [Slice<UnsafeRawBufferPointer>],
        of topic: UnsafeRawBufferPointer,
        _ payload: UnsafeRawBufferPointer
    ) -> UInt64 {
        var check = UInt64(topic.count) << 32 ^ UInt64(payload.count)
        for part in parts {
            for byte in part { check = check &* 31 &+ UInt64(byte) }
        }
        return check
    }

    var isRetained: Bool { packet == 0 }
}
