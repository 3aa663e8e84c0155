import BrokerKit
import Foundation
import Logging
import MQTTPush
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10)))
struct DeliveryTests {
    private static func topics() throws -> [MQTTTopic] { [try MQTTTopic("push/{action}/{id}")] }

    private static func id(_ taken: RecordingIntake.Taken) -> String {
        (try? taken.arrival.reading.get().id.text) ?? "unreadable"
    }

    @Test func messagesSentWhileTheSourceIsDisconnectedArriveLater() async throws {
        try await Broker.with { broker in
            let configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            try await PushTrial.run(configuration) { _ in }
            try await broker.publish("{}", to: "push/log/1")
            try await PushTrial.run(configuration) { trial in
                let line = await trial.waitForLog("connected to broker")
                #expect(line.contains("session resumed"))
                #expect(await trial.firstID() == "1")
            }
        }
    }

    @Test func anUnacknowledgedMessageIsRedeliveredAfterABrokerRestart() async throws {
        try await Broker.with { broker in
            let intake = RecordingIntake.holding()
            try await PushTrial.run(try .test(broker, try Self.topics()), into: intake) { trial in
                try await broker.publish("{}", to: "push/log/1")
                let first = await intake.taken.first(1)[0]
                await broker.stop()
                first.settle()
                await trial.waitForLog("retrying in")
                try await broker.restart()
                let second = await intake.taken.first(2)[1]
                #expect(Self.id(second) == "1")
                second.settle()
            }
        }
    }

    @Test func aSourceLogsALostSessionAndResubscribes() async throws {
        try await Broker.with(BrokerOptions(isPersistent: false)) { broker in
            try await PushTrial.run(try .test(broker, try Self.topics())) { trial in
                await broker.kill()
                try await broker.restart()
                let line = await trial.waitForLog("lost the session")
                #expect(line.hasPrefix("warning push: "))
                await trial.waitForLog("subscribed to", times: 2)
                try await broker.publish("{}", to: "push/log/1")
                #expect(await trial.firstID() == "1")
            }
        }
    }

