import ArgumentParser
import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// `subscribe --retained-only` and `--remove-retained`.
@Suite(.timeLimit(.minutes(10))) struct RetainedMessageTests {
    private func subscribe(_ broker: Broker, _ arguments: String...) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(["subscribe", broker.url, "--topic", "#", "--verbose"] + arguments)
    }

    /// Publishes messages that the broker retains, with the texts `1` to `count`.
    private func retain(_ count: Int, at broker: Broker) async throws {
        for number in 1...count { try await broker.publish("\(number)", to: "state/\(number)", retain: true) }
    }

    /// There are more messages than the broker sends without an acknowledgement.
    @Test func allRetainedMessagesAreShownAndThenDeleted() async throws {
        try await Broker.with { broker in
            try await retain(300, at: broker)
            let expected = Set((1...300).map { "state/\($0) \($0)" })
            let shown = try await subscribe(broker, "--retained-only", "--remove-retained")
            #expect(shown.status == 0)
            #expect(Set(shown.output) == expected && shown.output.count == 300)
            #expect(shown.errors == ["signalbox: retained messages deleted: 300"])
            let none = try await subscribe(broker, "--retained-only", "--retained-wait", "100ms")
            #expect(none.status == 0 && none.output.isEmpty && none.errors.isEmpty)
        }
    }

    @Test func freshMessagesAreNeitherShownNorCountedNorTheEnd() async throws {
        try await Broker.with { broker in
            try await retain(2, at: broker)
            let process = try CommandProcess([
                "subscribe", broker.url, "-t", "#", "-v", "--retained-only", "--retained-wait", "1h", "--count", "3",
                "--timeout", "5m",
            ])
            #expect(await process.output.line(with: "state/2 2") != nil)
            for _ in 0..<3 { try await broker.publish("fresh", to: "state/1") }
            process.signal(SIGINT)
            #expect(await process.status() == CommandStatus.interrupted.rawValue)
            #expect(await process.output.rest().isEmpty)
            #expect(await process.errors.rest() == ["signalbox: ended by a signal: 2 of 3 messages received"])
        }
    }

    @Test func tooFewRetainedMessagesAreReported() async throws {
        try await Broker.with { broker in
            try await retain(2, at: broker)
            let finished = try await subscribe(broker, "--retained-only", "--count", "3")
            #expect(finished.status == CommandStatus.notAsExpected.rawValue)
            #expect(finished.errors == ["signalbox: no more messages arrived: 2 of 3 messages received"])
        }
    }

    @Test func excludedMessagesAreKept() async throws {
        try await Broker.with { broker in
            try await retain(3, at: broker)
            let finished = try await subscribe(
                broker,
                "--retained-only",
                "--remove-retained",
                "--exclude",
                "state/2",
                "--id",
                "cleaner"
            )
            #expect(finished.status == 0 && finished.output == ["state/1 1", "state/3 3"])
            let left = try await subscribe(broker, "--retained-only")
            #expect(left.output == ["state/2 2"])
        }
    }

    @Test func aRefusedDeletionHasItsOwnStatus() async throws {
        var options = BrokerOptions()
        options.access = ["topic read #", "topic write state/1"]
        try await Broker.with(options) { broker in
            try await retain(2, at: broker)
            let finished = try await subscribe(broker, "--retained-only", "--remove-retained")
            #expect(finished.status == CommandStatus.refused.rawValue)
            #expect(finished.output.count == 2)
            // mosquitto 2.0.11 may also close the connection whose message it has refused.
            let reports = finished.errors.suffix(2)
            #expect(reports.first == "signalbox: retained messages deleted: 1")
            #expect(reports.last?.hasPrefix("signalbox: retained messages not deleted: 1: ") == true)
        }
    }

    @Test(arguments: [
        ["--retained-wait", "1s"], ["--retained-only", "--retained", "ignore"], ["--remove-retained", "--share", "g"],
        ["--retained-only", "--keep-session", "--id", "i"],
    ])
    func conflictingOptionsAreRefused(options: [String]) {
        #expect(throws: (any Error).self) {
            try SignalboxTool.parseAsRoot(["subscribe", "mqtt://127.0.0.1", "-t", "a"] + options)
        }
    }

    @Test func overlappingTopicsShowAndDeleteAMessageTwice() async throws {
        try await Broker.with { broker in
            try await retain(2, at: broker)
            let finished = try await subscribe(broker, "--topic", "state/+", "--retained-only", "--remove-retained")
            #expect(finished.status == 0 && finished.output.count == 4)
            #expect(finished.errors == ["signalbox: retained messages deleted: 4"])
            let left = try await subscribe(broker, "--retained-only", "--retained-wait", "100ms")
            #expect(left.output.isEmpty)
        }
    }
}

@Suite struct QuietPeriodTests {
    private let start = ContinuousClock.now

    @Test func thePeriodStartsWithTheConnectionAndEachMessage() {
        let quiet = QuietPeriod(.seconds(10))
        #expect(quiet.check(at: start + .seconds(60), readySince: nil) != nil && !quiet.isOver)
        #expect(quiet.check(at: start + .seconds(9), readySince: start) == start + .seconds(10))
        quiet.begin()
        quiet.end(at: start + .seconds(9))
        #expect(quiet.check(at: start + .seconds(18), readySince: start) == start + .seconds(19) && !quiet.isOver)
        #expect(quiet.check(at: start + .seconds(19), readySince: start + .seconds(15)) != nil && !quiet.isOver)
        #expect(quiet.check(at: start + .seconds(19), readySince: start) == nil && quiet.isOver)
    }

    @Test func handlingAMessageIsNotQuietTime() {
        let quiet = QuietPeriod(.seconds(10))
        quiet.begin()
        #expect(quiet.check(at: start + .seconds(60), readySince: start) != nil && !quiet.isOver)
        quiet.end(at: start + .seconds(60))
        #expect(quiet.check(at: start + .seconds(69), readySince: start) == start + .seconds(70))
        #expect(quiet.check(at: start + .seconds(70), readySince: start) == nil && quiet.isOver)
    }
}
