import Testing

@testable import BrokerKit
@testable import WebSocketChat

// Serialized: each raw peer takes a thread of the system's pool.
@Suite(.serialized, .timeLimit(.minutes(10))) struct DeflateFrameTests {
    private static let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
    // The last block of a stream, which contains `a`.
    private static let lastBlock: [UInt8] = [0x4B, 0x04, 0x00, 0x00]
    // A block with 0xC3 alone, which begins a character of UTF-8.
    private static let invalidUTF8: [UInt8] = [0x3A, 0x0C, 0x00]

    private func server(_ behavior: RecordingReceiver.Behavior = .init()) async throws -> (
        TransportTrial<any StoppableTransport>, RawPeer, ConnectionID
    ) {
        var endpoint = ServerEndpoint()
        endpoint.compresses = true
        var server = try await TransportTrial.server(behavior, endpoint: endpoint)
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        let id = try await server.opened(passingOver: .passEnded(bytes: 0)).0
        return (server.erased, peer, id)
    }

    private func client(_ behavior: RecordingReceiver.Behavior = .init()) async throws -> (
        TransportTrial<any StoppableTransport>, RawPeer, ConnectionID
    ) {
        let host = try #require(RawHost())
        var client = try await TransportTrial.client(behavior)
        _ = client.transport.connect(to: .local(host.port) { $0.offersCompression = true })
        let peer = try #require(await host.accept())
        await peer.answerUpgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        let id = try await client.opened(passingOver: .passEnded(bytes: 0)).0
        return (client.erased, peer, id)
    }

    private func trial(
        isServer: Bool,
        _ behavior: RecordingReceiver.Behavior = .init()
    ) async throws -> (TransportTrial<any StoppableTransport>, RawPeer, ConnectionID) {
        isServer ? try await server(behavior) : try await client(behavior)
    }

    @Test(arguments: [true, false]) func compressedAndPlainMessagesArriveInOrder(isServer: Bool) async throws {
        var (trial, peer, _) = try await trial(isServer: isServer)
        func frame(_ head: UInt8, _ payload: [UInt8]) { peer.write(RawPeer.frame(head, payload, isMasked: isServer)) }
        frame(0xC1, DeflateFrameTests.hello)
        frame(0x81, Array("plain".utf8))
        frame(0xC1, [])
        frame(0xC2, [0x00])
        frame(0x81, [])
        frame(0xC1, DeflateFrameTests.lastBlock)
        frame(0xC1, DeflateFrameTests.hello)
        for expected in ["Hello", "plain", "", "", "", "a", "Hello"] {
            #expect(try await trial.message() == Array(expected.utf8))
        }
        await trial.stop()
    }

    @Test(arguments: [true, false]) func controlFramesAreAllowedInsideAFragmentedMessage(isServer: Bool) async throws {
        var (trial, peer, _) = try await trial(isServer: isServer)
        func frame(_ head: UInt8, _ payload: [UInt8]) { peer.write(RawPeer.frame(head, payload, isMasked: isServer)) }
        for cut in 0...DeflateFrameTests.hello.count {
            frame(0x41, Array(DeflateFrameTests.hello[..<cut]))
            frame(0x8A, Array("pong".utf8))
            frame(0x00, [])
            frame(0x89, Array("ping".utf8))
            frame(0x80, Array(DeflateFrameTests.hello[cut...]))
            let event = await trial.next()
            guard case .ponged = event else { throw UnexpectedEvent(event) }
            #expect(try await trial.message() == Array("Hello".utf8))
        }
        frame(0x41, Array(DeflateFrameTests.hello[..<3]))
        frame(0x88, [0x03, 0xE8])
        let end = try await trial.ended()
        #expect(end == .closedByPeer(.normal, reason: ""))
        await trial.stop()
    }

    static let brokenFrames: [(String, [(UInt8, [UInt8])], CloseCode)] = [
        ("an invalid block", [(0xC1, [0x07, 0x07, 0x07])], .invalidPayload),
        ("a reference before the start", [(0xC1, [0xF2, 0x00, 0x11, 0x00, 0x00])], .invalidPayload),
        ("a truncated block", [(0xC1, [0xF2, 0x48, 0xCD])], .invalidPayload),
        ("truncated text", [(0xC1, invalidUTF8)], .invalidPayload),
        ("truncated text, not compressed", [(0x81, [0x61, 0xC3])], .invalidPayload),
        ("text that is not UTF-8", [(0x01, [0x61]), (0x80, [0xFF])], .invalidPayload),
        ("RSV1 on a continuation", [(0x41, [0xF2]), (0xC0, Array(hello[1...]))], .protocolError),
        ("RSV1 on a continuation of an uncompressed message", [(0x01, [0x61]), (0xC0, [0x61])], .protocolError),
        ("RSV2", [(0xA1, [0x61])], .protocolError), ("RSV3", [(0x91, [0x61])], .protocolError),
        ("RSV1 and RSV2", [(0xE1, hello)], .protocolError), ("RSV1 on a pong", [(0xCA, [0x61])], .protocolError),
    ]

    @Test(arguments: brokenFrames, [true, false])
    func aProtocolViolationEndsTheConnection(
        broken: (name: String, frames: [(UInt8, [UInt8])], code: CloseCode),
        isServer: Bool
    ) async throws {
        var (trial, peer, _) = try await trial(isServer: isServer)
        // More data behind it, in one segment: the end must still be reported, and only once.
        let frames = broken.frames.flatMap { RawPeer.frame($0.0, $0.1, isMasked: isServer) }
        peer.write(frames + RawPeer.frame(0x81, Array("more".utf8), isMasked: isServer))
        peer.finish()
        let end = try await trial.ended()
        #expect(end == .protocolViolation(broken.code), "\(broken.name)")
        await trial.stop()
    }

    @Test(arguments: [(0xC8, [0x03, 0xE8]), (0x88, [0x03, 0xE8, 0xC3])] as [(UInt8, [UInt8])])
    func aServerDoesNotAnswerAnInvalidCloseFrame(frame: (head: UInt8, payload: [UInt8])) async throws {
        var (trial, peer, _) = try await server()
        peer.write(RawPeer.frame(frame.head, frame.payload, isMasked: true))
        let end = try await trial.ended()
        #expect(end == .lost)
        await trial.stop()
    }

    @Test(arguments: [(0xC8, [0x03, 0xE8], 1_002), (0x88, [0x03, 0xE8, 0xC3], 1_007)] as [(UInt8, [UInt8], UInt16)])
    func aClientFailsAfterAnInvalidCloseFrame(frame: (head: UInt8, payload: [UInt8], code: UInt16)) async throws {
        var (trial, peer, _) = try await client()
        peer.write(RawPeer.frame(frame.head, frame.payload, isMasked: false))
        peer.finish()
        let end = try await trial.ended()
        #expect(end == .protocolViolation(CloseCode(number: frame.code)))
        await trial.stop()
    }

    @Test(arguments: [1, 4_096, 1 << 20], [true, false])
    func aPausedMessageResumesWhereItStopped(chunk: Int, isServer: Bool) async throws {
        let count = 500_000
        var (trial, peer, id) = try await trial(isServer: isServer, .init(pausesAt: 100_000, reportsPasses: true))
        var packed = ZerosInLittle(count: count).bytes[...]
        var frames: [UInt8] = []
        var head: UInt8 = 0x42
        while !packed.isEmpty {
            let part = Array(packed.prefix(chunk))
            packed = packed.dropFirst(chunk)
            frames += RawPeer.frame(packed.isEmpty ? head | 0x80 : head, part, isMasked: isServer)
            head = 0x00
        }
        peer.write(frames + RawPeer.frame(0xC1, DeflateFrameTests.hello, isMasked: isServer))
        var bytes = 0
        while bytes < 100_000 {
            let event = await trial.next()
            guard case .passEnded(let more) = event else { throw UnexpectedEvent(event) }
            bytes += more
        }
        #expect(bytes < 100_000 + MessageInflater.pieceBytes)
        // Passes that read nothing.
        for _ in 0..<20 {
            trial.transport.wake()
            #expect(await trial.next() == .passEnded(bytes: 0))
        }
        trial.transport.perform(.resume, on: id)
        var messages: [[UInt8]] = []
        while messages.count < 2 {
            switch await trial.next() {
            case .message(_, let bytes, _): messages.append(bytes)
            case .passEnded: break
            case let event: throw UnexpectedEvent(event)
            }
        }
        #expect(messages == [[UInt8](repeating: 0, count: count), Array("Hello".utf8)])
        await trial.stop()
    }

    @Test(arguments: [true, false]) func aPausedMessageIsDroppedWhenItsConnectionIsCut(isServer: Bool) async throws {
        let behavior = RecordingReceiver.Behavior(pausesAt: 10_000, reportsPasses: true, reportsPieces: true)
        var (trial, peer, id) = try await trial(isServer: isServer, behavior)
        peer.write(RawPeer.frame(0xC2, ZerosInLittle(count: 1 << 20).bytes, isMasked: isServer))
        var bytes = 0
        while bytes < 10_000 {
            let event = await trial.next()
            guard case .passEnded(let more) = event else { throw UnexpectedEvent(event) }
            bytes += more
        }
        trial.transport.perform(.cut(.goingAway, reason: "enough"), on: id)
        peer.finish()
        var event = await trial.next()
        while case .passEnded(0) = event { event = await trial.next() }
        #expect(event == .pieces(longest: MessageInflater.pieceBytes, all: MessageInflater.pieceBytes))
        let end = try await trial.ended()
        #expect(end == .closedLocally(.goingAway, reason: "enough"))
        await trial.stop()
    }

    @Test func longMessagesAreSentCompressed() async throws {
        var (server, peer, _) = try await server(.init(echoes: true))
        let long = [UInt8](repeating: 0x61, count: MessageDeflater.minimumMessageSize)
        peer.frame(0x81, Array("short".utf8))
        #expect(try await server.message() == Array("short".utf8))
        peer.frame(0x81, long)
        #expect(try await server.message() == long)
        peer.frame(0x81, long)
        let heads = await peer.read { bytes in
            DeflateFrameTests.frames(bytes).count >= 4
        }
        let frames = DeflateFrameTests.frames(heads)
        #expect(frames.dropFirst().map(\.head) == [0x81, 0xC1, 0xC1])
        #expect(frames[1].payload == Array("short".utf8))
        let inflater = MessageInflater(contextTakeover: true)
        for frame in frames[2...] {
            var text: [UInt8] = []
            let progress = frame.payload.withUnsafeBytes { bytes in
                inflater.inflate(bytes, endsMessage: true) { piece, _ in
                    text += piece
                    return true
                }
            }
            #expect(progress == .done)
            #expect(text == long)
        }
        await server.stop()
    }

    /// Returns the answer to the upgrade as a frame with head 0, followed by the complete frames, all of them short.
    private static func frames(_ bytes: [UInt8]) -> [(head: UInt8, payload: [UInt8])] {
        let end = Array("\r\n\r\n".utf8)
        guard let start = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return [] }
        var frames: [(head: UInt8, payload: [UInt8])] = [(0, [])]
        var rest = bytes[(start + 4)...]
        while rest.count >= 2, let length = rest.dropFirst().first, rest.count >= 2 + Int(length) {
            frames.append((rest[rest.startIndex], Array(rest.dropFirst(2).prefix(Int(length)))))
            rest = rest.dropFirst(2 + Int(length))
        }
        return frames
    }
}