    @Test func anAbandonedMessageDropsTheConnectionAndIsRedelivered() async throws {
        try await Broker.with { broker in
            let intake = RecordingIntake.holding()
            try await PushTrial.run(try .test(broker, try Self.topics()), into: intake) { trial in
                try await broker.publish("{}", to: "push/log/1")
                await intake.taken.first(1)[0].abandon()
                let line = await trial.waitForLog("abandoned")
                #expect(line.contains("1 message was abandoned") && line.contains("retrying in"))
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

    @Test func malformedAndOversizedMessagesAreNotRedelivered() async throws {
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

    @Test func aMessageOverFourTimesTheLimitIsWithheldByTheBroker() async throws {
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

    @Test func aStopWaitsForSettlementAndSendsTheAcknowledgement() async throws {
        try await Broker.with { broker in
            let configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            let intake = RecordingIntake.holding()
            try await PushTrial.run(configuration, into: intake) { _ in
                try await broker.publish("{}", to: "push/log/1")
                let taken = await intake.taken.first(1)
                // The run is cancelled when this closure returns; another task settles the message after that.
                Task.detached { taken[0].settle() }
            }
            try await broker.publish("{}", to: "push/log/2")
            try await PushTrial.run(configuration) { trial in
                #expect(await trial.firstID() == "2")
            }
        }
    }

    @Test func aFullWindowPausesReadingWithoutLoss() async throws {
        try await Broker.with { broker in
            let configuration = try MQTTPushConfiguration.test(broker, try Self.topics())
            try await PushTrial.run(configuration) { _ in }
            for number in 1...40 { try await broker.publish("{}", to: "push/log/\(number)") }
            let intake = RecordingIntake(room: 5)
            // The broker sends SUBACK behind the messages, so the source receives it only when the window has room.
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

    @Test func aClosedIntakeEndsTheRunWithoutLosingMessages() async throws {
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

@Suite(.timeLimit(.minutes(10)))
struct BrokerRestartTests {
    @Test func aBrokerRestartLosesNoAcknowledgedMessage() async throws {
        let count = 5_000
        try await Broker.with { broker in
            let log = broker.folder.appendingPathComponent("acknowledged.txt")
            try await PushTrial.run(try .test(broker, [try MQTTTopic("push/{action}")])) { trial in
                let publisher = try RunningProgram(
                    BuiltProgram.path("RecordingPublisher"),
                    [
                        "--port", "\(broker.port)", "--topic", "push/log", "--count", "\(count)", "--payload",
                        #"{"n":{n}}"#, "--log", log.path,
                    ]
                )
                _ = await trial.intake.taken.wait { $0.count >= count / 4 }
                await broker.stop()
                try await broker.restart()
                #expect(await publisher.status() == 0)
                let acknowledged = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").compactMap {
                    Int($0)
                }
                #expect(Set(acknowledged) == Set(1...count))
                // Redelivered messages arrive out of order: when the last has arrived, others may still be missing.
                let arrived = await trial.intake.taken.wait { Self.numbers($0).count == count }
                #expect(Self.numbers(arrived) == Set(1...count))
            }
        }
    }

    @Test func aRefusedPublisherExitsWithStatus2() async throws {
        try await Broker.with(BrokerOptions(users: ["alice": "secret"])) { broker in
            let publisher = try RunningProgram(
                BuiltProgram.path("RecordingPublisher"),
                ["--port", "\(broker.port)", "--log", broker.folder.appendingPathComponent("acknowledged.txt").path]
            )
            #expect(await publisher.status() == 2)
        }
    }

    private static func numbers(_ taken: [RecordingIntake.Taken]) -> Set<Int> {
        guard taken.count >= 5_000 else { return [] }
        return Set(taken.compactMap { try? $0.arrival.reading.get().body.decode([String: Int].self)["n"] })
    }
}

/// Connections dropped because of abandoned messages: the source sends DISCONNECT, so no will is published.
@Suite(.timeLimit(.minutes(10)))
struct AbandonmentTests {
    /// Abandons a message once and checks that no will is published before the redelivery.
    private func abandon(_ broker: Broker, _ configuration: MQTTPushConfiguration) async throws {
        var willSource = configuration
        willSource.will = MQTTWill(topic: "wills/gone", payload: Array("\"bye\"".utf8))
        // The broker has read the DISCONNECT, or has missed it, before the source reconnects.
        willSource.lingerTimeout = .seconds(300)
        let willReceiverConfiguration = try MQTTPushConfiguration.test(
            port: broker.openPort,
            [try MQTTTopic("wills/{action}")],
            clientID: "willReceiver"
        )
        try await PushTrial.run(willReceiverConfiguration) { willReceiver in
            let intake = RecordingIntake.holding()
            try await PushTrial.run(willSource, into: intake) { _ in
                try await broker.publish("{}", to: "push/work")
                await intake.taken.first(1)[0].abandon()
                let again = await intake.taken.first(2)[1]
                #expect(again.name == "work")
                // A will of the first connection would have arrived before this message.
                try await broker.publish("{}", to: "wills/none")
                #expect(try await willReceiver.arrivals(1)[0].action().name == "none")
                again.settle()
            }
        }
    }

    @Test(arguments: MQTTVersion.allCases)
    func aPlainConnectionIsDroppedWithoutItsWill(version: MQTTVersion) async throws {
        try await Broker.with { broker in
            var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic("push/{action}")])
            configuration.version = version
            try await abandon(broker, configuration)
        }
    }

    @Test func aConnectionOverTLSIsDroppedWithoutItsWill() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var options = BrokerOptions()
        options.security = .tls(authority)
        try await Broker.with(options) { broker in
            try await abandon(broker, try .secure(broker, .tls(.authority(file: authority.authorityFile))))
        }
    }
}

/// A plugin that takes three keep-alive intervals: the broker must not consider the connection dead.
@Suite(.timeLimit(.minutes(10)))
struct SlowPluginTests {
    private func settleSlowly(_ broker: Broker, _ configuration: MQTTPushConfiguration) async throws {
        var configuration = configuration
        configuration.keepalive = .seconds(10)
        configuration.ackDeadline = .seconds(3_600)
        let intake = RecordingIntake.holding()
        try await PushTrial.run(configuration, into: intake) { trial in
            try await broker.publish("{}", to: "push/slow")
            let slow = await intake.taken.first(1)[0]
            // The plugin's work, whose length this test is about. A broker waits one and a half keep-alive intervals.
            try await Task.sleep(for: .seconds(30))
            slow.settle()
            try await broker.publish("{}", to: "push/next")
            let next = await intake.taken.first(2)[1]
            #expect(next.name == "next")
            next.settle()
            #expect(trial.log.all.count { $0.contains("subscribed to") } == 1)
            #expect(!trial.log.all.contains { $0.contains(" lost (") || $0.contains("closed the connection") })
        }
        #expect(!broker.log.contains("exceeded timeout"))
    }

    @Test func aSlowPluginDoesNotEndAPlainConnection() async throws {
        try await Broker.with { broker in
            try await settleSlowly(broker, try .test(broker, [try MQTTTopic("push/{action}")]))
        }
    }

    @Test func aSlowPluginDoesNotEndAConnectionOverTLS() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var options = BrokerOptions()
        options.security = .tls(authority)
        try await Broker.with(options) { broker in
            try await settleSlowly(broker, try .secure(broker, .tls(.authority(file: authority.authorityFile))))
        }
    }
}
