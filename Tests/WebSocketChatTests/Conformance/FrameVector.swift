import Testing

@testable import BrokerKit

/// Frames, and the expected response of a peer that echoes.
struct FrameVector: Sendable, CustomTestStringConvertible {
    enum Piece: Sendable {
        case frame(WireFrame)
        /// A frame masked where it must not be, or unmasked where it must be masked.
        case wronglyMasked(WireFrame)
        /// The head of a frame, followed by the mask if there is one.
        case head([UInt8])
    }

    enum End: Sendable {
        /// The connection stays open and is closed with 1000.
        case open
        /// The other side closes with this code. It may omit the close frame if more bytes arrive in the meantime.
        case failed(UInt16)
        /// A server ends the connection without a close frame, as libwebsockets does after some faults (RFC 6455, 7.1.7,
        /// allows it). A feed closes with this code.
        case dropped(UInt16)
        /// The close frame among the frames is answered with one of these codes; `nil` means no code.
        case closed([UInt16?])
    }

    /// Where the bytes are split into writes.
    enum Cut: CaseIterable, Sendable {
        case nowhere, betweenFrames, everywhere
    }

    let name: String
    let pieces: [Piece]
    var messages: [WireFrame] = []
    var pongs: [[UInt8]] = []
    let end: End

    var testDescription: String { name }

    init(_ name: String, _ frames: [WireFrame], messages: [WireFrame] = [], pongs: [[UInt8]] = [], _ end: End) {
        self.init(name, pieces: frames.map { .frame($0) }, messages: messages, pongs: pongs, end)
    }

    init(_ name: String, pieces: [Piece], messages: [WireFrame] = [], pongs: [[UInt8]] = [], _ end: End) {
        self.name = name
        self.pieces = pieces
        self.messages = messages
        self.pongs = pongs
        self.end = end
    }

    /// What a feed answers, which is stricter than a server that libwebsockets reads for.
    var forFeed: FrameVector {
        switch end {
        case .dropped(let code): FrameVector(name, pieces: pieces, .failed(code))
        // A client must not accept a masked frame (RFC 6455, 5.1).
        case .open where pieces.contains { if case .wronglyMasked = $0 { true } else { false } }:
            FrameVector(name, pieces: pieces, .failed(1_002))
        case .open, .failed, .closed: self
        }
    }

    func script(mask: [UInt8]?, cut: Cut) -> WireScript {
        let closing = pieces.firstIndex { $0.isClose } ?? pieces.endIndex
        let first = FrameVector.cut(pieces[..<closing].map { $0.bytes(mask: mask) }, cut)
        switch end {
        case .failed, .dropped:
            let all = FrameVector.cut(pieces.map { $0.bytes(mask: mask) }, cut)
            return WireScript(first: all, awaited: nil)
        case .open, .closed:
            let awaited = WireScript.Awaited(messages: messages.count, pongs: pongs.count)
            let last = closing == pieces.endIndex ? [.frame(.close(1_000))] : Array(pieces[closing...])
            return WireScript(
                first: first,
                awaited: awaited,
                last: FrameVector.cut(last.map { $0.bytes(mask: mask) }, cut)
            )
        }
    }

    private static func cut(_ frames: [[UInt8]], _ cut: Cut) -> [[UInt8]] {
        switch cut {
        case .nowhere: [frames.flatMap { $0 }]
        case .betweenFrames: frames
        case .everywhere: frames.flatMap { $0.map { [$0] } }
        }
    }

    /// Whether the vector is small enough to be written byte by byte.
    var isSmall: Bool { pieces.reduce(0) { $0 + $1.bytes(mask: nil).count } < 1_024 }

