import BrokerKit
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting

/// A push source that answers and can send, a publisher that asks it, and a source that hears the answers.
final class AnsweringSubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound = 32
    let waitsForEachBatch = true
    private let topic: String
    private let replyTopic: String
    private let asker: MQTTPublisher
    private let heard = RecordingIntake()
    private let running: Task<Void, any Error>

    init(_ source: SourceName, broker: Broker) async throws {
        topic = "conformance/\(source)"
        replyTopic = "answers/\(source)"
        let logger = Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic(topic)], clientID: source.text)
        configuration.source = source
        configuration.batchMessages = batchBound
        configuration.farewellTimeout = .seconds(300)
        configuration.answerTimeout = .seconds(300)
        var publishing = MQTTPublishing()
        publishing.replyTopics = [try TopicFilter("answers/#")]
        publishing.sendTopic = "unasked/{action}"
        publishing.stopTimeout = .seconds(300)
        configuration.publishing = publishing
        adapter = try MQTTPushAdapter(configuration, logger: logger)
        // The broker keeps a session for both from here on.
        try await PushTrial.run(configuration) { _ in }
        let hearing = try MQTTPushConfiguration.test(
            broker,
            [try MQTTTopic(replyTopic, payload: .bytes, action: "answer")],
            clientID: "\(source)-far"
        )
        try await PushTrial.run(hearing) { _ in }
        asker = try MQTTPublisher(.test(port: broker.port), logger: logger)
        let ear = try MQTTPushAdapter(hearing, logger: logger)
        running = Task { [asker, heard] in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await asker.run() }
                group.addTask { try await ear.run(into: heard) }
                try await group.waitForAll()
            }
        }
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        for message in messages {
            var request = MQTTMessage(message.envelope, to: topic)
            request.responseTopic = replyTopic
            request.correlation = Array(message.id.text.utf8)
            try await asker.publish(request)
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        let wanted = Array(id.text.utf8)
        let all = await heard.taken.wait { all in
            all.contains { $0.arrival.pushFacts?.properties?.correlationData == wanted }
        }
        guard let found = all.last(where: { $0.arrival.pushFacts?.properties?.correlationData == wanted }) else {
            throw ConformanceError("no answer to \(id)")
        }
        return try AnswerPayload.read(found.arrival.original)
    }

    func end() async {
        running.cancel()
        _ = await running.result
    }
}
