import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct FeedReadingTests {
    @Test func connectionsAreAnnouncedBeforeAndAfterTheirMessages() async throws {
        var server = try await TransportTrial.server()
        let port = server.transport.port
        let configuration = try WebSocketFeedConfiguration.test(port) { $0.announcesConnections = true }
        try await FeedTrial.run(configuration) { trial in
            let id = try await server.opened().0
            server.send("{\"action\":\"tick\"}", on: id)
            server.send("{\"action\":\"signalbox.closed\"}", on: id)
            server.transport.perform(.close(CloseCode(number: 4_001), reason: "enough"), on: id)
            let taken = await trial.intake.taken.first(5)
            let names = ["signalbox.connected", "tick", "malformed", "signalbox.closed", "signalbox.connected"]
            #expect(taken.map(\.name) == names)
            let connection = (taken[0].arrival.sender as? ChatConnection)?.id ?? "none"
            #expect(taken[0].text == "{\"connection\":\"\(connection)\",\"peer\":\"127.0.0.1:\(port)\"}")
            #expect(taken[3].text.hasSuffix(",\"reason\":\"enough\",\"code\":4001}"))
            #expect(taken[3].text.contains("\"\(connection)\""))
            #expect(!taken[4].text.contains("\"\(connection)\""))
        }
        await server.stop()
    }

    @Test func aFullWindowPausesReadingWithoutLoss() async throws {
        var server = try await TransportTrial.server(limits: .vast)
        let intake = RecordingIntake(room: 10)
        let count = 20_000
        try await FeedTrial.run(.test(server.transport.port), into: intake) { trial in
            let id = try await server.opened().0
            let filler = String(repeating: "x", count: 1_000)
            for number in 0..<count {
                let text = "{\"action\":\"a\",\"id\":\"\(number)\",\"body\":\"\(filler)\"}"
                #expect(server.transport.send(Array(text.utf8), .text, on: id) == .accepted)
            }
            for round in 1...20 {
                _ = await intake.roomCalls.first(round)
                #expect(intake.taken.all.count == 10 * round)
                intake.makeRoom(10)
            }
            intake.makeRoom(count)
            let taken = await intake.taken.first(count)
            #expect(taken.map { try? $0.arrival.reading.get().id.text } == (0..<count).map { "\($0)" })
        }
        await server.stop()
    }

    @Test func readingStopsAfterTheWindowAndOneBatch() async throws {
        var server = try await TransportTrial.server(.init(echoes: true), limits: .vast)
        var other = try await TransportTrial.client()
        let intake = RecordingIntake(room: 10)
        let trial = try FeedTrial(.test(server.transport.port), into: intake)
        try await trial.whileRunning {
            let id = try await server.opened().0
            for _ in 0..<20_000 { server.send("{\"action\":\"a\"}", on: id) }
            _ = await intake.roomCalls.first(1)
            // The messages of the other client make both threads run many passes.
            let otherID = try await other.open(server.transport.port)
            _ = try await server.opened()
            for _ in 0..<200 {
                #expect(other.transport.send([0x61], .text, on: otherID) == .accepted)
                _ = try await server.message()
                _ = try await other.message()
            }
            // A supervisor closes the intake before it cancels.
            intake.close()
        }
        await other.stop()
        #expect(intake.taken.all.count == 10)
        #expect(trial.feed.counts.notTaken <= ArrivalFeeder.batchMessages)
        await server.stop()
    }

    @Test func aMessageOverTheLimitEndsTheConnectionWith1009() async throws {
        var server = try await TransportTrial.server()
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) { $0.limits.bytes = 100 }
        try await FeedTrial.run(configuration) { trial in
            let id = try await server.opened().0
            server.send(String(repeating: " ", count: 101), on: id)
            #expect(try await server.ended() == .closedByPeer(.messageTooBig, reason: "at most 100 bytes"))
            #expect(await trial.names(1) == ["malformed"])
            await trial.waitForLog(": 1009")
            _ = try await server.opened()
        }
        await server.stop()
    }

    @Test func aFullSendQueueRefusesMessagesWithoutClosing() async throws {
        var server = try await TransportTrial.server(.init(pausesAt: 1))
        let configuration = try WebSocketFeedConfiguration.test(server.transport.port) { $0.waitingBytes = 4_096 }
        try await FeedTrial.run(configuration) { trial in
            _ = try await server.opened()
            await trial.waitForLog("connected to")
            let connection = try #require(trial.feed.connection)
            #expect(throws: SendRefused.tooLarge) { try connection.send(text: String(repeating: "a", count: 4_097)) }
            let text = String(repeating: "a", count: 4_000)
            var refusals = 0
            for _ in 0..<10_000_000 where refusals < 100 {
                do throws(SendRefused) {
                    try connection.send(text: text)
                    refusals = 0
                } catch {
                    #expect(error == .full)
                    refusals += 1
                }
            }
            #expect(refusals == 100)
            #expect(trial.feed.connection?.id == connection.id)
        }
        await server.stop()
    }

    @Test func sendingOnAClosedConnectionIsRefused() async throws {
        var server = try await TransportTrial.server()
        let trial = try FeedTrial(.test(server.transport.port))
        var connection: ChatConnection?
        try await trial.whileRunning {
            _ = try await server.opened()
            await trial.waitForLog("connected to")
            connection = trial.feed.connection
            try connection?.send("tick", id: ActionID("1"), body: Bytes("{}"))
            let message = try await server.message()
            #expect(String(decoding: message, as: UTF8.self) == "{\"action\":\"tick\",\"id\":\"1\",\"body\":{}}")
        }
        let gone = try #require(connection)
        #expect(throws: SendRefused.closed) { try gone.send(text: "late") }
        await server.stop()
    }
}

extension TransportLimits {
    /// Limits that leave it to the tests to bound the waiting bytes.
    fileprivate static var vast: TransportLimits {
        var limits = TransportLimits()
        limits.waitingBytes = 64 << 20
        limits.pingAfter = 0
        return limits
    }
}
