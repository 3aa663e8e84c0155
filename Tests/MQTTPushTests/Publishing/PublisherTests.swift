import AdapterSupport
import BrokerKit
import Foundation
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct PublisherTests {
    @Test func aMessageArrivesWithItsPropertiesAndIsAcknowledged() async throws {
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, [try MQTTTopic("open/{action}")])) { receiving in
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    var message = MQTTMessage(#"{"n":1}"#, to: "open/log")
                    message.contentType = "application/json"
                    message.correlation = [1, 2, 3]
                    message.responseTopic = "open/answers"
                    message.expiry = .seconds(60)
                    message.userProperties = [MQTTMessage.UserProperty(name: "a", value: "b")]
                    let receipt = try await trial.publisher.publish(message)
                    #expect(receipt.reasonCode == 0)
                    let facts = try #require(await receiving.arrivals(1)[0].pushFacts)
                    let received = try #require(facts.properties)
                    #expect(received.contentType == "application/json" && received.correlationData == [1, 2, 3])
                    #expect(received.responseTopic == "open/answers" && received.messageExpiry.map { $0 <= 60 } == true)
                    #expect(received.userProperties.map(\.name) == ["a"] && facts.qos == 1)
                    #expect(trial.publisher.counts.published == 1 && trial.publisher.counts.waiting == 0)
                }
            }
        }
    }

    @Test(arguments: [MQTTQoS.atMostOnce, .atLeastOnce])
    func emptyPropertiesArePublished(qos: MQTTQoS) async throws {
        try await Broker.with { broker in
            let topics = [try MQTTTopic("push/{action}")]
            try await PushTrial.run(try MQTTPushConfiguration.test(broker, topics)) { trial in
                try await PublisherTrial.run(try MQTTPublisherConfiguration.test(port: broker.port)) { publishing in
                    var message = MQTTMessage("{}", to: "push/next", qos: qos)
                    message.contentType = ""
                    message.correlation = []
                    message.userProperties = [MQTTMessage.UserProperty(name: "", value: "")]
                    try await publishing.publisher.publish(message)
                    let facts = try #require(await trial.arrivals(1)[0].pushFacts?.properties)
                    #expect(facts.contentType ?? "" == "" && facts.userProperties.map(\.value) == [""])
                }
            }
        }
    }

    @Test func aQoS0PublishWaitsOnlyForTheSocket() async throws {
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, [try MQTTTopic("open/{action}")])) { receiving in
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    try await trial.publisher.publish(MQTTMessage("{}", to: "open/log", qos: .atMostOnce))
                    #expect(await receiving.arrivals(1)[0].pushFacts?.qos == 0)
                }
            }
        }
    }

    /// The second message does not fit into the output behind the first.
    @Test func aLargeMessageWaitsForItsPlaceInTheOutput() async throws {
        try await Broker.with { broker in
            var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic("open/{action}")])
            configuration.limits = MessageLimits(bytes: 2_000_000)
            try await PushTrial.run(configuration) { receiving in
                let trial = try PublisherTrial(.test(port: broker.port))
                try trial.publisher.offer(MQTTMessage("1", to: "open/small"))
                let large = "\"" + String(repeating: "x", count: 1_200_000) + "\""
                try trial.publisher.offer(MQTTMessage(large, to: "open/large"))
                try trial.publisher.offer(MQTTMessage("3", to: "open/last"))
                let running = Task { try await trial.publisher.run() }
                #expect(await receiving.intake.taken.first(3).map(\.name) == ["small", "large", "last"])
                running.cancel()
                try await running.value
                #expect(trial.publisher.counts.published == 3 && trial.publisher.counts.resent == 0)
            }
        }
    }

    /// The run stops while it connects, or before it starts to.
    @Test func aStopBeforeTheConnectionStillPublishes() async throws {
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, [try MQTTTopic("open/{action}")])) { receiving in
                let trial = try PublisherTrial(.test(port: broker.port))
                try trial.publisher.offer(MQTTMessage("1", to: "open/log"))
                let running = Task { try await trial.publisher.run() }
                running.cancel()
                try await running.value
                #expect(await receiving.arrivals(1).count == 1)
                #expect(trial.publisher.counts.published == 1)
            }
        }
    }

    /// The broker accepts the connection, and then leaves everything unread.
    @Test func aBrokerThatAcceptsNoDataIsLeft() async throws {
        let (listener, port) = try LoopbackPort.listening()
        defer { close(listener) }
        // Accepted sockets inherit it. The system's default might take all messages.
        var size: Int32 = 8_192
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        let client = try OwnedThread.promise {
            let client = LoopbackPort.accept(on: listener)
            var buffer = [UInt8](repeating: 0, count: 4_096)
            guard recv(client, &buffer, buffer.count, 0) > 0 else { return client }
            _ = send(client, FakeAnswers.connected, FakeAnswers.connected.count, 0)
            return client
        }
        var configuration = try MQTTPublisherConfiguration.test(port: Int(port))
        configuration.answerTimeout = .milliseconds(500)
        configuration.stopTimeout = .zero
        let trial = try PublisherTrial(configuration)
        let running = Task { try await trial.publisher.run() }
        _ = await trial.log.line(containing: "publisher: connected")
        let large = String(repeating: "x", count: 200_000)
        for _ in 0..<60 { try trial.publisher.offer(MQTTMessage(large, to: "open/log", qos: .atMostOnce)) }
        _ = await trial.log.line(containing: "did not answer in time")
        running.cancel()
        try await running.value
        close(await client.value())
    }

    @Test func aRefusedMessageFailsItsCaller() async throws {
        try await Broker.withRules { broker in
            try await PublisherTrial.run(.test(port: broker.port)) { trial in
                let error = await publishError {
                    try await trial.publisher.publish(MQTTMessage("x", to: "closed/door"))
                }
                #expect(error?.code == .denied && error?.reasonCode == 135)
                try await trial.publisher.publish(MQTTMessage("x", to: "open/door"))
                #expect(trial.publisher.counts.denied == 1 && trial.publisher.counts.published == 1)
            }
        }
    }

    @Test func aRefusedOfferedMessageIsCountedAndLogged() async throws {
        try await Broker.withRules { broker in
            try await PublisherTrial.run(.test(port: broker.port)) { trial in
                try trial.publisher.offer(MQTTMessage("secret", to: "closed/door"))
                let line = await trial.log.line(containing: "was not published")
                #expect(line.contains("\"closed/door\"") && line.contains("(135)") && !line.contains("secret"))
                #expect(trial.publisher.counts.denied == 1 && trial.publisher.counts.failed == 1)
            }
        }
    }

    @Test func aFullQueueRefusesMessagesAndSendsTheQueuedOnes() async throws {
        try await Broker.with { broker in
            var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
            configuration.queuedMessages = 2
            configuration.queuedBytes = 1_024
            let trial = try PublisherTrial(configuration)
            let large = await publishError {
                try trial.publisher.offer(MQTTMessage([UInt8](repeating: 0, count: 1_024), to: "a"))
            }
            #expect(large?.code == .tooLarge)
            try trial.publisher.offer(MQTTMessage([UInt8](repeating: 0, count: 1_000), to: "a"))
            let bytes = await publishError {
                try trial.publisher.offer(MQTTMessage([UInt8](repeating: 0, count: 24), to: "a"))
            }
            try trial.publisher.offer(MQTTMessage("", to: "a"))
            let count = await publishError { try await trial.publisher.publish(MQTTMessage("", to: "a")) }
            #expect(bytes?.code == .queueFull && count?.code == .queueFull)
            #expect(trial.publisher.counts.queueFull == 2 && trial.publisher.counts.waiting == 2)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await trial.publisher.run() }
                _ = await trial.log.line(containing: "publisher: connected")
                group.cancelAll()
                try await group.waitForAll()
            }
            #expect(trial.publisher.counts.published == 2 && trial.publisher.counts.stopped == 0)
        }
    }

    @Test func aBrokerRestartLosesNoMessage() async throws {
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, [try MQTTTopic("open/{action}")])) { receiving in
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for number in 0..<400 {
                            group.addTask {
                                try await trial.publisher.publish(MQTTMessage(#"{"n":\#(number)}"#, to: "open/log"))
                            }
                        }
                        group.addTask {
                            _ = await receiving.arrivals(50)
                            await broker.stop()
                            try await broker.restart()
                        }
                        try await group.waitForAll()
                    }
                    #expect(trial.publisher.counts.published == 400 && trial.publisher.counts.failed == 0)
                    let all = await receiving.intake.taken.wait { Set($0.map(\.text)).count == 400 }
                    #expect(Set(all.map(\.text)).count == 400)
                }
            }
        }
    }

    @Test func anInvalidMessageIsRefusedImmediately() async throws {
        let trial = try PublisherTrial(.test(port: 1))
        for topic in ["", "a/+", "a/#", "a\0b", "a\nb"] {
            let error = await publishError { try trial.publisher.offer(MQTTMessage("", to: topic)) }
            #expect(error?.code == .invalidMessage, "\(topic.debugDescription)")
        }
        var old = try MQTTPublisherConfiguration.test(port: 1)
        old.version = .v311
        var message = MQTTMessage("", to: "a")
        message.contentType = "text/plain"
        let error = await publishError { try PublisherTrial(old).publisher.offer(message) }
        #expect(error?.code == .invalidMessage)
        #expect(trial.publisher.counts.accepted == 0)
    }

    @Test func aDenialLooksLikeSuccessWithMQTT311() async throws {
        try await Broker.withRules { broker in
            var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
            configuration.version = .v311
            try await PublisherTrial.run(configuration) { trial in
                let receipt = try await trial.publisher.publish(MQTTMessage("x", to: "closed/door"))
                #expect(receipt.reasonCode == 0 && trial.publisher.counts.published == 1)
            }
        }
    }
}

