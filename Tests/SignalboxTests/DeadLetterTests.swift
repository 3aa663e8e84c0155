import Signalbox
import SignalboxCore
import SignalboxTesting
import Testing

@Suite struct DeadLetterTests {
    @Test func theStoreDropsTheOldestBeyondItsCountAndCountsThem() async throws {
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

    @Test func theStoreDropsTheOldestBeyondItsBytes() async throws {
        let size = message("nobody", id: "0").utf8.count
        let supervisor = Supervisor.make { $0.deadLetters = DeadLetterLimits(bytes: size * 2 + 1) }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await intake.deliver(arrivals((0..<5).map { message("nobody", id: "\($0)") }))
        }
        #expect(supervisor.deadLetters.letters.map { $0.id?.text } == ["3", "4"])
    }

    @Test func aLetterLargerThanTheWholeStoreIsCountedAsDropped() async throws {
        let supervisor = Supervisor.make { $0.deadLetters = DeadLetterLimits(bytes: 4) }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals(["not json"])) }
        #expect(supervisor.deadLetters.letters.isEmpty)
        #expect(supervisor.deadLetters.dropped == 1)
    }

    @Test func aLetterLargerThanTheWholeStoreDrivesOutNoOther() async throws {
        let supervisor = Supervisor.make { $0.deadLetters = DeadLetterLimits(bytes: 20) }
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning {
            _ = await intake.deliver(arrivals(["small", String(repeating: "large", count: 5), "small too"]))
        }
        #expect(supervisor.deadLetters.letters.map { $0.original.text } == ["small", "small too"])
        #expect(supervisor.deadLetters.total == 3)
        #expect(supervisor.deadLetters.dropped == 1)
    }

    @Test func aLetterKeepsFactsAndTime() async throws {
        let supervisor = Supervisor.make()
        let intake = try supervisor.intake(for: "push")
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals(label: "here", ["{"])) }
        let letter = try #require(supervisor.deadLetters.letters.first)
        #expect(letter.facts as? TestFacts == TestFacts(label: "here"))
        #expect(letter.receivedAt == WallTime(seconds: 1_000))
        #expect(letter.action == nil)
    }
}
