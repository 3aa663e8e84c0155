/// A raw peer that reads and writes WebSocket frames as a client or as a server. Only one test task may use it.
struct WireSide {
    let peer: RawPeer
    /// The mask of a client's frames; `nil` for a server, whose frames have no mask.
    let mask: [UInt8]?
    private var unread: ArraySlice<UInt8> = []

    static let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]

    private init(_ peer: RawPeer, mask: [UInt8]?) {
        self.peer = peer
        self.mask = mask
        peer.hurry()
    }

    /// Creates a client that has not sent its request.
    init(client peer: RawPeer) {
        self.init(peer, mask: WireSide.mask)
    }

    /// Returns a client that has sent its request.
    static func client(port: UInt16) throws -> WireSide {
        guard let peer = RawPeer(port: port) else { throw WireError("no listener on port \(port)") }
        let side = WireSide(peer, mask: WireSide.mask)
        peer.upgrade()
        return side
    }

    /// Returns a client with an open connection.
    static func openClient(port: UInt16) async throws -> WireSide {
        var side = try client(port: port)
        let head = try await side.head()
        guard head.hasPrefix("HTTP/1.1 101") else { throw WireError("no upgrade: \(head.prefix(200))") }
        return side
    }

    /// Retries until a client's connection opens: the server may close one that was delayed before its request.
    static func admittedClient(port: UInt16) async throws -> WireSide {
        while true {
            if let side = try? await openClient(port: port) { return side }
            try Task.checkCancellation()
        }
    }

    /// Accepts a connection of a feed and returns the server's side of it, with the connection open.
    static func openServer(_ host: RawHost) async throws -> WireSide {
        guard let peer = await host.accept() else { throw WireError("no client connected") }
        let side = WireSide(peer, mask: nil)
        await peer.answerUpgrade()
        return side
    }

    func send(_ frame: WireFrame) {
        peer.write(frame.bytes(mask: mask))
    }

    /// Reads a request or a response up to and including its empty line; less if the connection closes first.
    mutating func head() async throws -> String {
        while true {
            if let end = unread.firstRange(of: Array("\r\n\r\n".utf8)) {
                defer { unread = unread[end.upperBound...] }
                return String(decoding: unread[..<end.upperBound], as: UTF8.self)
            }
            guard try await read() else { return String(decoding: unread, as: UTF8.self) }
        }
    }

    /// Returns the next frame; `nil` if the connection has closed.
    mutating func frame() async throws -> WireFrame? {
        while true {
            if let frame = WireFrame.take(from: &unread) { return frame }
            guard try await read() else { return nil }
        }
    }

    /// Sends a text and waits for its echo. Answers pings that arrive before it.
    mutating func echo(_ text: String) async throws -> Bool {
        send(.text(text))
        while let frame = try await frame() {
            guard frame.opcode == WireFrame.ping else { return frame == .text(text) }
            send(WireFrame(WireFrame.pong, frame.payload))
        }
        return false
    }

    /// Reads all frames up to the end of the connection. Echoes a close frame and then writes nothing more. The client
    /// leaves closing the connection to the server (RFC 6455, 7.1.1).
    mutating func rest() async throws -> [WireFrame] {
        var frames: [WireFrame] = []
        while let frame = try await frame() {
            frames.append(frame)
            if frame.opcode == WireFrame.close { answer(close: frame) }
        }
        return frames
    }

    /// Echoes a close frame and ends the sending direction.
    func answer(close frame: WireFrame) {
        send(WireFrame(WireFrame.close, frame.payload))
        peer.finish()
    }

    private mutating func read() async throws -> Bool {
        let chunk = try await peer.chunk()
        unread += chunk
        return !chunk.isEmpty
    }
}

struct WireError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A WebSocket frame (RFC 6455, 5.2), valid or invalid.
struct WireFrame: Equatable, Sendable {
    static let continuation: UInt8 = 0x0
    static let text: UInt8 = 0x1
    static let binary: UInt8 = 0x2
    static let close: UInt8 = 0x8
    static let ping: UInt8 = 0x9
    static let pong: UInt8 = 0xA

