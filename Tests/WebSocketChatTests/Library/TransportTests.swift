import BrokerKit
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct TransportTests {
    @Test(arguments: [false, true]) func messagesOfAnyLengthAreEchoed(compressed: Bool) async throws {
        var endpoint = ServerEndpoint()
        endpoint.compresses = compressed
        var server = try await TransportTrial.server(.init(echoes: true), endpoint: endpoint, limits: .roomy)
        var client = try await TransportTrial.client(limits: .roomy)
        let id = try await client.open(server.transport.port) { $0.offersCompression = compressed }
        let accepted = try await server.opened().1
        #expect(accepted.isCompressed == compressed)
        for length in [0, 1, 125, 126, 4_095, 4_096, 65_535, 65_536, 65_537, 1 << 20] {
            let text = (0..<length).map { UInt8(ascii: "a") + UInt8(($0 * $0 + $0 / 97) % 26) }
            #expect(client.transport.send(text, .text, on: id) == .accepted)
            let received = try await server.message()
            #expect(received == text)
            let echoed = try await client.message()
            #expect(echoed == text)
        }
        await client.stop()
        await server.stop()
    }

    @Test(arguments: [false, true]) func messagesArriveInOrder(compressed: Bool) async throws {
        var endpoint = ServerEndpoint()
        endpoint.compresses = compressed
        let server = try await TransportTrial.server(.init(echoes: true), endpoint: endpoint)
        var client = try await TransportTrial.client()
        let id = try await client.open(server.transport.port) { $0.offersCompression = compressed }
        for number in 0..<1_000 {
            #expect(client.transport.send(Array("message \(number)".utf8), .text, on: id) == .accepted)
        }
        for number in 0..<1_000 {
            let message = try await client.message()
            #expect(message == Array("message \(number)".utf8))
        }
        await client.stop()
        await server.stop()
    }

    @Test(arguments: [false, true]) func anOversizedMessageEndsTheConnectionWith1009(compressed: Bool) async throws {
        var endpoint = ServerEndpoint()
        endpoint.compresses = compressed
        var server = try await TransportTrial.server(.init(limit: 10_000), endpoint: endpoint)
        var client = try await TransportTrial.client()
        let id = try await client.open(server.transport.port) { $0.offersCompression = compressed }
        _ = try await server.opened()
        #expect(
            client.transport.send([UInt8](repeating: UInt8(ascii: "x"), count: 500_000), .text, on: id) == .accepted
        )
        let there = try await server.ended()
        #expect(there == .closedLocally(.messageTooBig, reason: "too long"))
        let here = try await client.ended()
        #expect(here == .closedByPeer(.messageTooBig, reason: "too long"))
        await client.stop()
        await server.stop()
    }

    @Test func textThatIsNotUTF8EndsTheConnectionWith1007() async throws {
        var server = try await TransportTrial.server()
        var client = try await TransportTrial.client()
        let id = try await client.open(server.transport.port)
        _ = try await server.opened()
        #expect(client.transport.send([0x61, 0xFF, 0x62], .text, on: id) == .accepted)
        let here = try await client.ended()
        #expect(here == .closedByPeer(.invalidPayload, reason: "bad utf8"))
        let there = try await server.ended()
        #expect(there == .protocolViolation(.invalidPayload))
        await client.stop()
        await server.stop()
    }

    @Test func closeCodesAndReasonsReachThePeer() async throws {
        var server = try await TransportTrial.server()
        var client = try await TransportTrial.client()
        let first = try await client.open(server.transport.port)
        _ = try await server.opened()
        let code = CloseCode(number: 4_001)
        client.transport.perform(.close(code, reason: "done"), on: first)
        let there = try await server.ended()
        #expect(there == .closedByPeer(code, reason: "done"))
        let here = try await client.ended()
        #expect(here == .closedLocally(code, reason: "done"))

        _ = try await client.open(server.transport.port)
        let second = try await server.opened().0
        server.transport.perform(.close(.normal, reason: String(repeating: "ä", count: 100)), on: second)
        let seen = try await client.ended()
        #expect(seen == .closedByPeer(.normal, reason: String(repeating: "ä", count: 61)))
        _ = try await server.ended()
        await client.stop()
        await server.stop()
    }

    @Test func messagesSentBeforeACloseArrive() async throws {
        var server = try await TransportTrial.server()
        var client = try await TransportTrial.client()
        let id = try await client.open(server.transport.port)
        _ = try await server.opened()
        for number in 0..<100 { _ = client.transport.send(Array("\(number)".utf8), .text, on: id) }
        client.transport.perform(.close(.normal, reason: ""), on: id)
        for number in 0..<100 {
            let message = try await server.message()
            #expect(message == Array("\(number)".utf8))
        }
        let end = try await server.ended()
        #expect(end == .closedByPeer(.normal, reason: ""))
        await client.stop()
        await server.stop()
    }

    @Test func aPingIsAnswered() async throws {
        let server = try await TransportTrial.server()
        var client = try await TransportTrial.client()
        let id = try await client.open(server.transport.port)
        client.transport.perform(.ping, on: id)
        let event = await client.next()
        #expect(event == .ponged(id))
        await client.stop()
        await server.stop()
    }

    @Test func theSendQueueIsLimited() async throws {
        var limits = TransportLimits()
        limits.waitingBytes = 1_000
        let server = try await TransportTrial.server()
        var client = try await TransportTrial.client(limits: limits)
        let unknown = ConnectionID.next()
        #expect(client.transport.send([], .text, on: unknown) == .closed)
        let id = try await client.open(server.transport.port)
        #expect(client.transport.send([UInt8](repeating: 0x61, count: 937), .text, on: id) == .full)
        #expect(client.transport.send([UInt8](repeating: 0x61, count: 936), .text, on: id) == .accepted)
        await client.stop()
        #expect(client.transport.send([], .text, on: id) == .closed)
        await server.stop()
    }

    @Test func theReceiverIsCalledOnTicksAndWakeUps() async throws {
        for isServer in [false, true] {
            let behavior = RecordingReceiver.Behavior(reportsPasses: true, reportsTicks: true)
            var trial =
                if isServer {
                    try await TransportTrial.server(behavior).erased
                } else {
                    try await TransportTrial.client(behavior).erased
                }
            var ticks = 0
            while ticks < 3 {
                if try await trial.nextEvent() == .ticked { ticks += 1 }
            }
            // A pass that a tick started ends without a wake-up. Only wake-ups make more passes than ticks.
            var passes = 0
            ticks = 0
            while passes < 200 {
                let event = try await trial.nextEvent()
                if event == .ticked { ticks += 1 }
                if event == .passEnded(bytes: 0) {
                    passes += 1
                    trial.transport.wake()
                }
            }
            #expect(ticks < passes / 2)
            await trial.stop()
        }
    }

    @Test func aHundredConnectionsAreServed() async throws {
        let server = try await TransportTrial.server(.init(echoes: true))
        var client = try await TransportTrial.client()
        var ids: [ConnectionID] = []
        for _ in 0..<100 { ids.append(client.transport.connect(to: .local(server.transport.port))) }
        var opened: Set<ConnectionID> = []
        while opened.count < 100 { opened.insert(try await client.opened().0) }
        #expect(opened == Set(ids))
        for id in ids { _ = client.transport.send(Array("\(id.number)".utf8), .text, on: id) }
        var answered: Set<ConnectionID> = []
        while answered.count < 100 {
            let event = await client.next()
            guard case .message(let id, let text, _) = event else { throw UnexpectedEvent(event) }
            #expect(text == Array("\(id.number)".utf8))
            answered.insert(id)
        }
        await client.stop()
        await server.stop()
    }

    @Test func manyThreadsMaySendConcurrently() async throws {
        var server = try await TransportTrial.server()
        var client = try await TransportTrial.client()
        let id = try await client.open(server.transport.port)
        _ = try await server.opened()
        let transport = client.transport
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for number in 0..<200 {
                        #expect(transport.send(Array("\(task) \(number)".utf8), .text, on: id) == .accepted)
                    }
                }
            }
        }
        var next = [Int](repeating: 0, count: 8)
        for _ in 0..<1_600 {
            let parts = String(decoding: try await server.message(), as: UTF8.self).split(separator: " ")
            let task = try #require(parts.first.flatMap { Int($0) })
            #expect(parts.last.flatMap { Int($0) } == next[task])
            next[task] += 1
        }
        await client.stop()
        await server.stop()
    }

    @Test func aStoppingClientEndsOpenAndOpeningConnections() async throws {
        var server = try await TransportTrial.server()
        var client = try await TransportTrial.client(limits: .lingering)
        let open = try await client.open(server.transport.port)
        _ = try await server.opened()
        // A socket that listens and never answers, so that the request waits.
        let silent = try QuietListener()
        let opening = client.transport.connect(to: .local(UInt16(silent.port)))
        await client.stop()
        var ends: [ConnectionID: DisconnectReason] = [:]
        for _ in 0..<2 {
            let event = await client.next()
            guard case .closed(let id, let end) = event else { throw UnexpectedEvent(event) }
            ends[id] = end
        }
        #expect(
            ends == [open: .closedLocally(.goingAway, reason: ""), opening: .closedLocally(.goingAway, reason: "")]
        )
        let there = try await server.ended()
        #expect(there == .closedByPeer(.goingAway, reason: ""))
        await server.stop()
    }

    @Test func aStoppingServerSendsACloseFrame() async throws {
        var server = try await TransportTrial.server(limits: .lingering)
        var client = try await TransportTrial.client()
        for _ in 0..<3 { _ = try await client.open(server.transport.port) }
        for _ in 0..<3 { _ = try await server.opened() }
        await server.stop()
        for _ in 0..<3 {
            let end = try await client.ended()
            #expect(end == .closedByPeer(.goingAway, reason: ""))
            let there = try await server.ended()
            #expect(there == .closedLocally(.goingAway, reason: ""))
        }
        await client.stop()
    }
}

extension TransportLimits {
    /// Limits with enough time to say goodbye to every peer, however slow the machine is.
    static var lingering: TransportLimits {
        var limits = TransportLimits.unhurried
        limits.closeTimeoutSeconds = 60
        return limits
    }

    static var roomy: TransportLimits {
        var limits = TransportLimits.patient
        limits.waitingBytes = 8 << 20
        return limits
    }
}
