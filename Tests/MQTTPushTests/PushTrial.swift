import BrokerKit
import Logging
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting

/// A running adapter, what it delivers and what it logs.
struct PushTrial {
    let intake: RecordingIntake
    let log: EventList<String>

    /// Runs an adapter while `body` runs, then stops it gracefully and waits for its end.
    static func run(
        _ configuration: MQTTPushConfiguration,
        into intake: RecordingIntake = RecordingIntake(),
        subscribed: Bool = true,
        _ body: (PushTrial) async throws -> Void
    ) async throws {
        let trial = PushTrial(intake: intake, log: EventList())
        let logger = Logger(label: "push") { _ in RecordingLog(trial.log) }
        let adapter = try MQTTPushAdapter(configuration, logger: logger)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await adapter.run(into: intake) }
            do {
                if subscribed { await trial.hears("subscribed to") }
                try await body(trial)
            } catch {
                // The run waits for outcomes that nobody would give any more.
                intake.giveUp()
                group.cancelAll()
                throw error
            }
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    /// Waits for a log line with the text, `count` times, and returns the last of them.
    @discardableResult
    func hears(_ text: String, times count: Int = 1) async -> String {
        await log.line(containing: text, times: count)
    }

    /// Waits until `count` arrivals were taken.
    func arrivals(_ count: Int) async -> [Arrival] {
        await intake.taken.first(count).map(\.arrival)
    }

    /// The id of the first arrival, waited for.
    func firstID() async -> String {
        (try? await arrivals(1)[0].reading.get().id.text) ?? "unreadable"
    }
}

extension MQTTPushConfiguration {
    /// A source `push` with a session on a test's broker, quick to connect again.
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
        // A broker that is slow is none that is silent.
        configuration.answerTimeout = .seconds(300)
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
    /// The action, or a failure of the test that asks.
    func action() throws -> Action {
        try reading.get()
    }

    var rejection: Outcome.Rejection? {
        guard case .failure(let rejection) = reading else { return nil }
        return rejection
    }

    var pushFacts: PushFacts? { origin.facts as? PushFacts }
}
