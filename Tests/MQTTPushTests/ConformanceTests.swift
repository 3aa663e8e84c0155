import BrokerKit
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct ConformanceTests {
    @Test func aPushSourceConforms() async throws {
        try await Broker.with { broker in
            let report = await Self.suite(broker).run()
            #expect(report.isConforming, "\(report)")
            #expect(Set(report.skipped.keys) == [.answersEverySender])
            #expect(report.passed.count == AdapterConformance.Case.allCases.count - report.skipped.count)
        }
    }

    @Test func concurrentCasesConform() async throws {
        try await Broker.with { broker in
            let report = await Self.suite(broker).stress(times: 5)
            #expect(report.isConforming, "\(report)")
        }
    }

    @Test func aSourceThatRepliesAndSendsConforms() async throws {
        try await Broker.with { broker in
            let report = await Self.answering(broker).run()
            #expect(report.isConforming, "\(report)")
            #expect(report.skipped.isEmpty)
        }
    }

    @Test func concurrentCasesOfAnAnsweringSourceConform() async throws {
        try await Broker.with { broker in
            let report = await Self.answering(broker).stress(times: 5, atOnce: 10)
            #expect(report.isConforming, "\(report)")
        }
    }

    private static func answering(_ broker: Broker) -> AdapterConformance {
        AdapterConformance { source in try await AnsweringSubject(source, broker: broker) }
    }

    private static func suite(_ broker: Broker) -> AdapterConformance {
        AdapterConformance { source in try await MQTTPushSubject(source, broker: broker) }
    }
}

/// A push source with its own session and topic, and a publisher on the same broker.
struct MQTTPushSubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound: Int
    /// The source limits its messages in flight, so it does not fill a window.
    let waitsForEachBatch = true
    let submitsWhileOneRuns = true
    private let broker: Broker
    private let topic: String

    /// Creates the subject once the broker keeps a session with the subscription: later messages reach the adapter.
    init(_ source: SourceName, broker: Broker) async throws {
        topic = "conformance/\(source)"
        var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic(topic)], clientID: source.text)
        configuration.source = source
        configuration.receiveMaximum = 32
        // A broker on a busy machine is slow, and none of the cases tests that.
        configuration.lingerTimeout = .seconds(300)
        batchBound = configuration.receiveMaximum
        self.broker = broker
        adapter = try MQTTPushAdapter(configuration, logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() })
        try await PushTrial.run(configuration) { _ in }
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        try await broker.publish(lines: messages.map(\.envelope), to: topic)
    }

    func end() async {}
}

/// A push source that answers and can send, a publisher of requests, and a source that receives the answers.
final class AnsweringSubject: ConformanceSubject {
    let adapter: any Adapter
    let batchBound = 32
    let waitsForEachBatch = true
    let submitsWhileOneRuns = true
    private let topic: String
    private let replyTopic: String
    private let requester: MQTTPublisher
    private let received = RecordingIntake()
    private let running: Task<Void, any Error>

    init(_ source: SourceName, broker: Broker) async throws {
        topic = "conformance/\(source)"
        replyTopic = "answers/\(source)"
        let logger = Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic(topic)], clientID: source.text)
        configuration.source = source
        configuration.receiveMaximum = batchBound
        configuration.lingerTimeout = .seconds(300)
        configuration.answerTimeout = .seconds(300)
        var publishing = MQTTPublishing()
        publishing.replyTopics = [try TopicFilter("answers/#")]
        publishing.sendTopic = "unasked/{action}"
        publishing.stopTimeout = .seconds(300)
        configuration.publishing = publishing
        adapter = try MQTTPushAdapter(configuration, logger: logger)
        // From here on, the broker keeps a session for both.
        try await PushTrial.run(configuration) { _ in }
        let receivingConfiguration = try MQTTPushConfiguration.test(
            broker,
            [try MQTTTopic(replyTopic, payload: .bytes, action: "answer")],
            clientID: "\(source)-receiver"
        )
        try await PushTrial.run(receivingConfiguration) { _ in }
        requester = try MQTTPublisher(.test(port: broker.port), logger: logger)
        let receivingAdapter = try MQTTPushAdapter(receivingConfiguration, logger: logger)
        running = Task { [requester, received] in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await requester.run() }
                group.addTask { try await receivingAdapter.run(into: received) }
                try await group.waitForAll()
            }
        }
    }

    func send(_ messages: [ConformanceMessage]) async throws {
        for message in messages {
            var request = MQTTMessage(message.envelope, to: topic)
            request.responseTopic = replyTopic
            request.correlation = Array(message.id.text.utf8)
            try await requester.publish(request)
        }
    }

    func answer(to id: ActionID) async throws -> ConformanceAnswer {
        let wanted = Array(id.text.utf8)
        let all = await received.taken.wait { all in
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

/// The decoded payload of an answer.
struct AnswerPayload: Decodable {
    struct Refusal: Decodable {
        let code: String
    }

    let outcome: String
    let reply: RawBody?
    let error: Refusal?

    static func read(_ payload: Bytes) throws -> ConformanceAnswer {
        let answer = try Body(json: payload).decode(AnswerPayload.self)
        if let error = answer.error { return .error(code: error.code) }
        return .reply(answer.reply?.bytes.copied())
    }
}
