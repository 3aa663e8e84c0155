import BrokerKit
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
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
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await adapter.run(into: intake) }
            _ = await log.line(containing: "subscribed to", times: lines + 1)
            do {
                try await body()
            } catch {
                // The run would wait for outcomes that can no longer arrive.
                intake.giveUp()
                group.cancelAll()
                throw error
            }
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    private func adapter(_ configuration: MQTTPushConfiguration, _ log: EventList<String>) throws -> MQTTPushAdapter {
        try MQTTPushAdapter(configuration, logger: Logger(label: "push") { _ in RecordingLog(log) })
    }

    @Test(arguments: MQTTVersion.allCases)
    func aTopicIsAddedAndRemovedWhileOthersGoOn(version: MQTTVersion) async throws {
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
    @Test func whatTheBrokerHeldForATopicStillComesWhenThatIsRemoved() async throws {
        try await Broker.with { broker in
            let topics = [try MQTTTopic("push/{action}"), try MQTTTopic("more/{action}")]
            var configuration = try MQTTPushConfiguration.test(broker, topics)
            configuration.receiveMaximum = 1
            configuration.batchMessages = 1
            let log = EventList<String>()
            let intake = RecordingIntake.holding()
            let adapter = try adapter(configuration, log)
            let names = (1...10).map { "m\($0)" }
            try await withRunning(adapter, intake, log) {
                for name in names { try await broker.publish("{}", to: "more/\(name)") }
                async let removed = adapter.remove("more/+")
                while !Task.isCancelled, adapter.parts[0].board.revision < 1 { await Task.yield() }
                for number in 1...names.count { await intake.taken.first(number).last?.settle() }
                #expect(try await removed == .done)
                #expect(intake.taken.all.map(\.name) == names)
            }
            #expect(!log.all.contains { $0.contains("nobody subscribed to") })
        }
    }

    @Test func aChangeWithoutAConnectionIsDoneWithTheNext() async throws {
        try await Broker.with { broker in
            let log = EventList<String>()
            let intake = RecordingIntake()
            let topics = [try MQTTTopic("push/{action}"), try MQTTTopic("old/{action}")]
            let adapter = try adapter(try .test(broker, topics), log)
            try await withRunning(adapter, intake, log) {}
            // The broker keeps the message in the session and delivers it although its topic is removed.
            try await broker.publish("{}", to: "old/x")
            #expect(try await adapter.add(try MQTTTopic("new/{action}")) == .remembered)
            #expect(try await adapter.remove("old/+") == .remembered)
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

    @Test func eachConnectionHasItsOwn() async throws {
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
            #expect(log.all.contains { $0.contains("connection urgent: subscribed to 1 topic filters") })
        }
    }

    @Test func aRefusedTopicIsForgotten() async throws {
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
    func whoWaitsIsToldAlthoughTheBrokerDoesNotAnswer(hangUps: Int) async throws {
        let broker = try FakeBroker([FakeAnswers.welcome + [[]]], hangUps: hangUps)
        defer { broker.close() }
        let log = EventList<String>()
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        configuration.answerTimeout = .seconds(10)
        let adapter = try adapter(configuration, log)
        try await withRunning(adapter, RecordingIntake(), log) {
            let state = try await adapter.add(try MQTTTopic("more/{action}"))
            #expect(state == .remembered)
        }
    }

    @Test func aTopicThatWasRefusedIsAskedForAgain() async throws {
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

    @Test func whatCannotBeChangedIsSaid() async throws {
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
struct TopicBoardTests {
    private func whenRevised(_ board: TopicBoard, to revision: Int) async {
        while !Task.isCancelled, board.revision < revision { await Task.yield() }
    }

    @Test func whatIsTakenBackAndAddedAgainIsAskedForAnew() async throws {
        let more = try MQTTTopic("more/{action}")
        let board = TopicBoard([try MQTTTopic("push/{action}"), more])
        board.connected(try LoopControl())
        let removed = Task { try await board.remove("more/+") }
        await whenRevised(board, to: 1)
        let added = Task { try await board.add(more) }
        await whenRevised(board, to: 2)
        let wanted = board.snapshot(takingFresh: true)
        #expect(wanted.gone.isEmpty && wanted.fresh == ["more/+"])
        #expect(wanted.topics.map(\.pattern.filter.text) == ["push/+", "more/+"])
        // The caller of `remove` returns before the subscription is answered.
        #expect(try await removed.value == .done)
        board.subscribed(["more/+"], refused: [:])
        #expect(try await added.value == .done)
        #expect(board.snapshot(takingFresh: true).fresh.isEmpty)
    }

    @Test func whatIsAddedAgainBeforeTheBrokerTookItBackIsNotAnsweredByThat() async throws {
        let more = try MQTTTopic("more/{action}")
        let board = TopicBoard([try MQTTTopic("push/{action}"), more])
        board.connected(try LoopControl())
        let removed = Task { try await board.remove("more/+") }
        await whenRevised(board, to: 1)
        #expect(board.snapshot(takingFresh: true).gone == ["more/+"])
        let added = Task { try await board.add(more) }
        await whenRevised(board, to: 2)
        board.unsubscribed(["more/+"])
        #expect(try await removed.value == .done)
        #expect(board.snapshot(takingFresh: true).fresh == ["more/+"])
        let error = MQTTPushError(.subscriptionRefused, "no")
        board.subscribed(["more/+"], refused: ["more/+": error])
        await #expect(throws: error) { try await added.value }
    }

    private func former(_ board: TopicBoard) -> [String] {
        board.snapshot(takingFresh: false).former.map(\.pattern.filter.text)
    }

    @Test func whatWasRemovedIsRememberedUntilItIsAddedAgainOrTheSessionIsNew() async throws {
        let more = try MQTTTopic("more/{action}")
        let board = TopicBoard([more, try MQTTTopic("push/{action}")])
        #expect(try await board.remove("more/+") == .remembered)
        board.unsubscribed(["more/+"])
        #expect(former(board) == ["more/+"])
        #expect(try await board.add(more) == .remembered)
        #expect(former(board).isEmpty)
        #expect(try await board.remove("more/+") == .remembered)
        board.sessionIsNew()
        let snapshot = board.snapshot(takingFresh: false)
        #expect(snapshot.former.isEmpty && snapshot.gone.isEmpty)
    }

    @Test func whatIsRefusedWhenItIsAddedAgainStaysRemembered() async throws {
        let more = try MQTTTopic("more/{action}")
        let board = TopicBoard([more, try MQTTTopic("push/{action}")])
        #expect(try await board.remove("more/+") == .remembered)
        board.connected(try LoopControl())
        let added = Task { try await board.add(more) }
        await whenRevised(board, to: 2)
        board.subscribed(["more/+"], refused: ["more/+": MQTTPushError(.subscriptionRefused, "no")])
        await #expect(throws: MQTTPushError.self) { try await added.value }
        #expect(former(board) == ["more/+"])
    }

    @Test func theOldestOfTooManyRemovedIsForgotten() async throws {
        let board = TopicBoard([try MQTTTopic("push/{action}")])
        for number in 0...TopicBoard.bound {
            let filter = "t\(number)/+"
            _ = try await board.add(try MQTTTopic("t\(number)/{action}"))
            _ = try await board.remove(filter)
            board.unsubscribed([filter])
        }
        #expect(former(board).count == TopicBoard.bound && former(board).first == "t1/+")
    }

    @Test func theEndOfAnotherRunsConnectionIsNone() async throws {
        let board = TopicBoard([try MQTTTopic("push/{action}")])
        board.connected(try LoopControl())
        let added = Task { try await board.add(try MQTTTopic("more/{action}")) }
        await whenRevised(board, to: 1)
        board.disconnected(try LoopControl())
        board.subscribed(["more/+"], refused: [:])
        #expect(try await added.value == .done)
    }
}
