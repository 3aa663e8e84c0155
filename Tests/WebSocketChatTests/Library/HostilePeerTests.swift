import TestSupport
import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct HostilePeerTests {
    private static let megabyte = 1 << 20

    private var compressing: ServerEndpoint {
        var endpoint = ServerEndpoint()
        endpoint.compresses = true
        return endpoint
    }

    @Test(arguments: [1, 64]) func aCompressionBombStopsAtTheServersLimit(megabytes: Int) async throws {
        let limit = 100_000
        var server = try await TransportTrial.server(.init(limit: limit, reportsPieces: true), endpoint: compressing)
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        #expect(try await server.opened().1.isCompressed)
        peer.write(RawPeer.frame(0xC1, ZerosInLittle(count: megabytes * HostilePeerTests.megabyte).bytes))
        let received = await peer.read { $0.suffix(12) == [0x88, 10, 0x03, 0xF1] + Array("too long".utf8) }
        #expect(received.suffix(12) == [0x88, 10, 0x03, 0xF1] + Array("too long".utf8))
        peer.frame(0x88, [0x03, 0xF1])
        let event = await server.next()
        guard case .pieces(let longest, let all) = event else { throw UnexpectedEvent(event) }
        #expect(longest <= MessageInflater.pieceBytes)
        #expect(all <= limit + longest)
        let serverEnd = try await server.ended()
        #expect(serverEnd == .closedLocally(.messageTooBig, reason: "too long"))
        await server.stop()
    }

    @Test(arguments: [1, 64]) func aCompressionBombStopsAtTheClientsLimit(megabytes: Int) async throws {
        let limit = 100_000
        let host = try #require(RawHost())
        var client = try await TransportTrial.client(.init(limit: limit, reportsPieces: true))
        _ = client.transport.connect(to: .local(host.port) { $0.offersCompression = true })
        let peer = try #require(await host.accept())
        await peer.answerUpgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        #expect(try await client.opened().1.isCompressed)
        let zeros = ZerosInLittle(count: megabytes * HostilePeerTests.megabyte).bytes
        peer.write(RawPeer.frame(0xC1, zeros, isMasked: false))
        _ = await peer.read { $0.count >= 16 }
        peer.write(RawPeer.frame(0x88, [0x03, 0xF1], isMasked: false))
        let event = await client.next()
        guard case .pieces(let longest, let all) = event else { throw UnexpectedEvent(event) }
        #expect(longest <= MessageInflater.pieceBytes)
        #expect(all <= limit + longest)
        let clientEnd = try await client.ended()
        #expect(clientEnd == .closedLocally(.messageTooBig, reason: "too long"))
        await client.stop()
    }

    @Test func compressedZerosUnderTheLimitArriveIntact() async throws {
        var server = try await TransportTrial.server(endpoint: compressing)
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        _ = try await server.opened()
        peer.write(RawPeer.frame(0xC1, ZerosInLittle(count: 100_000).bytes))
        #expect(try await server.message() == [UInt8](repeating: 0, count: 100_000))
        await server.stop()
    }

    // A block of an unknown type.
    private static let invalidBlock: [UInt8] = [0x07, 0x07, 0x07]
    // A block with 0xC3 alone, which begins a character of UTF-8.
    private static let invalidUTF8: [UInt8] = [0x3A, 0x0C, 0x00]

    @Test(arguments: [HostilePeerTests.invalidBlock, HostilePeerTests.invalidUTF8])
    func invalidCompressedDataEndsAServersConnection(bytes: [UInt8]) async throws {
        var server = try await TransportTrial.server(endpoint: compressing)
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        _ = try await server.opened()
        // More data behind it, in one segment: the library must not loop.
        peer.write(RawPeer.frame(0xC1, bytes) + RawPeer.frame(0xC1, bytes) + RawPeer.frame(0xC1, bytes))
        peer.finish()
        let end = await server.next()
        guard case .closed(_, .protocolViolation(.invalidPayload)) = end else { throw UnexpectedEvent(end) }
        await server.stop()
    }

    @Test(arguments: [HostilePeerTests.invalidBlock, HostilePeerTests.invalidUTF8])
    func invalidCompressedDataEndsAClientsConnection(
        bytes: [UInt8]
    ) async throws {
        let host = try #require(RawHost())
        var client = try await TransportTrial.client()
        _ = client.transport.connect(to: .local(host.port) { $0.offersCompression = true })
        let peer = try #require(await host.accept())
        await peer.answerUpgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        _ = try await client.opened()
        let frame = RawPeer.frame(0xC1, bytes, isMasked: false)
        peer.write(frame + frame + frame)
        peer.finish()
        let end = await client.next()
        guard case .closed = end else { throw UnexpectedEvent(end) }
        await client.stop()
    }

    @Test func uncompressedMessagesArriveOnce() async throws {
        let host = try #require(RawHost())
        var client = try await TransportTrial.client()
        let id = client.transport.connect(to: .local(host.port) { $0.offersCompression = true })
        let peer = try #require(await host.accept())
        await peer.answerUpgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        _ = try await client.opened()
        peer.write(RawPeer.frame(0x81, Array("plain".utf8), isMasked: false))
        peer.write(RawPeer.frame(0x8A, Array("pong".utf8), isMasked: false))
        peer.write(RawPeer.frame(0xC1, ZerosInLittle(count: 5_000).bytes, isMasked: false))
        peer.write(RawPeer.frame(0x82, [1, 2, 3], isMasked: false))
        #expect(try await client.message() == Array("plain".utf8))
        #expect(await client.next() == .ponged(id))
        #expect(try await client.message() == [UInt8](repeating: 0, count: 5_000))
        #expect(try await client.message() == [1, 2, 3])
        // The last character is cut off.
        peer.write(RawPeer.frame(0x81, [0x61, 0xC3], isMasked: false))
        peer.finish()
        let end = await client.next()
        guard case .closed = end else { throw UnexpectedEvent(end) }
        await client.stop()

        var server = try await TransportTrial.server(endpoint: compressing)
        let other = try #require(RawPeer(port: server.transport.port))
        other.upgrade(adding: ["Sec-WebSocket-Extensions: permessage-deflate"])
        let there = try await server.opened().0
        other.frame(0x81, Array("plain".utf8))
        other.frame(0x8A, Array("pong".utf8))
        #expect(try await server.message() == Array("plain".utf8))
        #expect(await server.next() == .ponged(there))
        other.frame(0x81, [0x61, 0xC3])
        other.finish()
        let serverEnd = await server.next()
        guard case .closed(_, .protocolViolation(.invalidPayload)) = serverEnd else { throw UnexpectedEvent(serverEnd) }
        await server.stop()
    }

    @Test func endlessFragmentsReachTheLimit() async throws {
        var server = try await TransportTrial.server(.init(limit: 10_000))
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade()
        _ = try await server.opened()
        peer.frame(0x01, Array("beginning".utf8))
        let fragment = RawPeer.frame(0x00, [UInt8](repeating: 0x61, count: 100))
        for _ in 0..<200 { peer.write(fragment) }
        let end = [0x88, 10, 0x03, 0xF1] + Array("too long".utf8)
        #expect(await peer.read { $0.suffix(12) == end[...] }.suffix(12) == end[...])
        peer.frame(0x88, [0x03, 0xF1])
        let serverEnd = try await server.ended()
        #expect(serverEnd == .closedLocally(.messageTooBig, reason: "too long"))
        await server.stop()
    }

    @Test func theServerReadsSingleByteSegments() async throws {
        var server = try await TransportTrial.server()
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.trickle(RawPeer.request())
        _ = try await server.opened()
        peer.trickle(HostilePeerTests.frames(isMasked: true))
        #expect(try await server.message() == Array("one two".utf8))
        #expect(try await server.message() == [UInt8](repeating: 7, count: 200))
        let serverEnd = try await server.ended()
        #expect(serverEnd == .closedByPeer(.normal, reason: ""))
        await server.stop()
    }

    @Test func theServerSurvivesAResetAfterAnyByte() async throws {
        var server = try await TransportTrial.server()
        let port = server.transport.port
        let frames = HostilePeerTests.frames(isMasked: true)
        for count in 0...RawPeer.request().count + frames.count {
            let peer = try #require(RawPeer(port: port))
            peer.write(Array(RawPeer.request().prefix(count)))
            if count > RawPeer.request().count { _ = await peer.read { !$0.isEmpty } }
            peer.write(Array(frames.prefix(max(0, count - RawPeer.request().count))))
            peer.reset()
        }
        var open: Set<ConnectionID> = []
        var last: ConnectionID?
        let peer = try #require(RawPeer(port: port))
        peer.upgrade()
        peer.frame(0x81, Array("last".utf8))
        // All earlier connections are over, but some ends may be reported only after the last one has opened.
        while last == nil || open.count > 1 {
            let event = await server.next()
            switch event {
            case .opened(let id, _): #expect(open.insert(id).inserted)
            case .closed(let id, _): open.remove(id)
            case .message(let id, let bytes, _): if bytes == Array("last".utf8) { last = id }
            default: throw UnexpectedEvent(event)
            }
        }
        #expect(open == [try #require(last)])
        await server.stop()
    }

    /// Returns the bytes with some of them changed, always the same in a round.
    private static func damaged(_ bytes: [UInt8], _ round: Int) -> [UInt8] {
        var bytes = bytes
        var random = SeededGenerator(seed: UInt64(round))
        for _ in 0...round % 4 {
            bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: .min ... .max, using: &random)
        }
        return bytes
    }

    @Test(arguments: [false, true]) func theServerSurvivesDamagedBytes(compressed: Bool) async throws {
        var limits = TransportLimits()
        limits.connectWithin = 1
        var server = try await TransportTrial.server(
            endpoint: compressed ? compressing : ServerEndpoint(),
            limits: limits
        )
        let port = server.transport.port
        let frames = RawPeer.frame(0xC1, ZerosInLittle(count: 1_000).bytes) + HostilePeerTests.frames(isMasked: true)
        let extensions = ["Sec-WebSocket-Extensions: permessage-deflate"]
        for round in 0..<600 {
            let peer = try #require(RawPeer(port: port))
            // Otherwise the request would fail in most rounds.
            if round % 3 > 0 {
                await peer.open(adding: extensions)
                peer.write(HostilePeerTests.damaged(frames, round))
            } else {
                peer.write(HostilePeerTests.damaged(RawPeer.request(adding: extensions) + frames, round))
            }
            peer.finish()
            _ = await peer.read { _ in false }
        }
        let peer = try await WireSide.admittedClient(port: port).peer
        peer.frame(0x81, Array("last".utf8))
        while true {
            let event = await server.next()
            if case .message(_, let bytes, _) = event, bytes == Array("last".utf8) { break }
            if event == nil { throw UnexpectedEvent(event) }
        }
        await server.stop()
    }

    @Test(arguments: [false, true]) func theClientSurvivesDamagedBytes(compressed: Bool) async throws {
        let host = try #require(RawHost())
        var limits = TransportLimits()
        limits.connectWithin = 1
        var client = try await TransportTrial.client(limits: limits)
        let frames =
            RawPeer.frame(0xC1, ZerosInLittle(count: 1_000).bytes, isMasked: false)
            + HostilePeerTests.frames(isMasked: false)
        for round in 0..<600 {
            let id = client.transport.connect(to: .local(host.port) { $0.offersCompression = compressed })
            let peer = try #require(await host.accept())
            let answer = await peer.upgradeAnswer(
                adding: compressed ? ["Sec-WebSocket-Extensions: permessage-deflate"] : []
            )
            let isAnswered = round % 3 > 0
            peer.write(
                isAnswered
                    ? answer + HostilePeerTests.damaged(frames, round)
                    : HostilePeerTests.damaged(answer + frames, round)
            )
            peer.finish()
            while true {
                let event = await client.next()
                if case .closed(let reported, _) = event {
                    #expect(reported == id)
                    break
                }
                if event == nil { throw UnexpectedEvent(event) }
            }
        }
        await client.stop()
    }

    private static func frames(isMasked: Bool) -> [UInt8] {
        [
            (0x01, Array("one ".utf8)), (0x89, [1, 2, 3]), (0x80, Array("two".utf8)),
            (0x82, [UInt8](repeating: 7, count: 200)), (0x88, [0x03, 0xE8]),
        ].flatMap { RawPeer.frame($0, $1, isMasked: isMasked) }
    }

    @Test func theClientReadsSingleByteSegments() async throws {
        let host = try #require(RawHost())
        var client = try await TransportTrial.client()
        let id = client.transport.connect(to: .local(host.port))
        let peer = try #require(await host.accept())
        peer.trickle(await peer.upgradeAnswer() + HostilePeerTests.frames(isMasked: false))
        #expect(try await client.opened().0 == id)
        #expect(try await client.message() == Array("one two".utf8))
        #expect(try await client.message() == [UInt8](repeating: 7, count: 200))
        let clientEnd = try await client.ended()
        #expect(clientEnd == .closedByPeer(.normal, reason: ""))
        await client.stop()
    }

    @Test func theClientSurvivesAResetAfterAnyByte() async throws {
        let host = try #require(RawHost())
        var client = try await TransportTrial.client()
        var count = 0
        var whole = Int.max
        while count <= whole {
            let id = client.transport.connect(to: .local(host.port))
            let peer = try #require(await host.accept())
            let answer = await peer.upgradeAnswer() + HostilePeerTests.frames(isMasked: false)
            whole = answer.count
            peer.write(Array(answer.prefix(count)))
            peer.reset()
            var isOver = false
            while !isOver {
                let event = await client.next()
                switch event {
                case .opened(let reported, _): #expect(reported == id)
                case .message(let reported, _, _): #expect(reported == id)
                case .closed(let reported, _):
                    #expect(reported == id)
                    isOver = true
                default: throw UnexpectedEvent(event)
                }
            }
            count += 1
        }
        await client.stop()
    }

    @Test(arguments: [
        "", "\r\n", "garbage\r\n\r\n", "HTTP/1.1 101\r\n\r\n", "HTTP/9.9 abc def\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: eA==\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "\u{0}\u{1}\u{2}\u{81}\u{5}hello",
        "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
        "HTTP/1.1 101 X\r\n" + String(repeating: "X: y\r\n", count: 20_000),
    ])
    func anInvalidAnswerEndsTheConnectionAttempt(answer: String) async throws {
        let host = try #require(RawHost())
        var limits = TransportLimits()
        limits.connectWithin = 10
        var client = try await TransportTrial.client(limits: limits)
        _ = client.transport.connect(to: .local(host.port))
        let peer = try #require(await host.accept())
        _ = await peer.upgradeAnswer()
        peer.write(answer)
        peer.finish()
        let end = try await client.ended()
        switch end {
        case .upgradeFailed, .refused: break
        default: Issue.record("\(end)")
        }
        await client.stop()
    }
}
