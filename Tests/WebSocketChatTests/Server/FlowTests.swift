import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct FlowTests {
    private static var roomy: TransportLimits {
        var limits = TransportLimits()
        limits.waitingBytes = 256 << 20
        limits.allWaitingBytes = 256 << 20
        return limits
    }

    @Test func aConnectionIsReadOnlyUpToItsWindow() async throws {
        let intake = FakeIntake()
        try await ServerTrial.with(intake: intake) {
            $0.connectionWindow = 10
        } _: { trial in
            try await ChatClients.with(Self.roomy) { clients in
                let (one, two) = (try await clients.open(trial.port), try await clients.open(trial.port))
                for number in 0..<1_000 { one.send("1.\(number)") }
                await intake.untilTaken(10)
                // The other client's messages make the thread run passes in which the first one's could be read.
                for number in 0..<5 {
                    two.send("2.\(number)")
                    await intake.untilTaken(11 + number)
                }
                #expect(intake.originals.filter { $0.hasPrefix("1.") } == (0..<10).map { "1.\($0)" })
                let first = intake.taken.filter { $0.arrival.original.text?.hasPrefix("1.") == true }
                for taken in first.prefix(4) { taken.settle() }
                for number in 5..<9 {
                    two.send("2.\(number)")
                    await intake.untilTaken(11 + number)
                }
                #expect(intake.taken.count == 19)
                // With the fifth outcome, half of the window is free.
                first[4].settle()
                await intake.untilTaken(24)
                two.send("2.9")
                await intake.untilTaken(25)
                #expect(intake.originals.filter { $0.hasPrefix("1.") } == (0..<15).map { "1.\($0)" })
            }
            intake.handleAll()
        }
    }

    @Test func aFullIntakePausesReadingWithoutLoss() async throws {
        let intake = FakeIntake(room: 3)
        try await ServerTrial.with(intake: intake) {
            $0.connectionWindow = 10_000
        } _: { trial in
            try await ChatClients.with(Self.roomy) { clients in
                let one = try await clients.open(trial.port)
                let count = 5_000
                for number in 0..<count { one.send("\(number)") }
                await intake.untilTaken(3)
                await intake.waitForRoomRequest()
                for _ in 0..<50 { intake.makeRoom(100) }
                await intake.untilTaken(count)
                #expect(intake.originals == (0..<count).map { "\($0)" })
            }
            intake.handleAll()
        }
    }

    /// One plugin serves both clients, one message at a time. The flooder never stops and takes no answers; the other
    /// client always has messages waiting. Between two of its messages, at most a few of the flooder's windows are
    /// handled, however long the flood is.
    @Test func aFloodDoesNotStarveAnotherClient() async throws {
        let window = 16
        let handled = EventList<Bool>()
        let gate = Gate()
        try await ServerTrial.supervised { configuration in
            configuration.connectionWindow = window
        } register: { supervisor in
            try supervisor.register(
                Registration("work", as: Bool.self, from: .source("chat"), options: PluginOptions(maxConcurrent: 1)) {
                    isFlood,
                    _ in
                    await gate.pass()
                    handled.append(isFlood)
                }
            )
        } _: { trial, _ in
            try await ChatClients.with(Self.roomy) { clients in
                let (flooder, other) = (try await clients.open(trial.port), try await trial.rawPeer())
                for _ in 0..<20_000 { flooder.send(#"{"action":"work","body":true}"#) }
                // The system buffers all of it before the first message is handled, so no test thread can delay it.
                let frame = RawPeer.frame(0x81, Array(#"{"action":"work","body":false}"#.utf8))
                other.write(Array(repeatElement(frame, count: 400).joined()))
                gate.open()
                let all = await handled.wait { $0.count { !$0 } == 400 }
                var run = 0
                var longest = 0
                var others = 0
                for isFlood in all {
                    if isFlood {
                        run += 1
                    } else {
                        // The wait before the first message of the other client does not count.
                        if others > 0 { longest = max(longest, run) }
                        others += 1
                        run = 0
                    }
                }
                #expect(longest <= 8 * window, "\(longest) messages of the flooder between two of the other client")
                #expect(others == 400)
                withExtendedLifetime(other) {}
            }
        }
    }

    @Test func aSlowReaderIsClosedWithoutAffectingOthers() async throws {
        try await ServerTrial.supervised { configuration in
            configuration.waitingBytes = 65_536
        } register: { supervisor in
            try supervisor.register(
                Registration("join", as: RawBody.self, from: .source("chat")) { _, context in
                    context.chat?.join("all")
                    return
                }
            )
        } _: { trial, _ in
            try await ChatClients.with(Self.roomy) { clients in
                let slow = try await trial.rawPeer()
                slow.frame(0x81, Array(#"{"action":"join"}"#.utf8))
                let quick = try await clients.open(trial.port)
                quick.send(#"{"action":"join","id":"1"}"#)
                await quick.texts(1)
                while !Task.isCancelled, trial.server.broadcast("ping", Bytes("0"), to: "all").sent < 2 {
                    await Task.yield()
                }
                let body = Bytes("\"" + String(repeating: "x", count: 60_000) + "\"")
                var sent = 0
                while !Task.isCancelled {
                    sent += 1
                    let received = quick.textsSoFar.count
                    #expect(trial.server.broadcast("news", body, to: "all").sent >= 1)
                    if trial.server.counts.slowReaders > 0 || sent > 5_000 { break }
                    await quick.texts(received + 1)
                }
                // The slow reader receives the reason if it reads within a few seconds.
                let all = await slow.read { _ in false }
                #expect(all.suffix(20).elementsEqual([0x88, 0x12, 0x03, 0xF5] + Array("reads too slowly".utf8)))
                let report = trial.server.broadcast("last", Bytes("1"), to: "all")
                #expect(report.sent == 1 && report.refused == 0)
                #expect(
                    await quick.clients.events.wait { events in
                        events.contains {
                            if case .message(_, let bytes, _) = $0 {
                                bytes.starts(with: Array(#"{"action":"last""#.utf8))
                            } else {
                                false
                            }
                        }
                    }.isEmpty == false
                )
                #expect(trial.server.counts.slowReaders == 1)
                #expect(trial.log.all.contains { $0.contains("read too slowly") })
            }
        }
    }

    @Test func aFlooderThatReadsNoAnswersIsClosed() async throws {
        try await ServerTrial.supervised { configuration in
            configuration.waitingBytes = 65_536
        } register: { supervisor in
            try supervisor.register(Registration("echo", as: String.self, from: .source("chat")) { text, _ in text })
        } _: { trial, _ in
            try await ChatClients.with { clients in
                let flooder = try await trial.rawPeer()
                let other = try await clients.open(trial.port)
                let text = Array(#"{"action":"echo","id":"1","body":"\#(String(repeating: "x", count: 60))"}"#.utf8)
                var frame: [UInt8] = [0x81, 0x80 | UInt8(text.count), 0, 0, 0, 0]
                frame += text
                let block = Array(repeatElement(frame, count: 1_000).joined())
                let ends = EventList<Void>()
                let isOver: @Sendable () -> Bool = { trial.server.counts.slowReaders > 0 || !ends.all.isEmpty }
                async let flooding: Void = withCheckedContinuation { continuation in
                    flooder.writing(block, until: isOver) { continuation.resume() }
                }
                var received = 0
                while !Task.isCancelled, trial.server.counts.slowReaders == 0 {
                    other.send(#"{"action":"echo","id":"2","body":"y"}"#)
                    received += 1
                    await other.texts(received)
                }
                // After the time limit, a flooder that the server does not read would write endlessly.
                ends.append(())
                if Task.isCancelled { flooder.reset() }
                await flooding
                other.send(#"{"action":"echo","id":"2","body":"z"}"#)
                #expect(await other.texts(received + 1).last == #"{"id":"2","outcome":"handled","reply":"z"}"#)
                #expect(trial.server.counts.slowReaders == 1)
            }
        }
    }
}
