import AdapterSupport
import BrokerKit
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

/// Topics that are added and removed while a source runs.
@Suite(.timeLimit(.minutes(10)))
struct TopicChangeTests {
    private func withRunning(
        _ adapter: MQTTPushAdapter,
        _ intake: RecordingIntake,
        _ log: EventList<String>,
        _ body: () async throws -> Void
    ) async throws {
        let lines = log.all.count { $0.contains("subscribed to") }
        try await ServiceRun.during({ try await adapter.run(into: intake) }, onFailure: intake.settleAll) {
            _ = await log.line(containing: "subscribed to", times: lines + 1)
            try await body()
        }
    }

    private func adapter(_ configuration: MQTTPushConfiguration, _ log: EventList<String>) throws -> MQTTPushAdapter {
        try MQTTPushAdapter(configuration, logger: Logger(label: "push") { _ in RecordingLog(log) })
    }

    @Test(arguments: MQTTVersion.allCases)
    func aTopicIsAddedAndRemovedWithoutAffectingOthers(version: MQTTVersion) async throws {
        try await Broker.with { broker in
            var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic("push/{action}")])
            configuration.version = version
            let log = EventList<String>()
            let intake = RecordingIntake()
            let adapter = try adapter(configuration, log)
            try await withRunning(adapter, intake, log) {
                #expect(try await adapter.add(try MQTTTopic("more/{action}")) == .done)
                try await broker.publish("{}", to: "more/a")
                try await broker.publish("{}", to: "push/b")
                #expect(await intake.taken.first(2).map(\.name) == ["a", "b"])
                #expect(try await adapter.remove("more/+") == .done)
                try await broker.publish("{}", to: "more/c")
                try await broker.publish("{}", to: "push/d")
                #expect(await intake.taken.first(3).map(\.name) == ["a", "b", "d"])
                #expect(log.all.count { $0.contains("connected to broker") } == 1)
            }
        }
    }

    /// A broker that may send one message at a time sends the rest after its UNSUBACK (MQTT 5.0, 3.10.4).
    @Test func queuedMessagesOfARemovedTopicStillArrive() async throws {
        try await Broker.with { broker in
            let topics = [try MQTTTopic("push/{action}"), try MQTTTopic("more/{action}")]
            var configuration = try MQTTPushConfiguration.test(broker, topics)
            configuration.receiveMaximum = 1
            let log = EventList<String>()
            let intake = RecordingIntake.holding()
            let adapter = try adapter(configuration, log)
            let names = (1...10).map { "m\($0)" }
            try await withRunning(adapter, intake, log) {
                for name in names { try await broker.publish("{}", to: "more/\(name)") }
                async let removed = adapter.remove("more/+")
                while !Task.isCancelled, adapter.parts[0].subscriptions.revision < 1 { await Task.yield() }
                for number in 1...names.count { await intake.taken.first(number).last?.settle() }
                #expect(try await removed == .done)
                #expect(intake.taken.all.map(\.name) == names)
            }
            #expect(!log.all.contains { $0.contains("without a subscription") })
        }
    }

    @Test func aChangeWhileDisconnectedIsAppliedOnReconnect() async throws {
        try await Broker.with { broker in
            let log = EventList<String>()
            let intake = RecordingIntake()
            let topics = [try MQTTTopic("push/{action}"), try MQTTTopic("old/{action}")]
            let adapter = try adapter(try .test(broker, topics), log)
            try await withRunning(adapter, intake, log) {}
            // The broker keeps the message in the session and delivers it although its topic is removed.
            try await broker.publish("{}", to: "old/x")
            #expect(try await adapter.add(try MQTTTopic("new/{action}")) == .pending)
            #expect(try await adapter.remove("old/+") == .pending)
            try await withRunning(adapter, intake, log) {
                try await broker.publish("{}", to: "new/a")
                try await broker.publish("{}", to: "push/b")
                #expect(await intake.taken.first(3).map(\.name) == ["x", "a", "b"])
            }
            // The session includes the topics: messages published between runs wait for the next run.
            try await broker.publish("{}", to: "old/c")
            try await broker.publish("{}", to: "new/d")
            try await withRunning(adapter, intake, log) {
                #expect(await intake.taken.first(4).map(\.name) == ["x", "a", "b", "d"])
            }
        }
    }

    @Test func eachConnectionHasItsOwnTopics() async throws {
        try await Broker.with { broker in
            var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic("push/{action}")])
            configuration.connections = [MQTTConnection(name: "urgent", topics: [try MQTTTopic("urgent/{action}")])]
            let log = EventList<String>()
            let intake = RecordingIntake()
            let adapter = try adapter(configuration, log)
            try await withRunning(adapter, intake, log) {
                _ = await log.line(containing: "subscribed to", times: 2)
                #expect(try await adapter.add(try MQTTTopic("more/{action}"), to: "urgent") == .done)
                try await broker.publish("{}", to: "more/a")
                #expect(await intake.taken.first(1).map(\.name) == ["a"])
            }
            #expect(log.all.contains { $0.contains("connection urgent: subscribed to 1 topic filter") })
        }
    }

    @Test func aRefusedTopicIsDiscarded() async throws {
        let refused: [UInt8] = [0x90, 0x04, 0x00, 0x02, 0x00, 0x87]
        let broker = try FakeBroker([FakeAnswers.welcome + [refused]])
        defer { broker.close() }
        let log = EventList<String>()
        let adapter = try adapter(try .test(port: broker.port, [try MQTTTopic("push/{action}")]), log)
        try await withRunning(adapter, RecordingIntake(), log) {
            let topic = try MQTTTopic("secret/{action}")
            let error = await #expect(throws: MQTTPushError.self) { try await adapter.add(topic) }
            #expect(error?.code == .subscriptionRefused)
            await #expect(throws: MQTTPushError.self) { try await adapter.remove("secret/+") }
        }
    }

    /// The broker ends the connection, or keeps it and does not answer.
    @Test(arguments: [1, 0])
    func aChangeStaysPendingIfTheBrokerDoesNotAnswer(hangUps: Int) async throws {
        let broker = try FakeBroker([FakeAnswers.welcome + [[]]], hangUps: hangUps)
        defer { broker.close() }
        let log = EventList<String>()
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        configuration.answerTimeout = .seconds(10)
        let adapter = try adapter(configuration, log)
        try await withRunning(adapter, RecordingIntake(), log) {
            let state = try await adapter.add(try MQTTTopic("more/{action}"))
            #expect(state == .pending)
        }
    }

    /// A lost connection is over for callers, although the next one waits until the messages in progress are settled.
    @Test func aChangeWithoutAConnectionDoesNotWaitForPlugins() async throws {
        let message = FakeAnswers.message("{}", to: "push/log", qos: 1)
        let broker = try FakeBroker([[FakeAnswers.connected, FakeAnswers.granted + message]], hangUps: 1)
        defer { broker.close() }
        let intake = RecordingIntake.holding()
        let adapter = try adapter(try .test(port: broker.port, [try MQTTTopic("push/{action}")]), EventList())
        try await ServiceRun.during({ try await adapter.run(into: intake) }, onFailure: intake.settleAll) {
            _ = await intake.taken.first(1)
            let state = try await adapter.add(try MQTTTopic("more/{action}"))
            #expect(state == .pending)
            intake.taken.all.first?.settle()
        }
    }

    @Test func aRefusedTopicMayBeAddedAgain() async throws {
        let refused: [UInt8] = [0x90, 0x04, 0x00, 0x02, 0x00, 0x87]
        let granted: [UInt8] = [0x90, 0x04, 0x00, 0x03, 0x00, 0x01]
        let broker = try FakeBroker([FakeAnswers.welcome + [refused, granted]])
        defer { broker.close() }
        let log = EventList<String>()
        let adapter = try adapter(try .test(port: broker.port, [try MQTTTopic("push/{action}")]), log)
        try await withRunning(adapter, RecordingIntake(), log) {
            let topic = try MQTTTopic("secret/{action}")
            await #expect(throws: MQTTPushError.self) { try await adapter.add(topic) }
            let state = try await adapter.add(topic)
            #expect(state == .done)
        }
    }

    @Test func invalidChangesAreRefused() async throws {
        let adapter = try adapter(try .test(port: 1, [try MQTTTopic("push/{action}")]), EventList())
        func refuses(_ body: () async throws -> Void) async {
            let error = await #expect(throws: MQTTPushError.self) { try await body() }
            #expect(error?.code == .invalidConfiguration)
        }
        await refuses { try await adapter.remove("push/+") }
        await refuses { try await adapter.remove("none") }
        await refuses { try await adapter.add(try MQTTTopic("push/{other}")) }
        await refuses { try await adapter.add(try MQTTTopic("a/+", payload: .text)) }
        await refuses { try await adapter.add(try MQTTTopic("a/{action}"), to: "nowhere") }
        for number in 1...999 { try await adapter.add(try MQTTTopic("t\(number)/{action}")) }
        await refuses { try await adapter.add(try MQTTTopic("one-too-many/{action}")) }
    }
}

