import AdapterSupport
import BrokerKit
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

/// A worker that leaves its groups before it stops.
@Suite(.timeLimit(.minutes(10)))
struct GroupDepartureTests {
    private static let shared = "$share/g/jobs/{action}"
    /// A limit that is never reached.
    private static let patience = Duration.seconds(600)

    /// A running worker.
    private struct Worker {
        let adapter: MQTTPushAdapter
        let intake: RecordingIntake
        let log: EventList<String>

        init(_ configuration: MQTTPushConfiguration, _ intake: RecordingIntake = RecordingIntake()) throws {
            let log = EventList<String>()
            adapter = try MQTTPushAdapter(configuration, logger: Logger(label: "push") { _ in RecordingLog(log) })
            (self.intake, self.log) = (intake, log)
        }

        func run(subscribed: Bool = true, _ body: () async throws -> Void) async throws {
            let lines = log.all.count { $0.contains("subscribed to") }
            try await ServiceRun.during({ try await adapter.run(into: intake) }, onFailure: intake.settleAll) {
                if subscribed { _ = await log.line(containing: "subscribed to", times: lines + 1) }
                try await body()
            }
        }

        /// Returns when the broker has ended the shared subscriptions.
        func untilUnsubscribed() async {
            while !Task.isCancelled, adapter.parts[0].subscriptions.departure != .messagesLeft { await Task.yield() }
        }
    }

    private func configuration(_ broker: Broker, _ id: String, topics: String...) throws -> MQTTPushConfiguration {
        try .test(broker, try (topics.isEmpty ? [Self.shared] : topics).map { try MQTTTopic($0) }, clientID: id)
    }

    /// Checks that no message waits in the session of a client.
    private func expectEmptySession(_ broker: Broker, _ version: MQTTVersion, _ id: String) async throws {
        var configuration = try configuration(broker, id, topics: "last/{action}")
        configuration.version = version
        let worker = try Worker(configuration)
        try await worker.run {
            #expect(worker.log.all.contains { $0.contains("session resumed") })
            try await broker.publish("{}", to: "last/end")
            #expect(await worker.intake.taken.first(1).map(\.name) == ["end"])
        }
    }

    /// The broker sends one message at a time, so most messages of the leaving worker wait at the broker.
    @Test(arguments: MQTTVersion.allCases)
    func assignedMessagesAreHandledAndLaterOnesGoToTheOthers(version: MQTTVersion) async throws {
        try await Broker.with(BrokerOptions(lines: ["max_inflight_messages 1"])) { broker in
            var settings = try configuration(broker, "leaving")
            settings.version = version
            let leaving = try Worker(settings, .holding())
            settings = try configuration(broker, "staying")
            settings.version = version
            let staying = try Worker(settings)
            let early = (1...10).map { "early\($0)" }
            let late = (1...10).map { "late\($0)" }
            try await leaving.run {
                for name in early { try await broker.publish("{}", to: "jobs/\(name)") }
                try await staying.run {
                    async let departure = leaving.adapter.leaveGroups(within: Self.patience)
                    await leaving.untilUnsubscribed()
                    for name in late { try await broker.publish("{}", to: "jobs/\(name)") }
                    #expect(await staying.intake.taken.first(late.count).map(\.name) == late)
                    for number in 1...early.count { await leaving.intake.taken.first(number).last?.settle() }
                    #expect(try await departure == .done)
                    #expect(leaving.intake.taken.all.map(\.name) == early)
                }
            }
            #expect(!leaving.log.all.contains { $0.contains("not acknowledged") || $0.contains("without a sub") })
            try await expectEmptySession(broker, version, "leaving")
        }
    }

