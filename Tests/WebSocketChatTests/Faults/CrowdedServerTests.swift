import SignalboxTesting
import Testing
import WebSocketChat

@testable import BrokerKit

@Suite(.timeLimit(.minutes(10))) struct CrowdedServerTests {
    // In a process of its own: it needs more descriptors than one that starts programs may have.
    @Test func theThousandAndFirstIsRefusedAndTheThousandGoOn() async throws {
        await #expect(processExitsWith: .success) {
            let count = 1_000
            try await Echo.withServer { echo, server, port in
                var clients: [WireSide] = []
                for _ in 0..<count { clients.append(try await WireSide.openClient(port: port)) }
                for _ in 0..<3 {
                    var late = try WireSide.client(port: port)
                    #expect(try await late.head().hasPrefix("HTTP/1.1 503"))
                }
                for index in clients.indices { clients[index].send(.text("hello \(index)")) }
                for index in clients.indices {
                    let frame = try await clients[index].frame()
                    #expect(frame == .text("hello \(index)"))
                }
                #expect(server.counts.open == count)
                #expect(server.counts.unavailable == 3)
                #expect((1..<3).contains(echo.log.warnings("with 503").count))
                clients[0].peer.reset()
                _ = await echo.closed.first(1)
                var next = try await WireSide.openClient(port: port)
                #expect(try await next.echo("in place of another"))
                #expect(server.counts.opened == count + 1)
                #expect(server.counts.open == count)
                #expect(server.counts.lost == 1)
            }
        }
    }

    @Test func whoNeverFinishesARequestTakesNobodysPlace() async throws {
        try await Echo.withServer {
            $0.connections = 1
            $0.handshakeTimeout = .seconds(1)
        } _: { _, server, port in
            let request = Array("GET /chat HTTP/1.1\r\nHost: localhost\r\nUpgrade: webso".utf8)
            let slow = try (0..<20).map { number in
                let peer = try #require(RawPeer(port: port))
                peer.write(Array(request.prefix(number * 2)))
                return peer
            }
            var client = try await WireSide.admittedClient(port: port)
            #expect(try await client.echo("hello"))
            for peer in slow {
                let heard = try await peer.chunk()
                #expect(!String(decoding: heard, as: UTF8.self).contains(" 101 "))
            }
            #expect(try await client.echo("still here"))
            #expect(server.counts.opened == 1)
        }
    }
}
