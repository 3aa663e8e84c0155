import BrokerKit
import Foundation
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting

/// A running publisher and what it logs.
struct PublisherTrial {
    let publisher: MQTTPublisher
    let log: EventList<String>

    /// Runs a publisher while `body` runs, then stops it gracefully and waits for its end.
    static func run(
        _ configuration: MQTTPublisherConfiguration,
        connected: Bool = true,
        _ body: (PublisherTrial) async throws -> Void
    ) async throws {
        let trial = try PublisherTrial(configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await trial.publisher.run() }
            do {
                if connected { _ = await trial.log.line(containing: "the publisher is connected") }
                try await body(trial)
            } catch {
                group.cancelAll()
                throw error
            }
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    init(_ configuration: MQTTPublisherConfiguration) throws {
        let log = EventList<String>()
        self.log = log
        publisher = try MQTTPublisher(configuration, logger: Logger(label: "publisher") { _ in RecordingLog(log) })
    }

    /// What comes back on a request that is handled; `nil` for another outcome.
    func ask(_ payload: String, _ topic: String) async throws -> String? {
        let reply = try await publisher.request(MQTTMessage(payload, to: topic), timeout: .seconds(300))
        guard case .reply(let echoed?) = try AnswerPayload.read(Bytes(reply.payload)) else { return nil }
        return echoed.text
    }
}

extension MQTTPublisherConfiguration {
    /// A publisher to a test's broker that is quick to connect again, and patient.
    static func test(port: Int) throws -> MQTTPublisherConfiguration {
        var configuration = MQTTPublisherConfiguration(
            source: "out",
            broker: try MQTTBroker(host: "127.0.0.1", port: port)
        )
        configuration.reconnect = MQTTReconnect(
            first: .milliseconds(5),
            cap: .milliseconds(50),
            slow: .milliseconds(5) ... .milliseconds(50)
        )
        configuration.publishTimeout = .seconds(300)
        configuration.answerTimeout = .seconds(300)
        configuration.stopTimeout = .seconds(300)
        return configuration
    }
}

extension MQTTPushConfiguration {
    /// A source that answers what comes on `open/{action}/{id}`.
    static func answering(
        _ broker: Broker,
        replyTopics: [String] = ["signalbox/replies/#"]
    ) throws -> MQTTPushConfiguration {
        var configuration = try test(broker, [try MQTTTopic("open/{action}/{id}")])
        var publishing = MQTTPublishing()
        publishing.replyTopics = try replyTopics.map { try TopicFilter($0) }
        publishing.stopTimeout = .seconds(300)
        configuration.publishing = publishing
        return configuration
    }

    /// The same, with a second connection for `urgent/{action}/{id}`.
    static func answeringTwice(_ broker: Broker) throws -> MQTTPushConfiguration {
        var configuration = try answering(broker)
        configuration.connections = [MQTTConnection(name: "urgent", topics: [try MQTTTopic("urgent/{action}/{id}")])]
        return configuration
    }
}

extension RecordingIntake.Taken {
    /// Answers with the message's bytes.
    func echo() {
        settle(.handled(reply: Bytes(text)))
    }
}

extension Broker {
    /// A broker on which everyone may use `open/#` and the reply topics, and nothing else.
    static func withRules<Result>(_ body: (Broker) async throws -> Result) async throws -> Result {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("acl-\(UUID().uuidString)")
        try "topic readwrite open/#\ntopic readwrite signalbox/replies/#\n".write(
            to: file,
            atomically: true,
            encoding: .utf8
        )
        defer { try? FileManager.default.removeItem(at: file) }
        return try await Broker.with(BrokerOptions(lines: ["acl_file \(file.path)"]), body)
    }
}

/// What a call that must fail failed with.
func publishError(_ body: () async throws -> Void) async -> MQTTPublishError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? MQTTPublishError
    }
}
