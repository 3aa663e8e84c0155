import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import struct Signalbox.CountReport

@Suite struct DeadLetterTests {
    @Test func theCountLimitDropsTheOldestLetters() async throws {
        let supervisor = Supervisor.make { $0.deadLetters = DeadLetterLimits(count: 3) }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await intake.deliver(arrivals((0..<10).map { message("nobody", id: "\($0)") }))
        }
        #expect(supervisor.deadLetters.letters.map { $0.id?.text } == ["7", "8", "9"])
        #expect(supervisor.deadLetters.total == 10)
        #expect(supervisor.deadLetters.dropped == 7)
        #expect(supervisor.report.deadLettersDropped == 7)
    }

    @Test func theByteLimitDropsTheOldestLetters() async throws {
        let size = message("nobody", id: "0").utf8.count
        let supervisor = Supervisor.make { $0.deadLetters = DeadLetterLimits(bytes: size * 2 + 1) }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await intake.deliver(arrivals((0..<5).map { message("nobody", id: "\($0)") }))
        }
        #expect(supervisor.deadLetters.letters.map { $0.id?.text } == ["3", "4"])
    }

    @Test func anOversizedLetterIsCountedAsDropped() async throws {
        let supervisor = Supervisor.make { $0.deadLetters = DeadLetterLimits(bytes: 4) }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals(["not json"])) }
        #expect(supervisor.deadLetters.letters.isEmpty)
        #expect(supervisor.deadLetters.dropped == 1)
    }

    @Test func anOversizedLetterEvictsNoOther() async throws {
        let supervisor = Supervisor.make { $0.deadLetters = DeadLetterLimits(bytes: 20) }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await intake.deliver(arrivals(["small", String(repeating: "large", count: 5), "small too"]))
        }
        #expect(supervisor.deadLetters.letters.map { $0.original.text } == ["small", "small too"])
        #expect(supervisor.deadLetters.total == 3)
        #expect(supervisor.deadLetters.dropped == 1)
    }

    @Test func aLetterRecordsFactsAndReceiptTime() async throws {
        let supervisor = Supervisor.make()
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals(label: "here", ["{"])) }
        let letter = try #require(supervisor.deadLetters.letters.first)
        #expect(letter.facts as? TestFacts == TestFacts(label: "here"))
        #expect(letter.receivedAt == WallTime(seconds: 1_000))
        #expect(letter.action == nil)
    }
}

@Suite(.timeLimit(.minutes(10))) struct DeadLetterStreamTests {
    private static func unknown(_ ids: Range<Int>) -> [Arrival] {
        arrivals(ids.map { message("nobody", id: "\($0)") })
    }

    private static func ids(_ stream: AsyncStream<DeadLetter>) async -> [String] {
        await stream.reduce(into: []) { $0.append($1.id?.text ?? "") }
    }

    @Test func aStreamDeliversLaterLettersUntilTheRunEnds() async throws {
        let supervisor = Supervisor.make()
        let intake = try supervisor.intake(for: "push")
        let first = supervisor.deadLetters.stream()
        try await supervisor.whileRunning {
            _ = await intake.deliver(Self.unknown(0..<2))
            let second = supervisor.deadLetters.stream()
            async let received = Self.ids(second)
            _ = await intake.deliver(Self.unknown(2..<4))
            supervisor.shutDown()
            #expect(await received == ["2", "3"])
        }
        #expect(await Self.ids(first) == ["0", "1", "2", "3"])
        #expect(await Self.ids(supervisor.deadLetters.stream()) == [])
        #expect(supervisor.deadLetters.undelivered == 0)
    }

    @Test func aSlowListenerLosesTheOldestLetters() async throws {
        let supervisor = Supervisor.make { $0.deadLetters = DeadLetterLimits(count: 1) }
        let intake = try supervisor.intake(for: "push")
        let (slow, roomy) = (supervisor.deadLetters.stream(limit: 2), supervisor.deadLetters.stream())
        try await supervisor.whileRunning { _ = await intake.deliver(Self.unknown(0..<5)) }
        #expect(await Self.ids(slow) == ["3", "4"])
        #expect(await Self.ids(roomy) == ["0", "1", "2", "3", "4"])
        #expect(supervisor.deadLetters.undelivered == 3)
    }

    @Test func anEndedStreamCountsNoUndeliveredLetters() async throws {
        let supervisor = Supervisor.make()
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            do {
                let gone = supervisor.deadLetters.stream(limit: 1)
                async let _ = intake.deliver(Self.unknown(0..<1))
                for await _ in gone { break }
            }
            _ = await intake.deliver(Self.unknown(1..<4))
        }
        #expect(supervisor.deadLetters.undelivered == 0)
    }

    @Test func aLetterRecordsTheNumberOfAttempts() async throws {
        let supervisor = Supervisor.make()
        try supervisor.register(
            Registration("breaks", as: Empty.self, from: .source("push")) { _, _ in throw Broken() }
        )
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("breaks")])) }
        #expect(supervisor.deadLetters.letters.map(\.attempts) == [1])
    }

    @Test func dropsAreReportedOncePerMinuteAndAtTheEnd() async throws {
        let (clock, log) = (ManualClock(), EventList<String>())
        var configuration = SupervisorConfiguration()
        configuration.deadLetters = DeadLetterLimits(count: 1)
        let logger = Logger(label: "test") { _ in RecordingLog(log) }
        let supervisor = Supervisor(configuration: configuration, logger: logger, clock: clock)
        let intake = try supervisor.intake(for: "push")
        func reported() -> [String] { log.all.filter { $0.contains("dead letters were dropped") } }
        try await supervisor.whileRunning {
            _ = await intake.deliver(Self.unknown(0..<1))
            await clock.tick(1)
            #expect(reported().isEmpty)
            _ = await intake.deliver(Self.unknown(1..<5))
            await clock.tick(1)
            #expect(reported().count == 1)
            #expect(reported().last?.hasPrefix("warning") == true && reported().last?.contains("dropped=4 ") == true)
            _ = await intake.deliver(Self.unknown(5..<7))
            await clock.tick(599)
            #expect(reported().count == 1)
            await clock.tick(1)
            #expect(reported().count == 2)
            #expect(reported().last?.contains("dropped=2 droppedTotal=6") == true)
            await clock.tick(1_000)
            #expect(reported().count == 2)
            _ = await intake.deliver(Self.unknown(7..<8))
            await clock.tick(1)
            _ = await intake.deliver(Self.unknown(8..<9))
        }
        #expect(reported().count == 4)
        #expect(reported().last?.contains("dropped=1 droppedTotal=8") == true)
    }

    @Test func aReportIncludesEachCountOnce() {
        var report = CountReport(ticksBetweenLines: 10)
        #expect(report.take(of: 0, at: 1) == 0)
        #expect(report.take(of: 3, at: 2) == 3)
        #expect(report.take(of: 3, at: 20) == 0)
        #expect(report.take(of: 5, at: 21) == 2)
        #expect(report.take(of: 6, at: 30) == 0)
        #expect(report.take(of: 7, at: nil) == 2)
        #expect(report.take(of: 7, at: nil) == 0)
    }
}
