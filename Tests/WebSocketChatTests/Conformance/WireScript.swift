@testable import BrokerKit

/// What a peer writes, and what it waits for in between.
struct WireScript: Sendable {
    /// Each is a write of its own.
    var first: [[UInt8]]
    /// What `first` is answered with, waited for before `last` is written; nothing is waited for when `nil`.
    var awaited: Awaited?
    /// Begins with a close frame, if there is one.
    var last: [[UInt8]] = []

    struct Awaited: Sendable {
        var messages = 0
        var pongs = 0
    }

    /// What came back.
    struct Heard: Sendable {
        /// Text and binary messages, put together.
        var messages: [WireFrame] = []
        var pongs: [[UInt8]] = []
        var close: WireFrame?
    }

    private static let probe = Array("probe".utf8)

    /// Plays it to the end of the connection.
    ///
    /// - Throws: ``Silence`` when the other side neither answers nor closes.
    func play(on side: inout WireSide) async throws -> Heard {
        var heard = Heard()
        for bytes in first { side.peer.write(bytes) }
        if let awaited {
            let isProbed = awaited.messages == 0 && awaited.pongs == 0
            // Something must show that all before was read, and the connection lives.
            if isProbed { side.send(WireFrame(WireFrame.ping, WireScript.probe)) }
            let pongs = isProbed ? 1 : awaited.pongs
            while heard.close == nil, heard.messages.count < awaited.messages || heard.pongs.count < pongs {
                guard let frame = try await side.frame() else { break }
                heard.take(frame)
            }
            if isProbed, heard.pongs == [WireScript.probe] { heard.pongs = [] }
        }
        for bytes in last { side.peer.write(bytes) }
        if let close = heard.close { side.answer(close: close) }
        for frame in try await side.rest() { heard.take(frame) }
        return heard
    }
}

extension WireScript.Heard {
    fileprivate mutating func take(_ frame: WireFrame) {
        switch frame.opcode {
        case WireFrame.close: if close == nil { close = frame }
        case WireFrame.pong: pongs.append(frame.payload)
        case WireFrame.continuation where !messages.isEmpty:
            messages[messages.count - 1].payload += frame.payload
        default: messages.append(WireFrame(frame.opcode, frame.payload))
        }
    }
}