/// The topic changes that the source's thread receives, and when their callers return.
@Suite(.timeLimit(.minutes(10)))
struct SubscriptionManagerTests {
    private func waitForRevision(_ subscriptions: SubscriptionManager, to revision: Int) async {
        while !Task.isCancelled, subscriptions.revision < revision { await Task.yield() }
    }

    @Test func aReaddedTopicIsSubscribedAgain() async throws {
        let more = try MQTTTopic("more/{action}")
        let subscriptions = SubscriptionManager([try MQTTTopic("push/{action}"), more])
        subscriptions.connected(try WakeSignal())
        let removed = Task { try await subscriptions.remove("more/+") }
        await waitForRevision(subscriptions, to: 1)
        let added = Task { try await subscriptions.add(more) }
        await waitForRevision(subscriptions, to: 2)
        let snapshot = subscriptions.snapshot(clearingAdded: true)
        #expect(snapshot.filtersToUnsubscribe.isEmpty && snapshot.added == ["more/+"])
        #expect(snapshot.topics.map(\.pattern.filter.text) == ["push/+", "more/+"])
        // The caller of `remove` returns before the subscription is answered.
        #expect(try await removed.value == .done)
        subscriptions.subscribed(["more/+"], refused: [:])
        #expect(try await added.value == .done)
        #expect(subscriptions.snapshot(clearingAdded: true).added.isEmpty)
    }

