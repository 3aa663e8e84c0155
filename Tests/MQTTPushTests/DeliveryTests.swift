import BrokerKit
import Logging
import MQTTPush
import SignalboxCore
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct DeliveryTests {
    private static func topics() throws -> [MQTTTopic] { [try MQTTTopic("push/{action}/{id}")] }

    private static func id(_ taken: RecordingIntake.Taken) -> String {
        (try? taken.arrival.reading.get().id.text) ?? "unreadable"
    }

    @Test func messagesSentWhileTheSourceWasAwayComeWhenItIsBack() async throws {
        try await Broker.with { broker in
            let configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            try await PushTrial.run(configuration) { _ in }
            try await broker.publish("{}", to: "push/log/1")
            try await PushTrial.run(configuration) { trial in
                let line = await trial.hears("connected to broker")
                #expect(line.contains("the session was kept"))
                #expect(await trial.firstID() == "1")
            }
        }
    }

    @Test func anUnacknowledgedMessageComesAgainAfterTheBrokerRestarted() async throws {
        try await Broker.with { broker in
            let intake = RecordingIntake.holding()
            try await PushTrial.run(try .test(broker, try Self.topics()), into: intake) { trial in
                try await broker.publish("{}", to: "push/log/1")
                let first = await intake.taken.first(1)[0]
                await broker.stop()
                first.settle()
                await trial.hears("next try in")
                try await broker.restart()
                let second = await intake.taken.first(2)[1]
                #expect(Self.id(second) == "1")
                second.settle()
            }
        }
    }

    @Test func aLostSessionIsWarnedOfAndSubscribedAnew() async throws {
        try await Broker.with(BrokerOptions(isPersistent: false)) { broker in
            try await PushTrial.run(try .test(broker, try Self.topics())) { trial in
                await broker.kill()
                try await broker.restart()
                let line = await trial.hears("had lost the session")
                #expect(line.hasPrefix("warning source push: "))
                await trial.hears("subscribed to", times: 2)
                try await broker.publish("{}", to: "push/log/1")
                #expect(await trial.firstID() == "1")
            }
        }
    }

    @Test func anAbandonedMessageDropsTheConnectionAndComesAgain() async throws {
        try await Broker.with { broker in
            let intake = RecordingIntake.holding()
            try await PushTrial.run(try .test(broker, try Self.topics()), into: intake) { trial in
                try await broker.publish("{}", to: "push/log/1")
                await intake.taken.first(1)[0].abandon()
                let line = await trial.hears("abandoned")
                #expect(line.contains("1 messages were abandoned") && line.contains("next try in"))
                let again = await intake.taken.first(2)[1]
                #expect(Self.id(again) == "1")
                again.settle()
                try await broker.publish("{}", to: "push/log/2")
                let next = await intake.taken.first(3)[2]
                #expect(Self.id(next) == "2")
                next.settle()
            }
        }
    }

    @Test func whatWasAcknowledgedDoesNotComeBackEvenIfUnreadableOrTooLarge() async throws {
        try await Broker.with { broker in
            var configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            configuration.limits = MessageLimits(bytes: 1_000)
            try await PushTrial.run(configuration) { trial in
                let deep = String(repeating: "[", count: 900)
                try await broker.publish(deep, to: "push/log/1")
                try await broker.publish([0xFF, 0xFE], to: "push/log/2")
                try await broker.publish(#"""# + String(repeating: "x", count: 2_000) + #"""#, to: "push/log/3")
                try await broker.publish("{}", to: "push/log/4")
                let arrivals = await trial.arrivals(4)
                #expect(arrivals.prefix(3).map(\.rejection?.reason) == [.malformed, .malformed, .malformed])
                #expect(arrivals[2].originalLength == 2_002)
            }
            try await PushTrial.run(configuration) { trial in
                try await broker.publish("{}", to: "push/log/5")
                #expect(await trial.firstID() == "5")
            }
        }
    }

    @Test func aMessageOverFourTimesTheLimitIsKeptBackByTheBroker() async throws {
        try await Broker.with { broker in
            var configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            configuration.limits = MessageLimits(bytes: 1_000)
            try await PushTrial.run(configuration) { trial in
                try await broker.publish([UInt8](repeating: 0x20, count: 4_001), to: "push/log/1")
                try await broker.publish("{}", to: "push/log/2")
                #expect(await trial.firstID() == "2")
            }
        }
    }

    @Test func aStopWaitsForCustodyAndLetsTheAcknowledgementOut() async throws {
        try await Broker.with { broker in
            let configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            let intake = RecordingIntake.holding()
            try await PushTrial.run(configuration, into: intake) { _ in
                try await broker.publish("{}", to: "push/log/1")
                let taken = await intake.taken.first(1)
                // The run is cancelled when this returns; the settlement comes after that from elsewhere.
                Task.detached { taken[0].settle() }
            }
            try await broker.publish("{}", to: "push/log/2")
            try await PushTrial.run(configuration) { trial in
                #expect(await trial.firstID() == "2")
            }
        }
    }

    @Test func aFullWindowPausesReadingAndLosesNothing() async throws {
        try await Broker.with { broker in
            let configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            try await PushTrial.run(configuration) { _ in }
            for number in 1...40 { try await broker.publish("{}", to: "push/log/\(number)") }
            let intake = RecordingIntake(room: 5)
            // Not before the window has room does it hear that it is subscribed: the broker answers behind the messages.
            try await PushTrial.run(configuration, into: intake, subscribed: false) { trial in
                for round in 1...7 {
                    _ = await intake.roomCalls.wait { $0.count >= round }
                    #expect(intake.taken.all.count == 5 * round)
                    intake.makeRoom(5)
                }
                let all = await intake.taken.first(40)
                #expect(all.map(Self.id) == (1...40).map(String.init))
            }
            try await broker.publish("{}", to: "push/log/41")
            try await PushTrial.run(configuration) { trial in
                #expect(await trial.firstID() == "41")
            }
        }
    }

    @Test func whenTheIntakeClosesTheRunEndsAndWhatWasNotTakenComesAgain() async throws {
        try await Broker.with { broker in
            let configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            let intake = RecordingIntake(room: 0)
            let log = EventList<String>()
            let adapter = try MQTTPushAdapter(configuration, logger: .init(label: "push") { _ in RecordingLog(log) })
            async let run: Void = adapter.run(into: intake)
            _ = await log.wait { $0.contains { $0.contains("subscribed to") } }
            try await broker.publish("{}", to: "push/log/1")
            _ = await intake.roomCalls.first(1)
            intake.close()
            try await run
            try await PushTrial.run(configuration) { trial in
                #expect(await trial.firstID() == "1")
            }
        }
    }
}
