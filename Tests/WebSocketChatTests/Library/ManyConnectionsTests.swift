import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct ManyConnectionsTests {
    // In a process of its own: Foundation starts no program where descriptors have numbers above 1,024.
    @Test func moreThanAThousandOpenAndCloseAndAllAreCounted() async throws {
        await #expect(processExitsWith: .success) {
            let count = 1_200
            var server = try await Party.server()
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

    @Test func aHundredClientsFindAServerThatComesBack() async throws {
        let count = 100
        var server = try await Party.server(limits: .lingering)
        var place = ServerPlace()
        place.port = server.transport.port
        var client = try await Party.client()
        for _ in 0..<count { _ = client.transport.connect(to: .local(place.port)) }
        for _ in 0..<count { _ = try await client.opened() }
        for _ in 0..<count { _ = try await server.opened() }
        await server.stop()
        for _ in 0..<count { #expect(try await client.ended() == .closedByPeer(.goingAway, reason: "")) }
        server = try await Party.server(place: place)
        for _ in 0..<count { _ = client.transport.connect(to: .local(place.port)) }
        for _ in 0..<count { _ = try await client.opened() }
        for _ in 0..<count { _ = try await server.opened() }
        await client.stop()
        await server.stop()
    }

    @Test func connectionsOverIPv6Open() async throws {
        var place = ServerPlace()
        place.address = "::1"
        let server: Party
        do {
            server = try await Party.server(
                .init(echoes: true, decide: { $0.peerAddress == "::1" ? .accept : .forbidden }),
                place: place
            )
        } catch let fault as TransportFault where fault.code == .notListening {
            print("skipped: \(fault), as this machine has no ::1")
            return
        }
        var client = try await Party.client()
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