@Suite(.timeLimit(.minutes(10))) struct CompressionTests {
    /// Returns text that compresses well but does not repeat exactly.
    private static func text(_ seed: Int, count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        var number = seed
        while bytes.count < count {
            bytes += Array("{\"n\":\(number),\"text\":\"the quick brown fox\"},".utf8)
            number += 1
        }
        return Array(bytes.prefix(count))
    }

    @Test(arguments: [1, 4]) func connectionsHaveSeparateCompressionContexts(connections: Int) async throws {
        var endpoint = ServerEndpoint()
        endpoint.compresses = true
        var server = try await TransportTrial.server(endpoint: endpoint, limits: .conformance)
        var client = try await TransportTrial.client(limits: .conformance)
        var ids: [ConnectionID] = []
        var there: [ConnectionID] = []
        for _ in 0..<connections {
            ids.append(try await client.open(server.transport.port) { $0.offersCompression = true })
            there.append(try await server.opened().0)
        }
        let messages = 60
        for number in 0..<messages {
            for (index, id) in ids.enumerated() {
                let text = Self.text(index * 1_000_000 + number, count: 40_000)
                #expect(client.transport.send(text, .text, on: id) == .accepted)
            }
        }
        var next = [ConnectionID: Int]()
        for _ in 0..<(messages * connections) {
            let event = await server.next()
            guard case .message(let id, let bytes, _) = event else { throw UnexpectedEvent(event) }
            let index = try #require(there.firstIndex(of: id))
            #expect(bytes == Self.text(index * 1_000_000 + next[id, default: 0], count: 40_000))
            next[id, default: 0] += 1
        }
        await client.stop()
        await server.stop()
    }

    /// When the last compressed byte has been read, any number of bytes may be left to inflate.
    @Test(arguments: [900..<1_400, 3_000..<3_500, 4_000..<4_400]) func messagesOfEverySizeArriveWhole(
        sizes: Range<Int>
    ) async throws {
        var endpoint = ServerEndpoint()
        endpoint.compresses = true
        var server = try await TransportTrial.server(.init(echoes: true), endpoint: endpoint, limits: .conformance)
        var client = try await TransportTrial.client(limits: .conformance)
        let id = try await client.open(server.transport.port) { $0.offersCompression = true }
        _ = try await server.opened()
        for size in sizes {
            let text = [UInt8](repeating: 0x61, count: size)
            #expect(client.transport.send(text, .text, on: id) == .accepted)
            #expect(try await server.message().count == size)
            #expect(try await client.message() == text)
        }
        await client.stop()
        await server.stop()
    }
}
