import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct CrowdTests {
    private func queue(all: Int) -> ServiceQueue {
        var limits = TransportLimits()
        limits.waitingBytes = 1_000
        limits.allWaitingBytes = all
        return ServiceQueue(limits: limits)
    }

    private func send(_ queue: ServiceQueue, cost: Int, _ connection: ConnectionID) -> SendAdmission {
        queue.send([UInt8](repeating: 0x61, count: cost - TransportLimits.messageOverhead), .text, on: connection)
    }

    @Test func theLargestBacklogIsReportedAsSlowest() {
        let queue = queue(all: 1_000)
        let ids = (0..<4).map { _ in ConnectionID.next() }
        for id in ids { queue.opened(id) }
        #expect(send(queue, cost: 200, ids[0]) == .accepted)
        #expect(send(queue, cost: 500, ids[1]) == .accepted)
        #expect(send(queue, cost: 300, ids[2]) == .accepted)
        #expect(send(queue, cost: 64, ids[3]) == .overloaded(slowest: ids[1]))
        // After a partial write, it is not the slowest.
        queue.wrote(cost: 400, on: ids[1])
        #expect(send(queue, cost: 400, ids[3]) == .accepted)
        #expect(send(queue, cost: 64, ids[0]) == .overloaded(slowest: ids[3]))
        #expect(send(queue, cost: 801, ids[0]) == .full)
    }

    @Test func theBacklogOfACutConnectionNoLongerCounts() {
        let queue = queue(all: 1_000)
        let ids = (0..<2).map { _ in ConnectionID.next() }
        for id in ids { queue.opened(id) }
        #expect(send(queue, cost: 900, ids[0]) == .accepted)
        #expect(send(queue, cost: 900, ids[1]) == .overloaded(slowest: ids[0]))
        queue.append(.command(ids[0], .cut(.tryAgainLater, reason: "")))
        #expect(send(queue, cost: 900, ids[1]) == .accepted)
        #expect(send(queue, cost: 64, ids[0]) == .closed)
        // Late reports change nothing.
        queue.wrote(cost: 900, on: ids[0])
        queue.closed(ids[0])
        #expect(send(queue, cost: 101, ids[1]) == .full)
        #expect(send(queue, cost: 100, ids[1]) == .accepted)
    }

    @Test func equalBacklogsAreEachReportedOnce() {
        let count = 2_000
        let queue = queue(all: count * 100)
        for _ in 0..<count {
            let id = ConnectionID.next()
            queue.opened(id)
            #expect(send(queue, cost: 100, id) == .accepted)
        }
        var cut: Set<ConnectionID> = []
        for _ in 0..<200 {
            let newcomer = ConnectionID.next()
            queue.opened(newcomer)
            guard case .overloaded(let slowest) = send(queue, cost: 100, newcomer) else { break }
            cut.insert(slowest)
            queue.append(.command(slowest, .cut(.tryAgainLater, reason: "")))
            #expect(send(queue, cost: 100, newcomer) == .accepted)
        }
        #expect(cut.count == 200)
    }

    @Test func aFlooderAmongManyIsReportedSoon() {
        let count = 2_000
        let queue = queue(all: count * 100)
        for _ in 0..<count {
            let id = ConnectionID.next()
            queue.opened(id)
            #expect(send(queue, cost: 100, id) == .accepted)
        }
        let flooding = ConnectionID.next()
        queue.opened(flooding)
        var named: [ConnectionID] = []
        while named.last != flooding, named.count < 10 {
            guard case .overloaded(let slowest) = send(queue, cost: 100, flooding) else { continue }
            named.append(slowest)
            queue.append(.command(slowest, .cut(.tryAgainLater, reason: "")))
        }
        #expect(named.last == flooding)
        #expect(named.count == 3)
    }

    @Test func aPeerThatReadsNothingIsCut() async throws {
        var limits = TransportLimits()
        limits.waitingBytes = 64 << 20
        var server = try await TransportTrial.server(limits: limits)
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade()
        let there = try await server.opened().0
        // More than the system buffers for a peer that does not read.
        for _ in 0..<30 {
            let message = [UInt8](repeating: 0x61, count: 1 << 20)
            #expect(server.transport.send(message, .text, on: there) == .accepted)
        }
        server.transport.perform(.cut(.tryAgainLater, reason: "too slow"), on: there)
        #expect(server.transport.send([], .text, on: there) == .closed)
        let serverEnd = try await server.ended()
        #expect(serverEnd == .closedLocally(.tryAgainLater, reason: "too slow"))
        await server.stop()
        withExtendedLifetime(peer) {}
    }

    // Bytes that the library could not pass to the system count as well.
    @Test func bytesBufferedByTheLibraryCount() async throws {
        var limits = TransportLimits()
        limits.waitingBytes = 40 << 20
        var server = try await TransportTrial.server(.init(reportsTicks: true), limits: limits)
        let peer = try #require(RawPeer(port: server.transport.port, receiveBytes: 4_096))
        peer.upgrade()
        let there = try await server.opened(passingOver: .ticked).0
        let message = [UInt8](repeating: 0x61, count: 30 << 20)
        #expect(server.transport.send(message, .text, on: there) == .accepted)
        for _ in 0..<3 { #expect(await server.next() == .ticked) }
        #expect(server.transport.send(message, .text, on: there) == .full)
        await server.stop()
        withExtendedLifetime(peer) {}
    }
}

@Suite(.timeLimit(.minutes(10))) struct ManyConnectionsTests {
    // Runs in a separate process: Foundation cannot start programs while descriptors have numbers above 1,024.
    @Test func overAThousandConnectionsOpenAndClose() async throws {
        await #expect(processExitsWith: .success) {
            let count = 1_200
            var server = try await TransportTrial.server()
            var peers: [RawPeer] = []
            for _ in 0..<count {
                let peer = try #require(RawPeer(port: server.transport.port))
                peer.upgrade()
                peers.append(peer)
            }
            var open: Set<ConnectionID> = []
            while open.count < count { #expect(open.insert(try await server.opened().0).inserted) }
            for id in open { #expect(server.transport.send(Array("hello".utf8), .text, on: id) == .accepted) }
            for peer in peers { _ = await peer.read { $0.suffix(7) == [0x81, 5] + Array("hello".utf8) } }
            peers = []
            while !open.isEmpty {
                let event = await server.next()
                guard case .closed(let id, .lost) = event else { throw UnexpectedEvent(event) }
                #expect(open.remove(id) != nil)
            }
            await server.stop()
        }
    }

    @Test func aHundredClientsConnectAgainAfterARestart() async throws {
        let count = 100
        var server = try await TransportTrial.server(limits: .lingering)
        var endpoint = ServerEndpoint()
        endpoint.port = server.transport.port
        var client = try await TransportTrial.client()
        for _ in 0..<count { _ = client.transport.connect(to: .local(endpoint.port)) }
        for _ in 0..<count { _ = try await client.opened() }
        for _ in 0..<count { _ = try await server.opened() }
        await server.stop()
        for _ in 0..<count { #expect(try await client.ended() == .closedByPeer(.goingAway, reason: "")) }
        server = try await TransportTrial.server(endpoint: endpoint)
        for _ in 0..<count { _ = client.transport.connect(to: .local(endpoint.port)) }
        for _ in 0..<count { _ = try await client.opened() }
        for _ in 0..<count { _ = try await server.opened() }
        await client.stop()
        await server.stop()
    }

    @Test func connectionsOpenOverIPv6() async throws {
        var endpoint = ServerEndpoint()
        endpoint.address = "::1"
        let server: TransportTrial<LibraryTransport>
        do {
            server = try await TransportTrial.server(
                .init(echoes: true, decide: { $0.peerAddress == "::1" ? nil : .forbidden }),
                endpoint: endpoint
            )
        } catch let error as TransportError where error.code == .notListening {
            print("skipped: this machine has no ::1 (\(error))")
            return
        }
        var client = try await TransportTrial.client()
        let id = client.transport.connect(
            to: ClientTarget(
                address: "::1",
                port: server.transport.port,
                host: "[::1]:\(server.transport.port)",
                path: "/"
            )
        )
        #expect(try await client.opened().0 == id)
        #expect(client.transport.send(Array("hello".utf8), .text, on: id) == .accepted)
        #expect(try await client.message() == Array("hello".utf8))
        await client.stop()
        await server.stop()
    }
}

@Suite struct OutgoingBufferTests {
    @Test(arguments: [false, true]) func aRepeatedMessageIsCopiedOnceIfItsContentIsKept(keeps: Bool) throws {
        let buffer = OutgoingBuffer(keepsContent: keeps)
        let message = Array("message".utf8)
        let start = try #require(buffer.fill(message))
        start[0] = 0
        #expect(try #require(buffer.fill(message))[0] == (keeps ? 0 : UInt8(ascii: "m")))
        #expect(try #require(buffer.fill(Array("message".utf8)))[0] == UInt8(ascii: "m"))
    }

    @Test func aLargeBufferIsReleased() throws {
        let buffer = OutgoingBuffer(keepsContent: true)
        let message = [UInt8](repeating: 1, count: 100_000)
        try #require(buffer.fill(message))[0] = 0
        buffer.release()
        #expect(try #require(buffer.fill(message))[0] == 1)
    }

    @Test func theHeadIsDirectlyInFrontOfTheContent() throws {
        let buffer = OutgoingBuffer(keepsContent: true)
        for (message, isCompressed) in [([UInt8](repeating: 1, count: 70_000), false), ([2, 3], true), ([], false)] {
            let head = FrameHead(.text, isCompressed: isCompressed, length: message.count)
            let frame = WireFrame(WireFrame.text, message, reserved: isCompressed ? 4 : 0).bytes(mask: nil)
            for _ in 0..<2 { #expect(Array(try #require(buffer.fill(message, after: head))) == frame) }
        }
    }
}
