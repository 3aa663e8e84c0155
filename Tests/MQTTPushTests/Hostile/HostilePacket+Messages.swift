extension HostilePacket {
    private static let log = Array("push/log".utf8)

    /// PUBLISH, on a connection that was greeted and has its filter granted (MQTT 5.0, 3.3).
    static let messages: [HostilePacket] = [
        HostilePacket("PUBLISH without anything", packet(0x30, [])),
        HostilePacket("PUBLISH with a topic cut off", packet(0x30, [0x00, 0x05, 0x61])),
        HostilePacket("PUBLISH with an empty topic", publish([])),
        HostilePacket("PUBLISH with an alias nobody set", publish([], properties: [0x23, 0x00, 0x05])),
        HostilePacket("PUBLISH with alias 0", publish(log, properties: [0x23, 0x00, 0x00])),
        HostilePacket("PUBLISH with an alias above our maximum", publish(log, properties: [0x23, 0xFF, 0xFF]), .takes),
        HostilePacket("PUBLISH with NUL in its topic", publish(Array("push/\0log".utf8))),
        HostilePacket("PUBLISH with a topic that is no UTF-8", publish([0x70, 0x75, 0xC3, 0x28])),
        HostilePacket("PUBLISH with half a surrogate pair in its topic", publish([0x70, 0xED, 0xA0, 0x80])),
        HostilePacket("PUBLISH with # in its topic", publish(Array("push/#".utf8)), .takes),
        HostilePacket("PUBLISH with + in its topic", publish(Array("push/+".utf8)), .takes),
        HostilePacket("PUBLISH of QoS 3", publish(log, first: 0x36)),
        HostilePacket("PUBLISH of QoS 2", publish(log, first: 0x34), .ignores),
        HostilePacket("PUBLISH of QoS 0 that is a repeat", publish(log, first: 0x38), .takes),
        HostilePacket("PUBLISH of QoS 1 with packet id 0", packet(0x32, [0x00, 0x08] + log + [0x00, 0x00, 0x00])),
        HostilePacket("PUBLISH of QoS 1 without a packet id", packet(0x32, [0x00, 0x08] + log)),
        HostilePacket("PUBLISH without properties", packet(0x30, [0x00, 0x08] + log)),
        HostilePacket("PUBLISH whose properties end behind it", packet(0x30, [0x00, 0x08] + log + [0x09, 0x01])),
        HostilePacket(
            "PUBLISH with properties without end",
            packet(0x30, [0x00, 0x08] + log + [0xFF, 0xFF, 0xFF, 0xFF, 0x01])
        ),
        HostilePacket(
            "PUBLISH with a content type twice",
            publish(log, properties: [0x03, 0x00, 0x01, 0x61, 0x03, 0x00, 0x01, 0x61])
        ),
        HostilePacket("PUBLISH with a property of CONNECT", publish(log, properties: [0x11, 0, 0, 0, 1])),
        HostilePacket("PUBLISH with payload format 2", publish(log, properties: [0x01, 0x02]), .takes),
        HostilePacket(
            "PUBLISH with # in its response topic",
            publish(log, properties: [0x08, 0x00, 0x01, 0x23]),
            .takes
        ),
        HostilePacket(
            "PUBLISH with a content type that is no UTF-8",
            publish(log, properties: [0x03, 0x00, 0x02, 0xC3, 0x28])
        ),
        HostilePacket("PUBLISH with half a user property", publish(log, properties: [0x26, 0x00, 0x01, 0x61])),
        HostilePacket("PUBLISH with correlation data cut off", publish(log, properties: [0x09, 0x00, 0x09, 0x61])),
        HostilePacket("PUBLISH with subscription id 0", publish(log, properties: [0x0B, 0x00]), .takes),
        HostilePacket(
            "PUBLISH with a subscription id without end",
            publish(log, properties: [0x0B, 0xFF, 0xFF, 0xFF, 0xFF, 0x01])
        ),
        HostilePacket("PUBLISH with a length of five bytes", [0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
    ]
}
