import AdapterSupport
import SignalboxCore
import Testing

@testable import SecureTransport

/// The server's side of the framing, written without the product's code.
enum ServerFrame {
    /// The forms of a length.
    enum LengthForm: CaseIterable {
        case shortest, two, eight
    }

    /// Encodes a frame.
    ///
    /// - Parameter first: The first byte without the opcode, which is 0x80 for a frame that ends its message.
    static func encoded(
        _ opcode: UInt8,
        _ content: [UInt8] = [],
        first: UInt8 = 0x80,
        mask: [UInt8]? = nil,
        _ form: LengthForm = .shortest
    ) -> [UInt8] {
        var bytes = [first | opcode]
        let flag: UInt8 = mask == nil ? 0 : 0x80
        let count = content.count
        if form == .shortest, count < 126 {
            bytes.append(flag | UInt8(count))
        } else if form == .two || form == .shortest && count < 65_536 {
            bytes += [flag | 126, UInt8(count >> 8), UInt8(count & 0xFF)]
        } else {
            bytes.append(flag | 127)
            for shift in (0..<8).reversed() { bytes.append(UInt8(count >> (8 * shift) & 0xFF)) }
        }
        guard let mask else { return bytes + content }
        return bytes + mask + content.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    static func close(_ status: UInt16, _ reason: String = "") -> [UInt8] {
        encoded(8, [UInt8(status >> 8), UInt8(status & 0xFF)] + reason.utf8)
    }
}

/// A frame of a client, as the server reads it.
struct ClientFrame: Equatable {
    var opcode: UInt8
    var content: [UInt8]
    var mask: [UInt8] = []

    /// Reads all complete frames, and removes them from the bytes.
    static func take(from bytes: inout [UInt8]) throws -> [ClientFrame] {
        var frames: [ClientFrame] = []
        while let (frame, size) = try read(bytes) {
            frames.append(frame)
            bytes.removeFirst(size)
        }
        return frames
    }

    static func all(in bytes: [UInt8]) throws -> [ClientFrame] {
        var rest = bytes
        let frames = try take(from: &rest)
        #expect(rest.isEmpty)
        return frames
    }

    private static func read(_ bytes: [UInt8]) throws -> (ClientFrame, Int)? {
        guard bytes.count >= 2 else { return nil }
        try #require(bytes[0] & 0xF0 == 0x80, "a client's frame is not a whole message")
        try #require(bytes[1] & 0x80 != 0, "a client's frame is not masked")
        var (length, start) = (Int(bytes[1] & 0x7F), 2)
        if length > 125 {
            let size = length == 126 ? 2 : 8
            guard bytes.count >= 2 + size else { return nil }
            length = bytes[2..<(2 + size)].reduce(0) { $0 << 8 | Int($1) }
            start += size
            try #require(length > (size == 2 ? 125 : 65_535), "a client's length is not the shortest")
        }
        guard bytes.count >= start + 4 + length else { return nil }
        let mask = Array(bytes[start..<(start + 4)])
        let content = bytes[(start + 4)..<(start + 4 + length)].enumerated().map { $1 ^ mask[$0 % 4] }
        return (ClientFrame(opcode: bytes[0] & 0x0F, content: content, mask: mask), start + 4 + length)
    }
}

/// The link below a WebSocket, whose bytes a test determines.
final class ScriptedLink: Link {
    /// The server's bytes that were not read yet.
    var incoming: [UInt8] = []
    /// The maximum size of a read.
    var piece = Int.max
    /// What a read throws when there are no more bytes.
    var end: LinkError?
    /// How many bytes the link still accepts.
    var room = Int.max
    /// What a write throws.
    var writeError: LinkError?
    /// Whether the handshakes are complete.
    var isOpen = true
    private(set) var outgoing: [UInt8] = []
    private(set) var finishes = 0
    /// The addresses and sizes of the buffers of all reads.
    private(set) var buffers: [UnsafeRawBufferPointer] = []
    /// The bytes that the last write left, which the next one must begin with.
    private var left: [UInt8] = []

    let descriptor: Int32 = -1
    var waitsForWrite: Bool { false }
    private(set) var mayHaveMore = false
    var certificateRequest: CertificateRequest? { .answered }

    func advance() throws(LinkError) -> Bool { isOpen }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(LinkError) -> Int {
        buffers.append(UnsafeRawBufferPointer(buffer))
        let count = min(incoming.count, piece, buffer.count)
        mayHaveMore = count == buffer.count
        if count == 0, let end { throw end }
        buffer.copyBytes(from: incoming.prefix(count))
        incoming.removeFirst(count)
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(LinkError) -> Int {
        if let writeError { throw writeError }
        let count = min(bytes.count, room)
        #expect(bytes.starts(with: left), "a write does not begin with the bytes that the last one left")
        outgoing += bytes.prefix(count)
        left = Array(bytes.dropFirst(count))
        room -= count
        return count
    }

    func finish() { finishes += 1 }

    /// Returns the frames that the client has sent completely since the last call.
    func takeFrames() throws -> [ClientFrame] { try ClientFrame.take(from: &outgoing) }

    func takeOutgoing() -> [UInt8] {
        defer { outgoing = [] }
        return outgoing
    }
}

/// A request and the answers to it.
enum Upgrade {
    /// The nonce of RFC 6455, 1.3.
    static let nonce = Array("the sample nonce".utf8)

    static func request(_ headers: [WebSocketRequest.Header] = []) throws -> WebSocketRequest {
        try WebSocketRequest(
            path: "/mqtt?tenant=7",
            host: "broker.example:9001",
            subprotocols: ["mqtt"],
            headers: headers
        )
    }

    static func machine() throws -> WebSocketUpgrade { try WebSocketUpgrade(request(), nonce: nonce) }

    /// The answer to ``machine()``.
    static let answer = Array(
        """
        HTTP/1.1 101 Switching Protocols\r
        Upgrade: WebSocket\r
        Server: x\r
        connection: keep-alive, upgrade\r
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r
        Sec-WebSocket-Protocol: mqtt\r
        \r\n
        """.utf8
    )

    /// Returns a link whose WebSocket is open, and the link below it.
    static func opened() throws -> (link: WebSocketLink, inner: ScriptedLink) {
        let inner = ScriptedLink()
        let link = WebSocketLink(over: inner, try machine())
        inner.incoming = answer
        try #require(try link.advance())
        _ = inner.takeOutgoing()
        return (link, inner)
    }

    /// Returns the answer to a request with any key.
    static func answer(to request: [UInt8], subprotocol: String? = "mqtt") throws -> [UInt8] {
        let lines = String(decoding: request, as: UTF8.self).split(separator: "\r\n").map(String.init)
        let key = try #require(lines.first { $0.hasPrefix("Sec-WebSocket-Key: ") }).dropFirst(19)
        let accept = try #require(WebSocketUpgrade.accept(for: String(key)))
        let protocolLine = subprotocol.map { "Sec-WebSocket-Protocol: \($0)\r\n" } ?? ""
        let head = "HTTP/1.1 101 OK\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        return Array("\(head)Sec-WebSocket-Accept: \(accept)\r\n\(protocolLine)\r\n".utf8)
    }
}

/// A generator of random numbers that repeats itself (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }

    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in .random(in: .min ... .max, using: &self) } }
}