    @Test func unsubackDoesNotAnswerAReaddedTopic() async throws {
        let more = try MQTTTopic("more/{action}")
        let subscriptions = SubscriptionManager([try MQTTTopic("push/{action}"), more])
        subscriptions.connected(try WakeSignal())
        let removed = Task { try await subscriptions.remove("more/+") }
        await waitForRevision(subscriptions, to: 1)
        #expect(subscriptions.snapshot(clearingAdded: true).filtersToUnsubscribe == ["more/+"])
        let added = Task { try await subscriptions.add(more) }
        await waitForRevision(subscriptions, to: 2)
        subscriptions.unsubscribed(["more/+"])
        #expect(try await removed.value == .done)
        #expect(subscriptions.snapshot(clearingAdded: true).added == ["more/+"])
        let error = MQTTPushError(.subscriptionRefused, "no")
        subscriptions.subscribed(["more/+"], refused: ["more/+": error])
        await #expect(throws: error) { try await added.value }
    }

    private func former(_ subscriptions: SubscriptionManager) -> [String] {
        subscriptions.snapshot(clearingAdded: false).former.map(\.pattern.filter.text)
    }

    @Test func aRemovedTopicIsFormerUntilReaddedOrANewSession() async throws {
        let more = try MQTTTopic("more/{action}")
        let subscriptions = SubscriptionManager([more, try MQTTTopic("push/{action}")])
        #expect(try await subscriptions.remove("more/+") == .pending)
        subscriptions.unsubscribed(["more/+"])
        #expect(former(subscriptions) == ["more/+"])
        #expect(try await subscriptions.add(more) == .pending)
        #expect(former(subscriptions).isEmpty)
        #expect(try await subscriptions.remove("more/+") == .pending)
        subscriptions.newSessionStarted()
        let snapshot = subscriptions.snapshot(clearingAdded: false)
        #expect(snapshot.former.isEmpty && snapshot.filtersToUnsubscribe.isEmpty)
    }

    @Test func aTopicRefusedOnReaddingStaysFormer() async throws {
        let more = try MQTTTopic("more/{action}")
        let subscriptions = SubscriptionManager([more, try MQTTTopic("push/{action}")])
        #expect(try await subscriptions.remove("more/+") == .pending)
        subscriptions.connected(try WakeSignal())
        let added = Task { try await subscriptions.add(more) }
        await waitForRevision(subscriptions, to: 2)
        subscriptions.subscribed(["more/+"], refused: ["more/+": MQTTPushError(.subscriptionRefused, "no")])
        await #expect(throws: MQTTPushError.self) { try await added.value }
        #expect(former(subscriptions) == ["more/+"])
    }

    @Test func theOldestFormerTopicIsDropped() async throws {
        let subscriptions = SubscriptionManager([try MQTTTopic("push/{action}")])
        for number in 0...SubscriptionManager.bound {
            let filter = "t\(number)/+"
            _ = try await subscriptions.add(try MQTTTopic("t\(number)/{action}"))
            _ = try await subscriptions.remove(filter)
            subscriptions.unsubscribed([filter])
        }
        #expect(former(subscriptions).count == SubscriptionManager.bound && former(subscriptions).first == "t1/+")
    }

    @Test func aDisconnectOfAnotherRunIsIgnored() async throws {
        let subscriptions = SubscriptionManager([try MQTTTopic("push/{action}")])
        subscriptions.connected(try WakeSignal())
        let added = Task { try await subscriptions.add(try MQTTTopic("more/{action}")) }
        await waitForRevision(subscriptions, to: 1)
        subscriptions.disconnected(try WakeSignal())
        subscriptions.subscribed(["more/+"], refused: [:])
        #expect(try await added.value == .done)
    }
}
