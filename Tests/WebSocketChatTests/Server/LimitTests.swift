import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct LimitTests {
    @Test func aConnectionWithoutMessagesIsClosed() async throws {
        try await ServerTrial.with {
            $0.idleTimeout = .seconds(1)
        } _: { trial in
            try await ChatClients.with { clients in
                let idle = try await clients.open(trial.port)
                #expect(await idle.ended() == .closedByPeer(.goingAway, reason: "no message for 1.0 seconds"))
                #expect(trial.server.counts.idle == 1)
            }
        }
    }

    @Test func anUnfinishedMessageIsCutOff() async throws {
        try await ServerTrial.with {
            $0.messageTimeout = .seconds(1)
        } _: { trial in
            let endless = try await trial.rawPeer()
            endless.frame(0x01, Array("{".utf8))
            let all = await endless.read { Self.closeCode($0) != nil }
            #expect(Self.closeCode(all) == 1008)
            #expect(trial.server.counts.unfinished == 1)
        }
    }

    @Test func endlessEmptyFragmentsAreTooBig() async throws {
        let intake = FakeIntake.handling()
        try await ServerTrial.with(intake: intake) { trial in
            let endless = try await trial.rawPeer()
            endless.frame(0x01, [])
            for _ in 0..<2_000 { endless.frame(0x00, []) }
            let all = await endless.read { Self.closeCode($0) != nil }
            #expect(Self.closeCode(all) == 1009)
            #expect(trial.server.counts.tooBig == 1)
            #expect(intake.taken.first?.arrival.failure?.bodyError?.code == .tooLarge)
        }
    }

    @Test func theLimitIsExactForOneFrameOrMany() async throws {
        let intake = FakeIntake.handling()
        try await ServerTrial.with(intake: intake) {
            $0.limits = MessageLimits(bytes: 100)
        } _: { trial in
            for pieces in [[100], [50, 50], [101], [50, 51], [100, 0, 1]] {
                let peer = try await trial.rawPeer()
                for (index, count) in pieces.enumerated() {
                    let isFinal = index == pieces.count - 1
                    peer.frame((isFinal ? 0x80 : 0) | (index == 0 ? 1 : 0), Array(repeating: 0x20, count: count))
                }
                let isTooBig = pieces.reduce(0, +) > 100
                if !isTooBig { peer.frame(0x88, [0x03, 0xE8]) }
                let all = await peer.read { Self.closeCode($0) != nil }
                #expect(Self.closeCode(all) == (isTooBig ? 1009 : 1000), "\(pieces)")
            }
            #expect(trial.server.counts.tooBig == 3)
            #expect(intake.taken.map { $0.arrival.originalLength } == [100, 100, 100, 100, 100])
        }
    }

    @Test func binaryAndInvalidFramesAreRefused() async throws {
        let intake = FakeIntake.handling()
        try await ServerTrial.with(intake: intake) { trial in
            for (head, payload, code) in [
                (0x82, [1, 2, 3], 1003), (0x81, [0xFF], 1007), (0x81, [0x22, 0xED, 0xA0, 0x80, 0x22], 1007),
                (0x83, [], 1002), (0xF1, [], 1002),
                (0x80, [], 1002),
            ] as [(UInt8, [UInt8], Int)] {
                let peer = try await trial.rawPeer()
                peer.frame(head, payload)
                #expect(Self.closeCode(await peer.read { Self.closeCode($0) != nil }) == code, "\(head) \(payload)")
            }
            while !Task.isCancelled, trial.server.counts.open > 0 { await Task.yield() }
            #expect(trial.server.counts.unacceptable == 1)
            #expect(trial.server.counts.protocolViolations == 5)
            #expect(intake.taken.count == 1)
            #expect(trial.log.all.contains { $0.contains("violated the WebSocket protocol") })
        }
    }

    @Test func aVanishedPeerIsCountedAsLost() async throws {
        try await ServerTrial.with { trial in
            let peer = try await trial.rawPeer()
            while !Task.isCancelled, trial.server.counts.opened == 0 { await Task.yield() }
            peer.reset()
            while !Task.isCancelled, trial.server.counts.open == 1 { await Task.yield() }
            #expect(trial.server.counts.lost == 1)
        }
    }

    /// Returns the code of the close frame among complete frames.
    static func closeCode(_ all: [UInt8]) -> Int? {
        var rest = all[...]
        while rest.count >= 2, let first = rest.first {
            let count = Int(rest[rest.startIndex + 1])
            guard first == 0x88 else {
                rest = rest.dropFirst(2 + count)
                continue
            }
            let payload = Array(rest.dropFirst(2))
            return payload.count >= max(2, count) ? Int(payload[0]) << 8 | Int(payload[1]) : nil
        }
        return nil
    }
}

@Suite struct ServerConnectionTests {
    private let feeding = Feeding()
    private let start = ContinuousClock.now

    private func make() -> ServerConnection {
        ServerConnection(feeding.connection(), facts: ChatFacts(role: .server, peer: ""), at: start)
    }

    private func read(_ text: String, on connection: ServerConnection, isFirst: Bool = true, isFinal: Bool = true) {
        _ = feeding.read(Array(text.utf8), on: connection.inbound, isFirst: isFirst, isFinal: isFinal)
        connection.pieceReceived()
    }

    private func look(at connection: ServerConnection, _ seconds: Int) -> [Duration] {
        let (quiet, unfinished) = connection.elapsed(at: start + .seconds(seconds))
        return [quiet, unfinished]
    }

    @Test func quietTimeEndsWithAWholeMessage() {
        let one = make()
        #expect(look(at: one, 5) == [.seconds(5), .zero])
        read("1", on: one)
        #expect(look(at: one, 6) == [.zero, .zero])
        #expect(look(at: one, 8) == [.seconds(2), .zero])
        // A piece is not a message.
        read("[", on: one, isFinal: false)
        #expect(look(at: one, 9) == [.seconds(3), .zero])
    }

    @Test func anUnfinishedMessageIsTimedFromTheFirstCheck() {
        let one = make()
        read("[", on: one, isFinal: false)
        #expect(look(at: one, 1)[1] == .zero)
        read("1", on: one, isFirst: false, isFinal: false)
        #expect(look(at: one, 31)[1] == .seconds(30))
        read("]", on: one, isFirst: false)
        #expect(look(at: one, 32)[1] == .zero)
        // A message that begins between two checks differs from the one before.
        read("[", on: one, isFinal: false)
        #expect(look(at: one, 40)[1] == .zero)
        read("]", on: one, isFirst: false)
        read("[", on: one, isFinal: false)
        #expect(look(at: one, 50)[1] == .zero)
        #expect(look(at: one, 55)[1] == .seconds(5))
    }

    @Test func pausedTimeDoesNotCount() {
        let one = make()
        read("1", on: one)
        read("[", on: one, isFinal: false)
        one.inbound.flow.pause(.backpressure)
        #expect(look(at: one, 100) == [.zero, .zero])
        #expect(look(at: one, 200) == [.zero, .zero])
        one.inbound.flow.unpause(.backpressure)
        #expect(look(at: one, 210) == [.seconds(10), .seconds(10)])
    }
}