/// Sending by a source that has a second client.
@Suite(.timeLimit(.minutes(10)))
struct SourceSenderTests {
    private static func sending(_ broker: Broker, to topic: String) throws -> MQTTPushConfiguration {
        var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic("in/{action}")])
        var publishing = MQTTPublishing()
        publishing.sendTopic = topic
        publishing.stopTimeout = .seconds(300)
        configuration.publishing = publishing
        return configuration
    }

    @Test func theFeaturesReflectTheConfiguration() async throws {
        try await Broker.with { broker in
            let logger = Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
            var configuration = try Self.sending(broker, to: "out/{action}")
            #expect(try MQTTPushAdapter(configuration, logger: logger).features == [.redelivers, .stableIDs, .pushes])
            configuration.publishing?.replyTopics = [try TopicFilter("replies/#")]
            configuration.publishing?.sendTopic = nil
            #expect(try MQTTPushAdapter(configuration, logger: logger).features == [.redelivers, .stableIDs, .replies])
            configuration.publishing = nil
            #expect(try MQTTPushAdapter(configuration, logger: logger).publisher == nil)
        }
    }

    @Test(arguments: [
        ("out/{action}/{id}", "out/lamp/7", #"{"on":true}"#),
        ("out", "out", #"{"action":"lamp","id":"7","body":{"on":true}}"#),
        ("out/{action}", "out/lamp", #"{"on":true}"#),
    ])
    func aSenderPublishesToTheSendTopic(template: String, topic: String, payload: String) async throws {
        try await Broker.with { broker in
            let remote = try MQTTPushConfiguration.test(
                broker,
                [try MQTTTopic("out/#", payload: .bytes, action: "x")],
                clientID: "remote"
            )
            try await PushTrial.run(remote) { receiving in
                try await PushTrial.run(try Self.sending(broker, to: template)) { trial in
                    try await broker.publish("{}", to: "in/go")
                    let sender = try #require(await trial.arrivals(1)[0].sender)
                    try sender.send("lamp", id: ActionID("7"), body: Bytes(#"{"on":true}"#))
                    let arrival = await receiving.arrivals(1)[0]
                    #expect(arrival.pushFacts?.topic == topic && arrival.original == Bytes(payload))
                    #expect(throws: SendRefused.invalid) {
                        try sender.send("lamp", id: nil, body: Bytes([0xFF]))
                    }
                }
            }
        }
    }

    @Test func aSenderRefusesMessagesOverTheQueueLimits() async throws {
        try await Broker.with { broker in
            var configuration = try Self.sending(broker, to: "out/{action}")
            configuration.publishing?.queuedMessages = 1
            configuration.publishing?.queuedBytes = 1_024
            try await PushTrial.run(configuration) { trial in
                try await broker.publish("{}", to: "in/go")
                let sender = try #require(await trial.arrivals(1)[0].sender)
                #expect(throws: SendRefused.tooLarge) {
                    try sender.send("lamp", id: nil, body: Bytes([UInt8](repeating: 0x20, count: 2_000)))
                }
                #expect(throws: SendRefused.full) {
                    for _ in 0..<1_000_000 { try sender.send("lamp", id: nil, body: Bytes("1")) }
                }
            }
        }
    }

    @Test func aSourceCallsAnActionOfAnotherProgram() async throws {
        try await Broker.with { broker in
            var remote = try MQTTPushConfiguration.test(
                broker,
                [try MQTTTopic("out/{action}/{id}")],
                clientID: "remote"
            )
            var answering = MQTTPublishing()
            answering.replyTopics = [try TopicFilter("signalbox/replies/+")]
            remote.publishing = answering
            let intake = RecordingIntake { $0.settle(.handled(reply: Bytes($0.text))) }
            try await PushTrial.run(remote, into: intake) { _ in
                let configuration = try Self.sending(broker, to: "out/{action}/{id}")
                let log = EventList<String>()
                let adapter = try MQTTPushAdapter(
                    configuration,
                    logger: Logger(label: "push") { _ in RecordingLog(log) }
                )
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await adapter.run(into: RecordingIntake()) }
                    let reply = try await adapter.call("status", body: Bytes("5"), timeout: .seconds(300))
                    #expect(reply.outcome == "handled" && reply.text?.hasSuffix(#""reply":5}"#) == true)
                    group.cancelAll()
                    try await group.waitForAll()
                }
            }
        }
    }
}
