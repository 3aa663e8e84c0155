import BrokerKit
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Testing

/// What a source with a second client can do beside receiving.
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

    @Test func theFeaturesSayWhatIsConfigured() async throws {
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
    func aPluginSendsByTheContextsSender(template: String, topic: String, payload: String) async throws {
        try await Broker.with { broker in
            let far = try MQTTPushConfiguration.test(
                broker,
                [try MQTTTopic("out/#", payload: .bytes, action: "x")],
                clientID: "far"
            )
            try await PushTrial.run(far) { hearing in
                try await PushTrial.run(try Self.sending(broker, to: template)) { trial in
                    try await broker.publish("{}", to: "in/go")
                    let sender = try #require(await trial.arrivals(1)[0].sender)
                    try sender.send("lamp", id: ActionID("7"), body: Bytes(#"{"on":true}"#))
                    let arrival = await hearing.arrivals(1)[0]
                    #expect(arrival.pushFacts?.topic == topic && arrival.original == Bytes(payload))
                    #expect(throws: SendRefused.invalid) {
                        try sender.send("lamp", id: nil, body: Bytes([0xFF]))
                    }
                }
            }
        }
    }

    @Test func aSenderRefusesWhenTheQueueIsFull() async throws {
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
            var far = try MQTTPushConfiguration.test(broker, [try MQTTTopic("out/{action}/{id}")], clientID: "far")
            var answering = MQTTPublishing()
            answering.replyTopics = [try TopicFilter("signalbox/replies/+")]
            far.publishing = answering
            let intake = RecordingIntake { $0.settle(.handled(reply: Bytes($0.text))) }
            try await PushTrial.run(far, into: intake) { _ in
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
