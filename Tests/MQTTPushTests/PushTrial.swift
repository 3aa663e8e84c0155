import BrokerKit
import Foundation
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport

/// A running adapter, its arrivals and its log lines.
struct PushTrial {
    let intake: RecordingIntake
    let log: EventList<String>

    /// Runs an adapter while `body` runs, then stops it gracefully and waits for its end.
    ///
    /// - Parameter wrap: Returns the intake that passes the arrivals on.
    static func run(
        _ configuration: MQTTPushConfiguration,
        into intake: RecordingIntake = RecordingIntake(),
        through wrap: @escaping @Sendable (RecordingIntake) -> any Intake = { $0 },
        subscribed: Bool = true,
        _ body: (PushTrial) async throws -> Void
    ) async throws {
        let trial = PushTrial(intake: intake, log: EventList())
        let logger = Logger(label: "push") { _ in RecordingLog(trial.log) }
        let adapter = try MQTTPushAdapter(configuration, logger: logger)
        try await ServiceRun.during({ try await adapter.run(into: wrap(intake)) }, onFailure: intake.settleAll) {
            if subscribed { await trial.waitForLog("subscribed to") }
            try await body(trial)
        }
    }

    /// Waits for `count` log lines that contain the text, and returns the last of them.
    @discardableResult
    func waitForLog(_ text: String, times count: Int = 1) async -> String {
        await log.line(containing: text, times: count)
    }

    /// Waits until `count` arrivals have been taken, and returns them.
    func arrivals(_ count: Int) async -> [Arrival] {
        await intake.taken.first(count).map(\.arrival)
    }

    /// Waits for the first arrival and returns its id.
    func firstID() async -> String {
        (try? await arrivals(1)[0].reading.get().id.text) ?? "unreadable"
    }
}

extension MQTTPushConfiguration {
    /// Returns the configuration of a source `push` with a session on a test's broker. It reconnects quickly.
    static func test(
        _ broker: Broker,
        _ topics: [MQTTTopic],
        clientID: String = "signalbox-test"
    ) throws -> MQTTPushConfiguration {
        try test(port: broker.port, topics, clientID: clientID)
    }

    static func test(
        port: Int,
        _ topics: [MQTTTopic],
        clientID: String = "signalbox-test"
    ) throws -> MQTTPushConfiguration {
        var configuration = MQTTPushConfiguration(
            source: "push",
            broker: try MQTTBroker(host: "127.0.0.1", port: port),
            topics: topics,
            clientID: try .fixed(clientID)
        )
        configuration.reconnect = MQTTReconnect(
            first: .milliseconds(5),
            cap: .milliseconds(50),
            slow: .milliseconds(5) ... .milliseconds(50)
        )
        // A slow broker must not count as a silent one.
        configuration.answerTimeout = .seconds(300)
        configuration.connectTimeout = .seconds(300)
        return configuration
    }
}

extension MQTTTopic {
    init(
        _ pattern: String,
        payload: PayloadKind = .json,
        action: ActionName? = nil,
        envelope: PayloadEnvelope = .standard
    ) throws {
        self.init(try TopicPattern(pattern), payload: payload, action: action, envelope: envelope)
    }
}

extension Arrival {
    /// Returns the action, or throws the rejection and so fails the calling test.
    func action() throws -> Action {
        try reading.get()
    }

    var rejection: Outcome.Rejection? {
        guard case .failure(let rejection) = reading else { return nil }
        return rejection
    }

    var pushFacts: PushFacts? { origin.facts as? PushFacts }
}

/// A running publisher and its log lines.
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
        try await ServiceRun.during({ try await trial.publisher.run() }) {
            if connected { _ = await trial.log.line(containing: "publisher: connected") }
            try await body(trial)
        }
    }

    init(_ configuration: MQTTPublisherConfiguration) throws {
        let log = EventList<String>()
        self.log = log
        publisher = try MQTTPublisher(configuration, logger: Logger(label: "publisher") { _ in RecordingLog(log) })
    }

    /// Sends a request and returns its reply, or `nil` if the outcome has none.
    func request(_ payload: String, _ topic: String) async throws -> String? {
        let reply = try await publisher.request(MQTTMessage(payload, to: topic), timeout: .seconds(300))
        guard case .reply(let echoed?) = try AnswerPayload.read(Bytes(reply.payload)) else { return nil }
        return echoed.text
    }
}

extension MQTTPublisherConfiguration {
    /// Returns the configuration of a publisher to a test's broker, with quick reconnects and long timeouts.
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
        configuration.connectTimeout = .seconds(300)
        configuration.stopTimeout = .seconds(300)
        return configuration
    }
}

extension MQTTPushConfiguration {
    /// Returns the configuration of a source that answers requests on `open/{action}/{id}`.
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

    /// Returns the same configuration with a second connection for `urgent/{action}/{id}`.
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
    /// Runs `body` with a broker on which every client may use `open/#` and the reply topics, and nothing else.
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

/// Returns the error of a call that must fail.
func publishError(_ body: () async throws -> Void) async -> MQTTPublishError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? MQTTPublishError
    }
}

/// Answers of a broker, byte by byte (MQTT 5.0, chapter 3).
enum FakeAnswers {
    /// CONNACK: accepted, no session, no properties.
    static let connected: [UInt8] = [0x20, 0x03, 0x00, 0x00, 0x00]
    /// SUBACK to the client's first packet id: QoS 1 granted.
    static let granted: [UInt8] = [0x90, 0x04, 0x00, 0x01, 0x00, 0x01]
    /// The answers that a client with one filter needs.
    static let welcome = [connected, granted]

    /// Returns a PUBLISH with QoS 0, 1 or 2. Above QoS 0 it has the packet id.
    static func message(_ payload: String, to topic: String, qos: UInt8, packet: UInt16 = 1) -> [UInt8] {
        var rest = [0, UInt8(topic.utf8.count)] + Array(topic.utf8)
        if qos > 0 { rest += [UInt8(packet >> 8), UInt8(truncatingIfNeeded: packet)] }
        rest += [0x00] + Array(payload.utf8)
        return [0x30 | qos << 1, UInt8(rest.count)] + rest
    }
}
