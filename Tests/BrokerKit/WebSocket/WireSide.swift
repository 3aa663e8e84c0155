/// A peer that reads frames and writes them as a client does, or as a server does. One test task uses it.
struct WireSide {
    let peer: RawPeer
    /// `nil` on the server's side, whose frames have no mask.
    let mask: [UInt8]?
    private var unread: ArraySlice<UInt8> = []

    static let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]

    private init(_ peer: RawPeer, mask: [UInt8]?) {
        self.peer = peer
        self.mask = mask
        peer.hurry()
    }

    /// A client that has yet to send its request.
    init(client peer: RawPeer) {
        self.init(peer, mask: WireSide.mask)
    }

    /// A client that has sent its request.
    static func client(port: UInt16) throws -> WireSide {
        guard let peer = RawPeer(port: port) else { throw WireFault("nobody listens on port \(port)") }
        let side = WireSide(peer, mask: WireSide.mask)
        peer.upgrade()
        return side
    }

    /// A client whose connection is open.
    static func openClient(port: UInt16) async throws -> WireSide {
        var side = try client(port: port)
        let head = try await side.head()
        guard head.hasPrefix("HTTP/1.1 101") else { throw WireFault("no upgrade: \(head.prefix(200))") }
        return side
    }

    /// The first client whose connection opens: one that was held up before its request may be cut for that.
    static func admittedClient(port: UInt16) async throws -> WireSide {
        while true {
            if let side = try? await openClient(port: port) { return side }
            try Task.checkCancellation()
        }
    }

    /// A server to whom a feed connects, with the connection open.
    static func openServer(_ host: RawHost) async throws -> WireSide {
        guard let peer = await host.accept() else { throw WireFault("nobody connects") }
        let side = WireSide(peer, mask: nil)
        await peer.answerUpgrade()
        return side
    }

    func send(_ frame: WireFrame) {
        peer.write(frame.bytes(mask: mask))
    }

    /// A request or an answer, up to and with its empty line; what there was when the connection closed before.
    mutating func head() async throws -> String {
        while true {
            if let end = unread.firstRange(of: Array("\r\n\r\n".utf8)) {
                defer { unread = unread[end.upperBound...] }
                return String(decoding: unread[..<end.upperBound], as: UTF8.self)
            }
            guard try await read() else { return String(decoding: unread, as: UTF8.self) }
        }
    }

    /// The next frame; `nil` when the connection has closed.
    mutating func frame() async throws -> WireFrame? {
        while true {
            if let frame = WireFrame.take(from: &unread) { return frame }
            guard try await read() else { return nil }
        }
    }

    /// Sends a text and waits for it to come back; pings that come before are answered.
    mutating func echo(_ text: String) async throws -> Bool {
        send(.text(text))
        while let frame = try await frame() {
            guard frame.opcode == WireFrame.ping else { return frame == .text(text) }
            send(WireFrame(WireFrame.pong, frame.payload))
        }
        return false
    }

    /// Everything up to the end of the connection. After a close frame nothing more is written, and a server ends the
    /// connection then, as a client waits for that (RFC 6455, 7.1.1).
    mutating func rest() async throws -> [WireFrame] {
        var frames: [WireFrame] = []
        while let frame = try await frame() {
            frames.append(frame)
            if frame.opcode == WireFrame.close { answer(close: frame) }
        }
        return frames
    }

    /// Sends a close frame back, and no more.
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

struct WireFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
