extension HostilePacket {
    /// Instead of CONNACK (MQTT 5.0, 3.2).
    static let greetings: [HostilePacket] = [
        HostilePacket("CONNACK without anything", packet(0x20, [])),
        HostilePacket("CONNACK of one byte", packet(0x20, [0x00])),
        HostilePacket("CONNACK without properties", packet(0x20, [0x00, 0x00])),
        HostilePacket("CONNACK with reserved flags", connack([], flags: 0x02), .takes),
        HostilePacket("CONNACK with reserved bits in its type", packet(0x21, [0x00, 0x00, 0x00]), .takes),
        HostilePacket("CONNACK with a code that is none", connack([], code: 0x7F)),
        HostilePacket("CONNACK that is busy", connack([], code: 0x89)),
        HostilePacket("CONNACK that refuses a session it has", connack([], flags: 0x01, code: 0x88)),
        HostilePacket("CONNACK whose properties end behind it", packet(0x20, [0x00, 0x00, 0x05])),
        HostilePacket("CONNACK with bytes behind its properties", packet(0x20, [0x00, 0x00, 0x00, 0xAA]), .takes),
        HostilePacket(
            "CONNACK with properties without end",
            packet(0x20, [0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0x01])
        ),
        HostilePacket("CONNACK with a property twice", connack([0x21, 0x00, 0x0A, 0x21, 0x00, 0x0A])),
        HostilePacket("CONNACK with a property of PUBLISH", connack([0x01, 0x00])),
        HostilePacket("CONNACK with receive maximum 0", connack([0x21, 0x00, 0x00])),
        HostilePacket("CONNACK with maximum packet size 0", connack([0x27, 0, 0, 0, 0])),
        HostilePacket("CONNACK with maximum QoS 7", connack([0x24, 0x07])),
        HostilePacket("CONNACK with a reason cut off", connack([0x1F, 0x00, 0x10, 0x61])),
        HostilePacket("CONNACK with a reason that is no UTF-8", connack([0x1F, 0x00, 0x02, 0xC3, 0x28])),
        HostilePacket("CONNACK with NUL in a client id", connack([0x12, 0x00, 0x01, 0x00])),
        HostilePacket("SUBACK before CONNACK", FakeAnswers.granted),
        HostilePacket("PUBLISH before CONNACK", FakeAnswers.message("9", to: "push/log", qos: 0)),
        HostilePacket("PUBLISH of QoS 1 before CONNACK", FakeAnswers.message("9", to: "push/log", qos: 1)),
        HostilePacket("PUBACK before CONNACK", packet(0x40, [0x00, 0x01])),
        HostilePacket("PINGRESP before CONNACK", packet(0xD0, [])),
        HostilePacket("DISCONNECT before CONNACK", packet(0xE0, [0x8B, 0x00])),
        HostilePacket("AUTH before CONNACK", packet(0xF0, [0x18, 0x00]), .ignores),
        HostilePacket("the reserved type before CONNACK", packet(0x00, [])),
        HostilePacket("CONNECT from a broker", packet(0x10, Array("\0\u{4}MQTT\u{5}\0\0\u{A}\0\0\0".utf8))),
        HostilePacket("a length of five bytes before CONNACK", [0x20, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]),
        HostilePacket("an alert of TLS", [0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]),
    ]
}
