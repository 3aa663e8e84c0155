import Testing

@testable import BrokerKit
@testable import WebSocketChat

/// The bytes that a server writes, as a plain client reads them.
@Suite(.timeLimit(.minutes(10))) struct ServerWritingTests {
    private static let done = CloseCode(number: 4_001)
    private static let closeFrame = WireFrame.close(4_001, Array("done".utf8))

    private struct Sent: Equatable {
        let kind: MessageKind
        let bytes: [UInt8]

        /// Text of this length, which differs from that of other numbers.
        init(_ number: Int, count: Int) {
            kind = number % 3 == 0 ? .binary : .text
            let letter = UInt8(ascii: "a") + UInt8(number % 26)
            let start = Array("\(number)".utf8.prefix(count))
            bytes = start + [UInt8](repeating: letter, count: count - start.count)
        }
    }

    /// A server with one raw client.
    private struct Pair {
        var server: TransportTrial<LibraryTransport>
        let id: ConnectionID
        let peer: RawPeer
        /// Keeps the program that encrypts, if any.
        private let client: OpenSSLClient?
        private let isCompressed: Bool

        init(isSecure: Bool, isCompressed: Bool = false, receiveBytes: Int32? = nil) async throws {
            var endpoint = ServerEndpoint()
            endpoint.compresses = isCompressed
            let authority = isSecure ? try await TestAuthority() : nil
            defer { authority?.remove() }
            endpoint.identity = authority.map { .init(certificateFile: $0.certificateFile, keyFile: $0.keyFile) }
            var limits = TransportLimits.unhurried
            limits.waitingBytes = 64 << 20
            limits.pingAfter = 0
            var server = try await TransportTrial.server(.init(reportsTicks: true), endpoint: endpoint, limits: limits)
            let port = server.transport.port
            client = isSecure ? try OpenSSLClient(port: port) : nil
            peer = try client?.peer ?? #require(RawPeer(port: port, receiveBytes: receiveBytes))
            await peer.open(adding: isCompressed ? ["Sec-WebSocket-Extensions: permessage-deflate"] : [])
            let (id, handshake) = try await server.opened(passingOver: .ticked)
            try #require(handshake.isCompressed == isCompressed)
            (self.server, self.id, self.isCompressed) = (server, id, isCompressed)
        }

        func send(_ messages: [Sent]) {
            for message in messages {
                #expect(server.transport.send(message.bytes, message.kind, on: id) == .accepted)
            }
        }

        /// Sends a close frame behind everything else, and returns all frames before it once it has arrived.
        mutating func close() async throws -> [WireFrame] {
            server.transport.perform(.close(done, reason: "done"), on: id)
            let last = closeFrame.bytes(mask: nil)
            var rest = await peer.read { $0.suffix(last.count) == last[...] }[...]
            var frames: [WireFrame] = []
            while let frame = WireFrame.take(from: &rest) { frames.append(frame) }
            #expect(rest.isEmpty)
            #expect(frames.popLast() == closeFrame)
            peer.frame(0x88, closeFrame.payload)
            let end = try await server.ended(passingOver: .ticked)
            #expect(end == .closedLocally(done, reason: "done"))
            return frames
        }

        /// Expects these frames to be these messages.
        func expect(_ frames: [WireFrame], are messages: [Sent]) {
            let inflater = MessageInflater(contextTakeover: true)
            var wrong = frames.count == messages.count ? nil : min(frames.count, messages.count)
            for (number, (frame, message)) in zip(frames, messages).enumerated() where wrong == nil {
                let isPacked = isCompressed && message.bytes.count >= MessageDeflater.minimumMessageSize
                let content = isPacked ? Pair.inflated(frame.payload, inflater) : frame.payload
                let opcode = message.kind == .text ? WireFrame.text : WireFrame.binary
                let isRight =
                    frame.opcode == opcode && frame.isFinal && frame.reserved == (isPacked ? 4 : 0)
                    && content == message.bytes
                if !isRight { wrong = number }
            }
            #expect(wrong == nil, "\(frames.count) frames, \(messages.count) messages")
        }

        private static func inflated(_ bytes: [UInt8], _ inflater: MessageInflater) -> [UInt8] {
            var text: [UInt8] = []
            let progress = bytes.withUnsafeBytes { bytes in
                inflater.inflate(bytes, endsMessage: true) { piece, _ in
                    text += piece
                    return true
                }
            }
            return progress == .done ? text : []
        }
    }

    @Test(arguments: [false, true], [false, true])
    func messagesArriveAsTheyWereSent(isSecure: Bool, isCompressed: Bool) async throws {
        var pair = try await Pair(isSecure: isSecure, isCompressed: isCompressed)
        // At 32,704 bytes, a message just fits into a batch.
        let large = [32_703, 32_704, 32_705, 65_535, 65_536, 3 << 20]
        var lengths = (0..<1_000).map { $0 % 300 }
        for (number, length) in large.enumerated() { lengths.insert(length, at: number * 150 + 100) }
        let messages = lengths.enumerated().map { Sent($0, count: $1) }
        pair.send(messages)
        pair.expect(try await pair.close(), are: messages)
        await pair.server.stop()
    }

    /// Many messages fill the system's buffers, so some writes are accepted only in part. Meanwhile, the server pings and is
    /// pinged.
    @Test(arguments: [false, true], [false, true])
    func aFloodIsNotMixedWithControlFrames(isSecure: Bool, isCompressed: Bool) async throws {
        var pair = try await Pair(isSecure: isSecure, isCompressed: isCompressed, receiveBytes: 4_096)
        let messages = (0..<10_000).map { Sent($0, count: isCompressed ? 500 : 2_000) }
        for start in stride(from: 0, to: messages.count, by: 1_000) {
            pair.send(Array(messages[start..<start + 1_000]))
            pair.server.transport.perform(.ping, on: pair.id)
            pair.peer.frame(0x89, Array("\(start)".utf8))
        }
        for _ in 0..<3 { #expect(await pair.server.next() == .ticked) }
        // Compressed messages may all fit into the system's buffers.
        if !isCompressed { #expect(try #require(pair.server.transport.waitingBytes(on: pair.id)) > 0) }
        let frames = try await pair.close()
        pair.expect(frames.filter { !$0.isControl }, are: messages)
        let pings = frames.filter { $0.opcode != WireFrame.pong }.enumerated().filter { $1.isControl }
        // The library answers only the latest ping (RFC 6455, 5.5.3).
        #expect(pings.map(\.offset) == (1...10).map { $0 * 1_001 - 1 })
        #expect(pings.allSatisfy { $1 == WireFrame(WireFrame.ping, Array("ping".utf8)) })
        let pongs = frames.filter { $0.opcode == WireFrame.pong }.map { String(decoding: $0.payload, as: UTF8.self) }
        // Under a flood, OpenSSL's client sends nothing.
        if !isSecure { #expect(!pongs.isEmpty) }
        #expect(pongs.allSatisfy { Int($0).map { $0 % 1_000 == 0 } ?? false })
        await pair.server.stop()
    }

    @Test func theFramesBeforeACutAreWhole() async throws {
        var pair = try await Pair(isSecure: false, receiveBytes: 4_096)
        let messages = (0..<10_000).map { Sent($0, count: 2_000) }
        pair.send(messages)
        for _ in 0..<3 { #expect(await pair.server.next() == .ticked) }
        pair.server.transport.perform(.cut(.tryAgainLater, reason: "too slow"), on: pair.id)
        #expect(pair.server.transport.waitingBytes(on: pair.id) == nil)
        let last = WireFrame.close(1_013, Array("too slow".utf8))
        let ending = last.bytes(mask: nil)
        var rest = await pair.peer.read { $0.suffix(ending.count) == ending[...] }[...]
        var frames: [WireFrame] = []
        while let frame = WireFrame.take(from: &rest) { frames.append(frame) }
        // On a slow machine, the connection may end before the close frame can be written.
        if frames.last?.opcode == WireFrame.close {
            #expect(frames.popLast() == last)
            #expect(rest.isEmpty)
            pair.peer.frame(0x88, last.payload)
        }
        #expect(frames.count < messages.count)
        pair.expect(frames, are: Array(messages.prefix(frames.count)))
        let end = try await pair.server.ended(passingOver: .ticked)
        #expect(end == .closedLocally(.tryAgainLater, reason: "too slow"))
        await pair.server.stop()
    }

    @Test(arguments: [false, true]) func whatTheSystemHasAcceptedNoLongerCounts(isSecure: Bool) async throws {
        var pair = try await Pair(isSecure: isSecure)
        let messages = (0..<200).map { Sent($0, count: $0 % 50 == 0 ? 40_000 : $0) }
        for _ in 0..<3 {
            pair.send(messages)
            while try #require(pair.server.transport.waitingBytes(on: pair.id)) > 0 {
                #expect(await pair.server.next() == .ticked)
            }
        }
        pair.expect(try await pair.close(), are: messages + messages + messages)
        await pair.server.stop()
    }

    /// A large message is copied once for all clients, and its head differs.
    @Test func aLargeMessageReachesEveryClient() async throws {
        var endpoint = ServerEndpoint()
        endpoint.compresses = true
        var server = try await TransportTrial.server(endpoint: endpoint)
        var clients: [(id: ConnectionID, peer: RawPeer)] = []
        for number in 0..<4 {
            let peer = try #require(RawPeer(port: server.transport.port))
            await peer.open(adding: number == 1 ? ["Sec-WebSocket-Extensions: permessage-deflate"] : [])
            clients.append((try await server.opened().0, peer))
        }
        for length in [100_000, 40_000, 50_000] {
            let message = [UInt8](repeating: 0x61, count: length)
            for (number, client) in clients.enumerated() {
                let kind = number == 3 ? MessageKind.binary : .text
                #expect(server.transport.send(message, kind, on: client.id) == .accepted)
            }
            for (number, client) in clients.enumerated() where number != 1 {
                let frame = WireFrame(number == 3 ? WireFrame.binary : WireFrame.text, message).bytes(mask: nil)
                #expect(await client.peer.read { $0.count >= frame.count } == frame)
            }
        }
        await server.stop()
        let packed = await clients[1].peer.read { _ in false }
        #expect(packed.first == 0xC1 && packed.count < 2_000)
    }
}