    @Test func otherTopicsStayAndTheNextRunSubscribesAgain() async throws {
        try await Broker.with { broker in
            let worker = try Worker(try configuration(broker, "worker", topics: Self.shared, "own/{action}"))
            try await worker.run {
                #expect(try await worker.adapter.leaveGroups(within: Self.patience) == .done)
                try await broker.publish("{}", to: "jobs/nobody")
                try await broker.publish("{}", to: "own/a")
                #expect(await worker.intake.taken.first(1).map(\.name) == ["a"])
                let topic = try MQTTTopic("$share/other/x/{action}")
                await #expect(throws: MQTTPushError.self) { try await worker.adapter.add(topic) }
            }
            try await worker.run {
                try await broker.publish("{}", to: "jobs/b")
                #expect(await worker.intake.taken.first(2).map(\.name) == ["a", "b"])
            }
        }
    }

    @Test func withoutAGroupNothingHappens() async throws {
        try await Broker.with { broker in
            let worker = try Worker(try configuration(broker, "worker", topics: "own/{action}"))
            try await worker.run {
                let departure = try await worker.adapter.leaveGroups(within: .zero)
                #expect(departure == .done)
                let revision = worker.adapter.parts[0].subscriptions.revision
                #expect(revision == 0)
                let missing = await #expect(throws: MQTTPushError.self) {
                    try await worker.adapter.leaveGroups(of: "missing", within: .zero)
                }
                #expect(missing?.code == .invalidConfiguration)
            }
        }
    }

    /// Messages that the broker redelivers count, too.
    @Test func aDepartureContinuesOnTheNextConnection() async throws {
        try await Broker.with { broker in
            let worker = try Worker(try configuration(broker, "worker"), .holding())
            try await worker.run {
                try await broker.publish("{}", to: "jobs/a")
                let first = await worker.intake.taken.first(1)[0]
                async let departure = worker.adapter.leaveGroups(within: Self.patience)
                await worker.untilUnsubscribed()
                await broker.stop()
                // The end of a connection waits for the messages in progress.
                first.settle()
                _ = await worker.log.line(containing: "cannot reach ")
                try await broker.restart()
                await worker.intake.taken.first(2)[1].settle()
                #expect(try await departure == .done)
                try await broker.publish("{}", to: "jobs/nobody")
            }
            #expect(worker.intake.taken.all.map(\.name) == ["a", "a"])
            #expect(worker.log.all.count { $0.contains("subscribed to") } == 1)
        }
    }

    @Test func messagesInProgressAtTheLimitAreReported() async throws {
        try await Broker.with { broker in
            let worker = try Worker(try configuration(broker, "worker"), .holding())
            try await worker.run {
                try await broker.publish("{}", to: "jobs/a")
                let message = await worker.intake.taken.first(1)[0]
                let departure = Task { try await worker.adapter.leaveGroups(within: Self.patience) }
                await worker.untilUnsubscribed()
                departure.cancel()
                #expect(try await departure.value == .messagesLeft)
                message.settle()
                // The departure has gone on.
                #expect(try await worker.adapter.leaveGroups(within: Self.patience) == .done)
            }
        }
    }

    @Test func withoutABrokerTheLimitEndsTheWait() async throws {
        let (socket, port) = try LoopbackPort.refusing()
        defer { close(socket) }
        let worker = try Worker(try .test(port: Int(port), [try MQTTTopic(Self.shared)]))
        try await worker.run(subscribed: false) {
            _ = await worker.log.line(containing: "cannot reach ")
            let departure = try await worker.adapter.leaveGroups(within: .milliseconds(1))
            guard case .subscribed(let problem) = departure else {
                Issue.record("\(departure)")
                return
            }
            #expect(problem.contains("cannot reach broker"))
        }
    }

    @Test func aBrokerThatRefusesEndsTheWait() async throws {
        let broker = try ScriptedBroker.accepting { packet in
            guard packet.type == 10 else { return nil }
            return .bytes(HostilePacket.packet(0xB0, packet.identifier + [0x00, 0x87]))
        }
        defer { broker.close() }
        let worker = try Worker(try .test(port: broker.port, [try MQTTTopic(Self.shared)]))
        try await worker.run {
            let departure = try await worker.adapter.leaveGroups(within: Self.patience)
            let problem = "the broker refused to end a subscription: not authorized (135)"
            #expect(departure == .subscribed(problem: problem))
        }
    }
}