    /// Returns the difference in the answer, or `nil` if it is as expected.
    ///
    /// - Parameter mayDrop: Whether a connection may fail without a close frame (RFC 6455, 7.1.7).
    func mismatch(in received: WireScript.Received, mayDrop: Bool) -> String? {
        if received.messages != messages { return "received messages \(received.messages.map(\.shown))" }
        if received.pongs != pongs { return "received pongs \(received.pongs)" }
        let isRight =
            switch end {
            case .open: received.close?.closeCode == 1_000
            case .closed(let codes): received.close.map { codes.contains($0.closeCode) } ?? false
            case .failed(let code): received.close.map { $0.closeCode == code } ?? mayDrop
            case .dropped: received.close == nil
            }
        let shown = received.close.map { "\($0.closeCode.map(String.init) ?? "without a code")" }
        return isRight ? nil : "received close frame: \(shown ?? "none"), expected: \(end)"
    }

    /// Returns the codes that may be reported for the end; `nil` means no code.
    ///
    /// libwebsockets reports some faults as 1007 that it answers with 1002, and unknown codes as 1002.
    ///
    /// - Parameter mayDrop: As for ``mismatch(in:mayDrop:)``.
    func reportedCodes(mayDrop: Bool) -> [Int?] {
        switch end {
        case .open: [1_000]
        case .closed: closeCode.map { [Int($0), 1_002] } ?? [nil]
        case .failed: [1_002, 1_007] + (mayDrop ? [nil] : [])
        case .dropped: [nil]
        }
    }

    private var closeCode: UInt16? {
        for case .frame(let frame) in pieces where frame.opcode == WireFrame.close { return frame.closeCode }
        return nil
    }
}

extension FrameVector.Piece {
    fileprivate var isClose: Bool {
        if case .frame(let frame) = self { frame.opcode == WireFrame.close } else { false }
    }

    fileprivate func bytes(mask: [UInt8]?) -> [UInt8] {
        switch self {
        case .frame(let frame): return frame.bytes(mask: mask)
        case .wronglyMasked(let frame): return frame.bytes(mask: mask == nil ? WireSide.mask : nil)
        case .head(let bytes):
            guard let mask else { return bytes }
            return [bytes[0], bytes[1] | 0x80] + bytes[2...] + mask
        }
    }
}

extension WireFrame {
    /// A description short enough for a test failure.
    var shown: String { "\(opcode): \(payload.prefix(16)) of \(payload.count)" }
}

/// The writes of a peer, and the answers that it awaits in between.
struct WireScript: Sendable {
    /// Each element is one write.
    var first: [[UInt8]]
    /// The answers to `first` that the peer awaits before it writes `last`; `nil` awaits nothing.
    var awaited: Awaited?
    /// Begins with a close frame, if there is one.
    var last: [[UInt8]] = []

    struct Awaited: Sendable {
        var messages = 0
        var pongs = 0
    }

    /// The frames received.
    struct Received: Sendable {
        /// Text and binary messages, reassembled.
        var messages: [WireFrame] = []
        var pongs: [[UInt8]] = []
        var close: WireFrame?
    }

    private static let probe = Array("probe".utf8)

    /// Plays the script to the end of the connection.
    ///
    /// - Throws: ``Silence`` when the other side neither answers nor closes.
    func play(on side: inout WireSide) async throws -> Received {
        var received = Received()
        for bytes in first { side.peer.write(bytes) }
        if let awaited {
            let isProbed = awaited.messages == 0 && awaited.pongs == 0
            // A pong proves that everything before it was read and that the connection is alive.
            if isProbed { side.send(WireFrame(WireFrame.ping, WireScript.probe)) }
            let pongs = isProbed ? 1 : awaited.pongs
            while received.close == nil, received.messages.count < awaited.messages || received.pongs.count < pongs {
                guard let frame = try await side.frame() else { break }
                received.take(frame)
            }
            if isProbed, received.pongs == [WireScript.probe] { received.pongs = [] }
        }
        for bytes in last { side.peer.write(bytes) }
        if let close = received.close { side.answer(close: close) }
        for frame in try await side.rest() { received.take(frame) }
        return received
    }
}

extension WireScript.Received {
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
