import BrokerKit
import Logging
import MQTTPush
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// A source that answers the requests of a publisher.
@Suite(.timeLimit(.minutes(10)))
struct RequestTests {
    /// Echoes a message's bytes as the reply, and rejects the action `no`.
    private static func echo() -> RecordingIntake {
        RecordingIntake { taken in
            guard taken.name == "no" else { return taken.echo() }
            taken.settle(.rejected(Outcome.Rejection(.unknownAction, detail: "no plugin")))
        }
    }

    @Test func aCallReturnsTheReplyAndItsOutcome() async throws {
        try await Broker.withRules { broker in
            try await PushTrial.run(try .answering(broker), into: Self.echo()) { _ in
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    let reply = try await trial.publisher.call(
                        "echo",
                        topic: "open/{action}/{id}",
                        body: Bytes(#"{"n":1}"#),
                        timeout: .seconds(300)
                    )
                    #expect(reply.outcome == "handled" && reply.contentType == "application/json")
                    #expect(reply.text?.hasSuffix(#","outcome":"handled","reply":{"n":1}}"#) == true)
                    #expect(reply.text?.hasPrefix(#"{"id":""#) == true)
                    #expect(trial.publisher.counts.replies == 1)
                }
            }
        }
    }

    @Test func anErrorIsReturnedAsAReply() async throws {
        try await Broker.withRules { broker in
            try await PushTrial.run(try .answering(broker), into: Self.echo()) { _ in
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    let reply = try await trial.publisher.request(
                        MQTTMessage("{}", to: "open/no/7"),
                        timeout: .seconds(300)
                    )
                    #expect(reply.outcome == "rejected")
                    let text =
                        #"{"id":"7","outcome":"rejected","error":{"code":"unknownAction","message":"no plugin"}}"#
                    #expect(reply.text == text)
                }
            }
        }
    }

    @Test func concurrentCallersReceiveTheirOwnReplies() async throws {
        try await Broker.withRules { broker in
            try await PushTrial.run(try .answering(broker), into: Self.echo()) { _ in
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    try await withThrowingTaskGroup(of: Bool.self) { group in
                        for number in 0..<100 {
                            group.addTask {
                                let message = MQTTMessage("\(number)", to: "open/echo/\(number)")
                                let reply = try await trial.publisher.request(message, timeout: .seconds(300))
                                return reply.text == #"{"id":"\#(number)","outcome":"handled","reply":\#(number)}"#
                            }
                        }
                        for try await isOwn in group { #expect(isOwn) }
                    }
                }
            }
        }
    }

    @Test func aReplyToADisallowedTopicIsNotSent() async throws {
        try await Broker.with { broker in
            let configuration = try MQTTPushConfiguration.answering(broker, replyTopics: ["replies/#", "$SYS/#"])
            let intake = Self.echo()
            try await PushTrial.run(configuration, into: intake) { trial in
                let topics = ["doors/open", "$SYS/broker/x", "replies/" + String(repeating: "a", count: 1_100)]
                for (number, topic) in topics.enumerated() {
                    try await broker.publish(
                        Array("1".utf8),
                        to: "open/echo/\(number)",
                        properties: [["response-topic", topic]]
                    )
                }
                _ = await trial.arrivals(3)
                await trial.waitForLog("no allowed filter matches the response topic")
                await trial.waitForLog("replies to topics that begin with $ are never sent")
                await trial.waitForLog("the response topic is too long")
                #expect(trial.log.all.allSatisfy { $0.utf8.count < 1_000 })
            }
        }
    }

    @Test func aForgedReplyMatchesNoRequest() async throws {
        try await Broker.with { broker in
            let intake = RecordingIntake.holding()
            try await PushTrial.run(try .answering(broker), into: intake) { receiving in
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    async let reply = trial.publisher.request(
                        MQTTMessage("1", to: "open/echo/1"),
                        timeout: .seconds(300)
                    )
                    let arrival = await receiving.arrivals(1)[0]
                    let topic = try #require(arrival.pushFacts?.properties?.responseTopic)
                    // A responder in a shell can return text only.
                    let digits = try #require(arrival.pushFacts?.properties?.correlationData)
                    #expect(digits.count == 32 && digits.allSatisfy { Character(UnicodeScalar($0)).isHexDigit })
                    try await trial.publisher.publish(MQTTMessage("forged", to: topic))
                    var forged = MQTTMessage("forged", to: topic)
                    forged.correlation = [UInt8](repeating: 55, count: 32)
                    try await trial.publisher.publish(forged)
                    for taken in intake.taken.all { taken.settle(.handled(reply: Bytes("true"))) }
                    #expect(try await reply.text == #"{"id":"1","outcome":"handled","reply":true}"#)
                    #expect(trial.publisher.counts.unmatchedReplies == 2 && trial.publisher.counts.replies == 1)
                }
            }
        }
    }

    @Test func anUnansweredCallEndsAndItsLateReplyIsCounted() async throws {
        try await Broker.with { broker in
            let intake = RecordingIntake.holding()
            try await PushTrial.run(try .answering(broker), into: intake) { receiving in
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    // Subscribes first, so that the short timeout below does not expire before its request is sent.
                    let first = Task {
                        try await trial.publisher.request(MQTTMessage("1", to: "open/echo/1"), timeout: .seconds(300))
                    }
                    _ = await receiving.arrivals(1)
                    first.cancel()
                    let cancelled = await publishError { _ = try await first.value }
                    #expect(cancelled?.code == .cancelled && cancelled?.detail.contains("may have been") == true)
                    for taken in intake.taken.all { taken.settle() }
                    let marker = Task {
                        try await trial.publisher.request(MQTTMessage("2", to: "open/echo/2"), timeout: .seconds(300))
                    }
                    _ = await receiving.arrivals(2)
                    for taken in intake.taken.all { taken.settle() }
                    _ = try await marker.value
                    #expect(trial.publisher.counts.lateReplies == 1)
                    let error = await publishError {
                        _ = try await trial.publisher.request(
                            MQTTMessage("3", to: "open/nobody"),
                            timeout: .milliseconds(50)
                        )
                    }
                    #expect(error?.code == .timeout)
                }
            }
        }
    }

    @Test func aRefusedReplyTopicEndsTheCall() async throws {
        let refused: [UInt8] = [0x90, 0x04, 0x00, 0x01, 0x00, 0x87]
        let broker = try FakeBroker([[FakeAnswers.connected, refused]])
        defer { broker.close() }
        var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
        configuration.stopTimeout = .zero
        try await PublisherTrial.run(configuration) { trial in
            let error = await publishError {
                _ = try await trial.publisher.request(MQTTMessage("", to: "a"), timeout: .seconds(300))
            }
            #expect(error?.code == .denied)
            _ = await trial.log.line(containing: "refused the subscription to the publisher's reply topic")
        }
    }

    @Test func anUnansweredSubscriptionEndsTheConnection() async throws {
        let broker = try FakeBroker([[FakeAnswers.connected], FakeAnswers.welcome])
        defer { broker.close() }
        var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
        configuration.stopTimeout = .zero
        configuration.answerTimeout = .milliseconds(500)
        try await PublisherTrial.run(configuration) { trial in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    _ = await publishError {
                        _ = try await trial.publisher.request(MQTTMessage("", to: "a"), timeout: .seconds(300))
                    }
                }
                _ = await trial.log.line(containing: "did not answer in time")
                group.cancelAll()
            }
        }
    }

    @Test func aRefusedReplyTopicDoesNotBlockOtherMessages() async throws {
        let refused: [UInt8] = [0x90, 0x04, 0x00, 0x01, 0x00, 0x97]
        let broker = try FakeBroker([[FakeAnswers.connected, refused]])
        defer { broker.close() }
        var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
        configuration.stopTimeout = .zero
        configuration.keepalive = .zero
        try await PublisherTrial.run(configuration) { trial in
            let error = await publishError {
                _ = try await trial.publisher.request(MQTTMessage("", to: "a"), timeout: .seconds(300))
            }
            #expect(error?.code == .denied && error?.reasonCode == 0x97)
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Keeps requests waiting during most iterations of the publisher's loop, though not surely in each.
                for _ in 0..<8 {
                    group.addTask {
                        while !Task.isCancelled {
                            _ = await publishError {
                                _ = try await trial.publisher.request(MQTTMessage("", to: "a"), timeout: .seconds(300))
                            }
                        }
                    }
                }
                for _ in 0..<20 {
                    try await trial.publisher.publish(MQTTMessage("", to: "b", qos: .atMostOnce))
                }
                group.cancelAll()
            }
        }
    }

    @Test func anAbandonedQoS0RequestCountsAsLost() async throws {
        try await Broker.withRules { broker in
            let trial = PushTrial(intake: .holding(), log: EventList())
            let logger = Logger(label: "push") { _ in RecordingLog(trial.log) }
            let adapter = try MQTTPushAdapter(try .answering(broker), logger: logger)
            let running = Task { try await adapter.run(into: trial.intake) }
            await trial.waitForLog("subscribed to")
            try await PublisherTrial.run(.test(port: broker.port)) { publishing in
                var request = MQTTMessage("1", to: "open/echo/1", qos: .atMostOnce)
                request.responseTopic = "signalbox/replies/x"
                try await publishing.publisher.publish(request)
            }
            await trial.intake.taken.first(1)[0].abandon()
            await trial.waitForLog("1 QoS 0 message was abandoned and is lost")
            let counts = adapter.replyCounts
            #expect(counts.lost == 1 && counts.answered == 0 && counts.refused == 0)
            running.cancel()
            try await running.value
        }
    }

    @Test func aRefusedPublishingClientEndsTheSource() async throws {
        try await Broker.with(BrokerOptions(lines: ["clientid_prefixes signalbox-"])) { broker in
            var configuration = try MQTTPushConfiguration.answering(broker)
            configuration.firstConnectionMustSucceed = true
            configuration.answerTimeout = .seconds(300)
            configuration.publishing?.clientID = try .fixed("other")
            let adapter = try MQTTPushAdapter(
                configuration,
                logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
            )
            let error = await #expect(throws: MQTTPushError.self) { try await adapter.run(into: RecordingIntake()) }
            #expect(error?.code == .notAuthorized)
        }
    }

    @Test(arguments: [Duration.zero, .seconds(86_401), .seconds(Int64.max)])
    func aRequestTimeoutOutOfRangeIsRefused(timeout: Duration) async throws {
        let trial = try PublisherTrial(.test(port: 1))
        let error = await publishError {
            _ = try await trial.publisher.request(MQTTMessage("", to: "a"), timeout: timeout)
        }
        #expect(error?.code == .invalidMessage)
    }

    @Test func aStopEndsWaitingCalls() async throws {
        try await Broker.with { broker in
            let trial = try PublisherTrial(.test(port: broker.port))
            let running = Task { try await trial.publisher.run() }
            let call = Task {
                await publishError {
                    _ = try await trial.publisher.request(MQTTMessage("", to: "nobody"), timeout: .seconds(300))
                }
            }
            _ = await trial.log.line(containing: "publisher: connected")
            running.cancel()
            try await running.value
            let error = await call.value
            #expect(error?.code == .stopped)
        }
    }

    @Test func aCallWithMQTT311ThrowsUnsupported() async throws {
        var configuration = try MQTTPublisherConfiguration.test(port: 1)
        configuration.version = .v311
        let trial = try PublisherTrial(configuration)
        let error = await publishError {
            _ = try await trial.publisher.call("a", topic: "t/{action}", body: Bytes("1"), timeout: .seconds(1))
        }
        #expect(error?.code == .unsupported)
    }
}
