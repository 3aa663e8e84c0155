import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct PausingTests {
    @Test(arguments: [false, true]) func pausingDelaysMessagesWithoutLoss(compressed: Bool) async throws {
        var endpoint = ServerEndpoint()
        endpoint.compresses = compressed
        var server = try await TransportTrial.server(.init(pausesAt: 10_000), endpoint: endpoint, limits: .roomy)
        var client = try await TransportTrial.client(limits: .roomy)
        let id = try await client.open(server.transport.port) { $0.offersCompression = compressed }
        let there = try await server.opened().0
        let second = try await client.open(server.transport.port)
        let secondThere = try await server.opened().0
        let count = 3_000
        for number in 0..<count {
            #expect(
                client.transport.send(Array("\(number) ".utf8) + [UInt8](repeating: 0x61, count: 1_000), .text, on: id)
                    == .accepted
            )
        }
        var received = 0
        while received * 1_000 < 10_000 - 1_000 {
            _ = try await server.message()
            received += 1
        }
        // The other connection's messages make the thread run passes; none may deliver a paused message.
        var others = 0
        for _ in 0..<50 {
            #expect(client.transport.send(Array("other".utf8), .text, on: second) == .accepted)
            while true {
                let event = await server.next()
                guard case .message(let from, let bytes, _) = event else { throw UnexpectedEvent(event) }
                if from == secondThere {
                    others += 1
                    break
                }
                #expect(others == 0)
                #expect(bytes.starts(with: Array("\(received) ".utf8)))
                received += 1
            }
        }
        #expect(received < count)
        server.transport.perform(.resume, on: there)
        while received < count {
            let message = try await server.message()
            #expect(message.starts(with: Array("\(received) ".utf8)))
            received += 1
        }
        await client.stop()
        await server.stop()
    }

    @Test func aSilentPeerIsCutButAPausedOneIsNot() async throws {
        var limits = TransportLimits()
        limits.pingAfter = 1
        limits.cutAfter = 10
        var server = try await TransportTrial.server(.init(pausesAt: 1), limits: limits)
        var client = try await TransportTrial.client()
        let id = try await client.open(server.transport.port)
        let there = try await server.opened().0
        #expect(client.transport.send(Array("pause".utf8), .text, on: id) == .accepted)
        _ = try await server.message()
        let silent = try #require(RawPeer(port: server.transport.port))
        silent.upgrade()
        let silentThere = try await server.opened().0
        #expect(try await server.ended(of: silentThere) == .lost)
        #expect(client.transport.send(Array("still here".utf8), .text, on: id) == .accepted)
        server.transport.perform(.resume, on: there)
        let message = try await server.message()
        #expect(message == Array("still here".utf8))
        await client.stop()
        await server.stop()
        withExtendedLifetime(silent) {}
    }

    @Test func automaticPingsCanBeDisabled() async throws {
        var limits = TransportLimits()
        limits.pingAfter = 0
        limits.cutAfter = 1
        var server = try await TransportTrial.server(.init(reportsTicks: true), limits: limits)
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade()
        let there = try await server.opened(passingOver: .ticked).0
        for _ in 0..<6 { #expect(await server.next() == .ticked) }
        server.transport.perform(.ping, on: there)
        // Nothing was sent before the ping.
        let ping = [0x89, 4] + Array("ping".utf8)
        let received = await peer.read { $0.suffix(6) == ping[...] }
        #expect(received.dropLast(6).suffix(4) == Array("\r\n\r\n".utf8)[...])
        peer.frame(0x8A, Array("ping".utf8))
        var event = await server.next()
        while event == .ticked { event = await server.next() }
        #expect(event == .ponged(there))
        await server.stop()
    }

    @Test(arguments: [false, true]) func aPausedServerDetectsALostClient(resets: Bool) async throws {
        var limits = TransportLimits()
        limits.cutAfter = 1
        limits.pingAfter = 0
        var server = try await TransportTrial.server(.init(pausesAt: 1), limits: limits)
        do {
            let peer = try #require(RawPeer(port: server.transport.port))
            peer.upgrade()
            _ = try await server.opened()
            peer.frame(0x81, Array("pause".utf8))
            _ = try await server.message()
            if resets { peer.reset() }
        }
        let serverEnd = try await server.ended()
        #expect(serverEnd == .lost)
        await server.stop()
    }

    @Test(arguments: [false, true])
    func aPausedClientReadsWhatALostServerHasSent(resets: Bool) async throws {
        let host = try #require(RawHost())
        var client = try await TransportTrial.client(.init(pausesAt: 1, reportsTicks: true))
        let id = client.transport.connect(to: .local(host.port))
        let peer = try #require(await host.accept())
        await peer.answerUpgrade()
        _ = try await client.opened(passingOver: .ticked)
        for text in ["pause", "more"] { peer.write(RawPeer.frame(0x81, Array(text.utf8), isMasked: false)) }
        #expect(try await client.message(passingOver: .ticked) == Array("pause".utf8))
        if resets { peer.reset() } else { peer.finish() }
        for _ in 0..<3 { #expect(await client.next() == .ticked) }
        client.transport.perform(.resume, on: id)
        #expect(try await client.message(passingOver: .ticked) == Array("more".utf8))
        #expect(try await client.ended(passingOver: .ticked) == .lost)
        await client.stop()
    }

    @Test func resumingReadsDataSentBeforeThePeerFinished() async throws {
        var server = try await TransportTrial.server(.init(pausesAt: 1, reportsTicks: true))
        let peer = try #require(RawPeer(port: server.transport.port))
        peer.upgrade()
        let there = try await server.opened(passingOver: .ticked).0
        peer.frame(0x81, Array("pause".utf8))
        for number in 0..<1_000 { peer.frame(0x81, Array("\(number)".utf8)) }
        peer.finish()
        while try await server.nextEvent() != .message(there, Array("pause".utf8), isBinary: false) {}
        var ticks = 0
        while ticks < 4 {
            if try await server.nextEvent() == .ticked { ticks += 1 }
        }
        server.transport.perform(.resume, on: there)
        for number in 0..<1_000 {
            var event = await server.next()
            while event == .ticked { event = await server.next() }
            #expect(event == .message(there, Array("\(number)".utf8), isBinary: false))
        }
        let serverEnd = try await server.ended(passingOver: .ticked)
        #expect(serverEnd == .lost)
        await server.stop()
    }
}