    let opcode: UInt8
    var payload: [UInt8] = []
    var isFinal = true
    /// The bits RSV1, RSV2 and RSV3, as 4, 2 and 1.
    var reserved: UInt8 = 0

    init(_ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, reserved: UInt8 = 0) {
        self.opcode = opcode
        self.payload = payload
        self.isFinal = isFinal
        self.reserved = reserved
    }

    static func text(_ text: String, isFinal: Bool = true) -> WireFrame {
        WireFrame(WireFrame.text, Array(text.utf8), isFinal: isFinal)
    }

    static func close(_ code: UInt16, _ reason: [UInt8] = []) -> WireFrame {
        WireFrame(WireFrame.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason)
    }

    var isControl: Bool { opcode & 0x8 != 0 }

    /// The close code, if the frame is a close frame with one.
    var closeCode: UInt16? {
        guard opcode == WireFrame.close, payload.count >= 2 else { return nil }
        return UInt16(payload[0]) << 8 | UInt16(payload[1])
    }

    /// - Parameter mask: The four bytes of a client's mask; `nil` for a frame without a mask.
    func bytes(mask: [UInt8]?) -> [UInt8] {
        let masked: UInt8 = mask == nil ? 0 : 0x80
        var bytes = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
        switch payload.count {
        case ..<126: bytes.append(masked | UInt8(payload.count))
        case ..<65_536:
            bytes += [masked | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            bytes.append(masked | 127)
            bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
        }
        guard let mask else { return bytes + payload }
        bytes += mask
        bytes += zip(payload, payload.indices).map { $0 ^ mask[$1 % 4] }
        return bytes
    }

    /// Removes the first frame and returns it unmasked; `nil` if it is incomplete.
    static func take(from bytes: inout ArraySlice<UInt8>) -> WireFrame? {
        var rest = bytes
        guard let head = rest.popFirst(), let second = rest.popFirst() else { return nil }
        var length = Int(second & 0x7F)
        if length >= 126 {
            let width = length == 126 ? 2 : 8
            guard rest.count >= width else { return nil }
            length = rest.prefix(width).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(width)
        }
        let mask = second & 0x80 == 0 ? [] : Array(rest.prefix(4))
        rest = rest.dropFirst(second & 0x80 == 0 ? 0 : 4)
        guard second & 0x80 == 0 || mask.count == 4, rest.count >= length else { return nil }
        var payload = Array(rest.prefix(length))
        if !mask.isEmpty { for index in payload.indices { payload[index] ^= mask[index % 4] } }
        bytes = rest.dropFirst(length)
        return WireFrame(head & 0xF, payload, isFinal: head & 0x80 != 0, reserved: head >> 4 & 7)
    }
}

/// Zeros, compressed 159 to 1 for permessage-deflate (RFC 7692, 7.2.1) with fixed codes (RFC 1951, 3.2.6).
struct ZerosInLittle {
    private(set) var bytes: [UInt8] = []
    private var bits: UInt32 = 0
    private var count: UInt32 = 0

    init(count total: Int) {
        // A non-final block with fixed codes.
        put(0b010, 3)
        putCode(0x30, 8)
        for _ in 0..<(total - 1) / 258 {
            // 258 repetitions of the preceding byte.
            putCode(0b1100_0101, 8)
            putCode(0, 5)
        }
        for _ in 0..<(total - 1) % 258 { putCode(0x30, 8) }
        putCode(0, 7)
        // The start of an empty block, whose remainder is omitted.
        put(0, 3)
        if count > 0 { put(0, 8 - count) }
    }

    private mutating func put(_ value: UInt32, _ length: UInt32) {
        bits |= value << count
        count += length
        while count >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
            count -= 8
        }
    }

    // Codes are written from their highest bit.
    private mutating func putCode(_ code: UInt32, _ length: UInt32) {
        for index in (0..<length).reversed() { put(code >> index & 1, 1) }
    }
}
