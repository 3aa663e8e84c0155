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

    @Test func whoeverHasMostWaitingIsNamed() {
        let queue = queue(all: 1_000)
        let ids = (0..<4).map { _ in ConnectionID.next() }
        for id in ids { queue.opened(id) }
        #expect(send(queue, cost: 200, ids[0]) == .accepted)
        #expect(send(queue, cost: 500, ids[1]) == .accepted)
        #expect(send(queue, cost: 300, ids[2]) == .accepted)
        #expect(send(queue, cost: 64, ids[3]) == .crowded(slowest: ids[1]))
        // Written in part, it is no more the slowest.
        queue.wrote(cost: 400, on: ids[1])
        #expect(send(queue, cost: 400, ids[3]) == .accepted)
        #expect(send(queue, cost: 64, ids[0]) == .crowded(slowest: ids[3]))
        #expect(send(queue, cost: 801, ids[0]) == .full)
    }

    @Test func whatWaitsOnACutConnectionCountsNoMore() {
        let queue = queue(all: 1_000)
        let ids = (0..<2).map { _ in ConnectionID.next() }
        for id in ids { queue.opened(id) }
        #expect(send(queue, cost: 900, ids[0]) == .accepted)
        #expect(send(queue, cost: 900, ids[1]) == .crowded(slowest: ids[0]))
        queue.append(.command(ids[0], .cut(.tryAgainLater, reason: "")))
        #expect(send(queue, cost: 900, ids[1]) == .accepted)
        #expect(send(queue, cost: 64, ids[0]) == .gone)
        // What is told late changes nothing.
        queue.wrote(cost: 900, on: ids[0])
        queue.closed(ids[0])
        #expect(send(queue, cost: 101, ids[1]) == .full)
        #expect(send(queue, cost: 100, ids[1]) == .accepted)
    }

    @Test func eachIsNamedOnceWhereAllAreEqual() {
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
            guard case .crowded(let slowest) = send(queue, cost: 100, newcomer) else { break }
            cut.insert(slowest)
            queue.append(.command(slowest, .cut(.tryAgainLater, reason: "")))
            #expect(send(queue, cost: 100, newcomer) == .accepted)
        }
        #expect(cut.count == 200)
    }

    @Test func whoFloodsInACrowdIsNamedSoon() {
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
            guard case .crowded(let slowest) = send(queue, cost: 100, flooding) else { continue }
            named.append(slowest)
            queue.append(.command(slowest, .cut(.tryAgainLater, reason: "")))
        }
        #expect(named.last == flooding)
        #expect(named.count == 3)
    }

    @Test func aPeerThatTakesNothingIsCutAllTheSame() async throws {
        var limits = TransportLimits()
        limits.waitingBytes = 64 << 20
        var server = try await Party.server(limits: limits)
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade()
        let there = try await server.opened().0
        // More than the system holds for a peer that does not read.
        for _ in 0..<30 {
            let message = [UInt8](repeating: 0x61, count: 1 << 20)
            #expect(server.transport.send(message, .text, on: there) == .accepted)
        }
        server.transport.perform(.cut(.tryAgainLater, reason: "too slow"), on: there)
        #expect(server.transport.send([], .text, on: there) == .gone)
        let serverEnd = try await server.ended()
        #expect(serverEnd == .closedHere(.tryAgainLater, reason: "too slow"))
        await server.stop()
        withExtendedLifetime(peer) {}
    }

    // What the library could not hand to the system is held by it, and counts as well.
    @Test func whatTheLibraryHoldsCounts() async throws {
        var limits = TransportLimits()
        limits.waitingBytes = 40 << 20
        var server = try await Party.server(.init(tellsTicks: true), limits: limits)
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
