@testable import BrokerKit

/// 5.1, 5.2 and 5.5: what the first bytes of a frame must not say.
extension FrameVectors {
    // Control frames that fail the connection have no payload: what comes of it while libwebsockets 4.1.6 waits to send its close
    // frame is written over the code.
    static var reserved: [FrameVector] {
        var vectors: [FrameVector] = []
        for bits in UInt8(1)...7 {
            for opcode in [WireFrame.text, WireFrame.binary, WireFrame.ping, WireFrame.close] {
                let frame = WireFrame(opcode, opcode < WireFrame.close ? [0x61] : [], reserved: bits)
                vectors.append(FrameVector("reserved bits \(bits) on kind \(opcode)", [frame], .failed(1_002)))
            }
        }
        for opcode: UInt8 in [0x3, 0x4, 0x5, 0x6, 0x7, 0xB, 0xC, 0xD, 0xE, 0xF] {
            for payload in [[], hello.payload] {
                let frame = WireFrame(opcode, payload)
                vectors.append(FrameVector("opcode \(opcode) with \(payload.count) bytes", [frame], .failed(1_002)))
            }
        }
        return vectors
    }

    static var controls: [FrameVector] {
        [WireFrame.ping, WireFrame.pong, WireFrame.close].flatMap { opcode in
            let long = WireFrame(opcode, [3, 232] + [UInt8](repeating: 0x61, count: 124))
            let fragment = WireFrame(opcode, [], isFinal: false)
            return [
                FrameVector("126 bytes of kind \(opcode)", [long], .dropped),
                FrameVector("a fragment of kind \(opcode)", [fragment], .failed(1_002)),
            ]
        }
    }

    static var heads: [FrameVector] {
        // RFC 6455, 5.1, wants a connection failed whose client does not mask, or whose server does. libwebsockets 4.1.6 takes
        // such frames, and does not tell. The mask guards proxies against scripts in browsers, and browsers always mask.
        let masks = [
            FrameVector("a wrong mask is taken", pieces: [.wronglyMasked(hello)], messages: [hello], .open),
            FrameVector(
                "a wrong mask on a ping is taken",
                pieces: [.wronglyMasked(WireFrame(WireFrame.ping, [7]))],
                pongs: [[7]],
                .open
            ),
        ]
        return masks + [
            FrameVector(
                "a length with its highest bit",
                pieces: [.head([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 1])],
                .dropped
            )
        ]
    }
}
