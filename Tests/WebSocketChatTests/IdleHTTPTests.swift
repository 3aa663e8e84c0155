import Foundation
import SignalboxTesting
import TestSupport
import Testing

@testable import BrokerKit
@testable import WebSocketChat

/// More HTTP connections than the limits allow.
///
/// Some tests run in a separate process with so few descriptors that 200 HTTP connections would take them all.
@Suite(.serialized, .timeLimit(.minutes(10))) struct IdleHTTPTests {
    private static let health = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    private static let large = "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// Allows 50 WebSockets and 32 HTTP connections, 16 of them from one address.
    private static func configure(_ configuration: inout WebSocketServerConfiguration) {
        configuration.connections = 50
        // No connection may time out because the machine is slow.
        configuration.httpTimeout = .seconds(3_600)
        configuration.httpRequests = 1_000_000
        configuration.pages["/large"] = WebSocketPage(
            contentType: "text/plain",
            body: [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        )
    }

    /// Enough for 250 clients, the server's 82 sockets and the rest of the process; too few for 250 clients and 250
    /// sockets of the server.
    private static func limitDescriptors() throws {
        var limit = rlimit(rlim_cur: 480, rlim_max: 480)
        #if canImport(Glibc)
        let result = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        #else
        let result = setrlimit(RLIMIT_NOFILE, &limit)
        #endif
        try #require(result == 0)
    }

    private static func answer(_ peer: RawPeer) async -> String {
        peer.write(health)
        return String(decoding: await peer.read { $0.suffix(2) == Array("}\n".utf8)[...] }, as: UTF8.self)
    }

    /// Returns a connection that has received one document.
    private static func idlePeer(_ port: UInt16, from address: UInt8? = nil) async throws -> RawPeer {
        let peer = try #require(RawPeer(port: port, from: address))
        try #require(await answer(peer).hasPrefix("HTTP/1.1 200"))
        return peer
    }

    /// Returns a connection that requests far more than the system buffers, and reads nothing.
    private static func slowPeer(_ port: UInt16, from address: UInt8) -> RawPeer? {
        let peer = RawPeer(port: port, from: address, receiveBytes: 4_096)
        peer?.write(String(repeating: large, count: 20))
        return peer
    }

    /// Opens as many WebSockets as the server allows.
    private static func openClients(_ port: UInt16) async throws -> [WireSide] {
        var clients: [WireSide] = []
        for _ in 0..<50 { clients.append(try await WireSide.openClient(port: port)) }
        for index in clients.indices { #expect(try await clients[index].echo("hello \(index)")) }
        return clients
    }

    private static func isClosed(_ peer: RawPeer) -> Bool {
        var byte: UInt8 = 0
        let count = recv(peer.socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
        return count == 0 || count < 0 && errno != EAGAIN
    }

    /// Waits for the server to close the connection; returns whether it did.
    private static func closes(_ peer: RawPeer) async -> Bool {
        _ = await peer.read { _ in false }
        return isClosed(peer)
    }

    // MARK: - Upgrades

    @Test func idleConnectionsDoNotBlockUpgrades() async {
        await #expect(processExitsWith: .success) {
            try IdleHTTPTests.limitDescriptors()
            try await Echo.withServer(IdleHTTPTests.configure) { _, server, port in
                var idle: [RawPeer] = []
                for _ in 0..<200 { idle.append(try await IdleHTTPTests.idlePeer(port)) }
                let (evicted, kept) = (idle.prefix(184), idle.suffix(16))
                for peer in evicted { #expect(await IdleHTTPTests.closes(peer)) }
                let clients = try await IdleHTTPTests.openClients(port)
                for peer in kept { #expect(await IdleHTTPTests.answer(peer).hasPrefix("HTTP/1.1 200")) }
                #if os(Linux)
                // On Linux every address that begins with 127 is this machine.
                _ = try await IdleHTTPTests.idlePeer(port, from: 3)
                #endif
                #expect(server.counts.open == 50 && server.counts.unavailable == 0 && clients.count == 50)
                #expect(server.counts.evicted == 184 && server.counts.overLimit == 0)
                #expect(server.counts.outOfDescriptors == 0)
            }
        }
    }

    @Test func silentConnectionsDoNotBlockUpgrades() async {
        await #expect(processExitsWith: .success) {
            try IdleHTTPTests.limitDescriptors()
            try await Echo.withServer(IdleHTTPTests.configure) { _, server, port in
                let silent = try (0..<200).map { _ in try #require(RawPeer(port: port)) }
                let clients = try await IdleHTTPTests.openClients(port)
                for peer in silent.prefix(168) { #expect(await IdleHTTPTests.closes(peer)) }
                #expect(!silent.suffix(32).contains(where: IdleHTTPTests.isClosed))
                #expect(server.counts.open == 50 && clients.count == 50)
                // The server has at most 82 sockets.
                #expect(server.counts.evicted == 250 - 82 && server.counts.overLimit == 0)
                #expect(server.counts.outOfDescriptors == 0)
            }
        }
    }

    @Test func silentTLSConnectionsDoNotBlockUpgrades() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        try await Echo.withServer {
            Self.configure(&$0)
            $0.identity = WebSocketIdentity(
                certificateFile: authority.certificateFile,
                keyFile: authority.keyFile
            )
        } _: { _, server, port in
            let silent = try (0..<200).map { _ in try #require(RawPeer(port: port)) }
            var client = try await TransportTrial.client()
            for _ in 0..<20 {
                let id = try await client.open(port) { $0.secure(.authority(file: authority.authorityFile)) }
                #expect(client.transport.send(Array("hello".utf8), .text, on: id) == .accepted)
                #expect(try await client.message() == Array("hello".utf8))
            }
            #expect(server.counts.open == 20 && server.counts.overLimit == 0)
            #expect(server.counts.evicted == 220 - 82 && silent.count == 200)
            await client.stop()
        }
    }

    /// In each round silent connections are evicted while they request an upgrade.
    @Test func evictedConnectionsReleaseTheirSlots() async throws {
        try await Echo.withServer {
            $0.connections = 10
            $0.announcesConnections = false
        } _: { _, _, port in
            for _ in 0..<20 {
                let silent = try (0..<42).map { _ in try #require(RawPeer(port: port)) }
                let newcomers = EventList<RawPeer?>()
                Thread.detachNewThread {
                    for _ in 0..<42 { newcomers.append(RawPeer(port: port)) }
                }
                for peer in silent { peer.upgrade() }
                #expect(await newcomers.first(42).count == 42)
            }
            var clients: [WireSide] = []
            for _ in 0..<10 { clients.append(try await WireSide.admittedClient(port: port)) }
            for index in clients.indices { #expect(try await clients[index].echo("hello \(index)")) }
        }
    }

    #if os(Linux)
    @Test func silentConnectionsOfManyAddressesDoNotBlockUpgrades() async {
        await #expect(processExitsWith: .success) {
            try IdleHTTPTests.limitDescriptors()
            try await Echo.withServer(IdleHTTPTests.configure) { _, server, port in
                let silent = (UInt8(2)..<202).compactMap { RawPeer(port: port, from: $0) }
                try #require(silent.count == 200)
                let clients = try await IdleHTTPTests.openClients(port)
                for peer in silent.prefix(168) { #expect(await IdleHTTPTests.closes(peer)) }
                #expect(!silent.suffix(32).contains(where: IdleHTTPTests.isClosed))
                #expect(server.counts.open == 50 && clients.count == 50)
                #expect(server.counts.evicted == 250 - 82 && server.counts.overLimit == 0)
                #expect(server.counts.outOfDescriptors == 0)
            }
        }
    }

    @Test func slowReadersDoNotBlockUpgrades() async {
        await #expect(processExitsWith: .success) {
            try IdleHTTPTests.limitDescriptors()
            try await Echo.withServer(IdleHTTPTests.configure) { _, server, port in
                let slow = (0..<200).compactMap { _ in IdleHTTPTests.slowPeer(port, from: 2) }
                try #require(slow.count == 200)
                let other = try await IdleHTTPTests.idlePeer(port, from: 3)
                // Waits until the server has counted each evicted or refused connection once: 16 of 200 stay.
                while server.counts.evicted + server.counts.overLimit < 184 {
                    try #require(await IdleHTTPTests.answer(other).hasPrefix("HTTP/1.1 200"))
                }
                let clients = try await IdleHTTPTests.openClients(port)
                #expect(server.counts.open == 50 && server.counts.unavailable == 0 && clients.count == 50)
                #expect(server.counts.outOfDescriptors == 0)
                #expect(server.counts.evicted + server.counts.overLimit == 184 && slow.count == 200)
            }
        }
    }

    @Test func slowReadersThatReconnectDoNotBlockUpgrades() async {
        await #expect(processExitsWith: .success) {
            try IdleHTTPTests.limitDescriptors()
            try await Echo.withServer(IdleHTTPTests.configure) { _, server, port in
                let (isOver, rounds, ended) = (Watched(false), EventList<Int>(), EventList<Int>())
                for thread in 0..<4 {
                    Thread.detachNewThread {
                        while !isOver.value {
                            let peers = (0..<50).compactMap { _ in IdleHTTPTests.slowPeer(port, from: 2) }
                            rounds.append(peers.count)
                        }
                        ended.append(thread)
                    }
                }
                defer { isOver.change { $0 = true } }
                _ = await rounds.first(8)
                let clients = try await IdleHTTPTests.openClients(port)
                #expect(server.counts.open == 50 && clients.count == 50)
                isOver.change { $0 = true }
                #expect(await ended.first(4).count == 4)
            }
        }
    }

    @Test func slowReadersOfTwoAddressesDoNotBlockDocuments() async throws {
        try await Echo.withServer(Self.configure) { _, _, port in
            let slow = (0..<64).compactMap { number in Self.slowPeer(port, from: number % 2 == 0 ? 2 : 3) }
            for _ in 0..<8 { _ = try await Self.idlePeer(port, from: 4) }
            #expect(slow.count == 64)
        }
    }
    #endif

    // MARK: - One connection

    @Test func aConnectionMayUpgradeAfterADocument() async throws {
        try await Echo.withServer(Self.configure) { _, server, port in
            let peer = try await Self.idlePeer(port)
            peer.upgrade()
            var side = WireSide(client: peer)
            #expect(try await side.head().hasPrefix("HTTP/1.1 101"))
            #expect(try await side.echo("hello"))
            #expect(server.counts.open == 1)
        }
    }

    @Test func theLastAllowedRequestClosesTheConnection() async throws {
        try await Echo.withServer {
            Self.configure(&$0)
            $0.httpRequests = 3
        } _: { _, server, port in
            let peer = try await Self.idlePeer(port)
            let second = await Self.answer(peer)
            #expect(!second.lowercased().contains("connection: close"))
            peer.write(String(repeating: Self.health, count: 9))
            let rest = String(decoding: await peer.read { _ in false }, as: UTF8.self)
            #expect(rest.hasPrefix("HTTP/1.1 200") && rest.lowercased().contains("connection: close"))
            #expect(rest.components(separatedBy: "HTTP/1.1 ").count == 2)
            #expect(Self.isClosed(peer))
            #expect(server.counts.evicted == 0 && server.counts.overLimit == 0)
        }
    }

    @Test func connectionsPastTheirLifetimeAreClosed() async throws {
        try await Echo.withServer {
            Self.configure(&$0)
            $0.httpTimeout = .seconds(1)
        } _: { _, server, port in
            let idle = try #require(RawPeer(port: port))
            idle.write(Self.health)
            let slow = try #require(RawPeer(port: port))
            slow.write(String(repeating: Self.large, count: 50))
            let silent = try #require(RawPeer(port: port))
            #expect(await silent.read { _ in false }.isEmpty)
            #expect(await idle.read { _ in false }.count < 1_000)
            // Reads only after the server has stopped answering requests.
            #expect(await slow.read { _ in false }.count < 50 << 20)
            for peer in [silent, idle, slow] { #expect(Self.isClosed(peer)) }
            #expect(server.counts.evicted == 0 && server.counts.overLimit == 0)
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct CrowdedServerTests {
    // Runs in a separate process: it needs more descriptors than a process that starts programs may have.
    @Test func clientsOverTheLimitAreRefusedWithoutAffectingOthers() async throws {
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

    @Test func anUnfinishedRequestDisplacesNoOtherConnection() async throws {
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
                let received = try await peer.chunk()
                #expect(!String(decoding: received, as: UTF8.self).contains(" 101 "))
            }
            #expect(try await client.echo("still here"))
            #expect(server.counts.opened == 1)
        }
    }
}
