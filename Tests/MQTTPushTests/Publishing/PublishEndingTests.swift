import BrokerKit
import MQTTPush
import SignalboxCore
import SignalboxTesting
import Testing

/// No publish waits for ever, and each ends in a way that says whether it may have been published.
@Suite(.timeLimit(.minutes(10)))
struct PublishEndingTests {
    @Test func withoutAConnectionThePublishTimeoutEndsIt() async throws {
        var configuration = try MQTTPublisherConfiguration.test(port: 1)
        configuration.publishTimeout = .milliseconds(20)
        let trial = try PublisherTrial(configuration)
        let error = await publishError { try await trial.publisher.publish(MQTTMessage("", to: "a")) }
        #expect(error?.code == .timeout && error?.detail.contains("was not published") == true)
        #expect(trial.publisher.counts.waiting == 0 && trial.publisher.counts.failed == 1)
    }

    @Test func aBrokerThatDoesNotAcknowledgeIsLeftAndTheMessageSentAgain() async throws {
        // Under load one or another attempt may not be greeted in time.
        let broker = try FakeBroker(Array(repeating: [FakeAnswers.connected], count: 10_000))
        defer { broker.close() }
        var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
        configuration.answerTimeout = .seconds(1)
        configuration.stopTimeout = .zero
        try await PublisherTrial.run(configuration) { trial in
            try trial.publisher.offer(MQTTMessage("", to: "a"))
            _ = await trial.log.line(containing: "does not answer")
            while !Task.isCancelled, trial.publisher.counts.sentAgain == 0 { await Task.yield() }
        }
    }

    @Test func whatWasAcknowledgedBeforeADisconnectIsNotSentAgain() async throws {
        let acknowledged: [UInt8] = [0x40, 0x02, 0x00, 0x01]
        let shuttingDown: [UInt8] = [0xE0, 0x02, 0x8B, 0x00]
        let answers = [FakeAnswers.connected, acknowledged + shuttingDown]
        let broker = try FakeBroker([answers] + Array(repeating: [FakeAnswers.connected], count: 100))
        defer { broker.close() }
        var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
        configuration.stopTimeout = .zero
        try await PublisherTrial.run(configuration) { trial in
            try await trial.publisher.publish(MQTTMessage("", to: "a"))
            _ = await trial.log.line(containing: "ended the connection")
            _ = await trial.log.line(containing: "the publisher is connected", times: 2)
            #expect(trial.publisher.counts.published == 1 && trial.publisher.counts.sentAgain == 0)
        }
    }

    @Test func aCallerThatIsCancelledHearsWhetherItsMessageWasSent() async throws {
        let trial = try PublisherTrial(.test(port: 1))
        let waiting = Task { await publishError { try await trial.publisher.publish(MQTTMessage("", to: "a")) } }
        waiting.cancel()
        #expect(await waiting.value?.code == .cancelled)
        #expect(trial.publisher.counts.waiting == 0)
    }

    @Test func aStopEndsWhatCannotBeSent() async throws {
        let trial = try PublisherTrial(.test(port: 1))
        let waiting = Task { await publishError { try await trial.publisher.publish(MQTTMessage("", to: "a")) } }
        let running = Task { try await trial.publisher.run() }
        _ = await trial.log.line(containing: "next try in")
        try trial.publisher.offer(MQTTMessage("", to: "b"))
        while !Task.isCancelled, trial.publisher.counts.waiting < 2 { await Task.yield() }
        running.cancel()
        try await running.value
        #expect(await waiting.value?.code == .stopped)
        #expect(trial.publisher.counts.stopped == 2 && trial.publisher.counts.waiting == 0)
        let late = await publishError { try trial.publisher.offer(MQTTMessage("", to: "c")) }
        #expect(late?.code == .stopped)
    }

    @Test func aStopSendsWhatIsQueued() async throws {
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, [try MQTTTopic("open/{action}")])) { receiving in
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    for _ in 0..<300 { try trial.publisher.offer(MQTTMessage("{}", to: "open/log")) }
                }
                #expect(await receiving.arrivals(300).count == 300)
            }
        }
    }

    @Test func aRunFollowsARunAndTwoAtOnceAreRefused() async throws {
        try await Broker.with { broker in
            let trial = try PublisherTrial(.test(port: broker.port))
            for number in 1...2 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await trial.publisher.run() }
                    _ = await trial.log.line(containing: "the publisher is connected", times: number)
                    await #expect(throws: MQTTPushError.self) { try await trial.publisher.run() }
                    try await trial.publisher.publish(MQTTMessage("", to: "a"))
                    group.cancelAll()
                    try await group.waitForAll()
                }
            }
            #expect(trial.publisher.counts.published == 2)
        }
    }

    @Test func anExpiredMessageIsNotSent() async throws {
        try await Broker.with { broker in
            let trial = try PublisherTrial(.test(port: broker.port))
            var message = MQTTMessage("", to: "a")
            message.expiry = .nanoseconds(1)
            try trial.publisher.offer(message)
            let running = Task { try await trial.publisher.run() }
            _ = await trial.log.line(containing: "expiry was over")
            running.cancel()
            try await running.value
            #expect(trial.publisher.counts.failed == 1 && trial.publisher.counts.published == 0)
        }
    }

    @Test func aFirstConnectionThatMustSucceedEndsTheRun() async throws {
        var configuration = try MQTTPublisherConfiguration.test(port: 1)
        configuration.firstConnectionMustSucceed = true
        let trial = try PublisherTrial(configuration)
        await #expect(throws: MQTTPushError.self) { try await trial.publisher.run() }
    }

    @Test(arguments: MQTTVersion.allCases)
    func aBrokerThatRefusesTheConnectionIsNamedWithItsReason(version: MQTTVersion) async throws {
        try await Broker.with(BrokerOptions(users: ["alice": "right"])) { broker in
            var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
            configuration.version = version
            configuration.username = .text("alice")
            configuration.password = .text("wrong")
            try await PublisherTrial.run(configuration, connected: false) { trial in
                let line = await trial.log.line(containing: "refused the connection")
                #expect(line.contains("not authorized (135)") && line.hasPrefix("error "))
                #expect(!trial.log.all.contains { $0.contains("is connected") || $0.contains("wrong") })
            }
        }
    }

    @Test func theRightPasswordIsTaken() async throws {
        try await Broker.with(BrokerOptions(users: ["alice": "right"])) { broker in
            var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
            configuration.username = .text("alice")
            configuration.password = .text("right")
            try await PublisherTrial.run(configuration) { trial in
                try await trial.publisher.publish(MQTTMessage("", to: "a"))
            }
        }
    }
}
