import BrokerKit
import MQTTPush
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// Lost sessions, and several connections of one source.
@Suite(.timeLimit(.minutes(10)))
struct SessionTests {
    private func configuration(_ broker: Broker) throws -> MQTTPushConfiguration {
        var configuration = try MQTTPushConfiguration.test(broker, [try MQTTTopic("push/{action}")])
        configuration.announcesConnections = true
        return configuration
    }

    @Test func aLostSessionIsAnnouncedBeforeTheNextMessage() async throws {
        try await Broker.with(BrokerOptions(isPersistent: false)) { broker in
            let intake = RecordingIntake()
            try await PushTrial.run(try configuration(broker), into: intake) { trial in
                await broker.kill()
                await trial.waitForLog("cannot reach ")
                try await broker.restart()
                await trial.waitForLog("subscribed to", times: 2)
                try await broker.publish("{}", to: "push/next")
                let arrivals = await trial.arrivals(2)
                let lost = try arrivals[0].action()
                #expect(lost.name == .pushSessionLost && lost.name.text == "signalbox.sessionLost")
                #expect(
                    lost.body.jsonText == #"{"broker":"127.0.0.1:\#(broker.port)","client_id":"signalbox-test"}"#
                )
                #expect(arrivals[0].pushFacts?.topic.isEmpty == true)
                #expect(try arrivals[1].action().name == "next")
                await trial.waitForLog("may be missing")
            }
        }
    }

    @Test func anAbandonedSessionLossIsAnnouncedAgain() async throws {
        try await Broker.with(BrokerOptions(isPersistent: false)) { broker in
            let intake = RecordingIntake.holding()
            try await PushTrial.run(try configuration(broker), into: intake) { trial in
                await broker.kill()
                await trial.waitForLog("cannot reach ")
                try await broker.restart()
                let lost = await intake.taken.first(1)[0]
                #expect(lost.name == "signalbox.sessionLost")
                lost.abandon()
                let again = await intake.taken.first(2)[1]
                #expect(again.name == "signalbox.sessionLost")
                again.settle()
                await trial.waitForLog("subscribed to", times: 2)
                try await broker.publish("{}", to: "push/next")
                let next = await intake.taken.first(3)[2]
                #expect(next.name == "next")
                next.settle()
            }
        }
    }

    @Test func aKeptSessionIsNotAnnounced() async throws {
        try await Broker.with { broker in
            let intake = RecordingIntake()
            try await PushTrial.run(try configuration(broker), into: intake) { trial in
                await broker.stop()
                await trial.waitForLog("cannot reach ")
                try await broker.restart()
                await trial.waitForLog("subscribed to", times: 2)
                try await broker.publish("{}", to: "push/next")
                #expect(try await trial.arrivals(1)[0].action().name == "next")
            }
        }
    }

    @Test func aPublishedSessionLossIsRejected() async throws {
        try await Broker.with { broker in
            try await PushTrial.run(try configuration(broker)) { trial in
                try await broker.publish("{}", to: "push/signalbox.sessionLost")
                #expect(await trial.arrivals(1)[0].rejection?.reason == .malformed)
            }
        }
    }

    @Test func aHeldMessageBlocksNoOtherMessages() async throws {
        try await Broker.with { broker in
            var configuration = try configuration(broker)
            configuration.connections = [
                MQTTConnection(name: "urgent", topics: [try MQTTTopic("urgent/{action}")]),
                MQTTConnection(name: "more", topics: [try MQTTTopic("more/{action}")]),
            ]
            let intake = RecordingIntake.holding()
            try await PushTrial.run(configuration, into: intake) { trial in
                await trial.waitForLog("subscribed to", times: 3)
                try await broker.publish("{}", to: "push/held")
                let held = await intake.taken.first(1)[0]
                try await broker.publish("{}", to: "push/waiting")
                try await broker.publish("{}", to: "urgent/now")
                let others = await intake.taken.first(3).dropFirst()
                #expect(Set(others.map(\.name)) == ["waiting", "now"])
                #expect(others.contains { $0.arrival.pushFacts?.topic == "urgent/now" })
                for other in others { other.settle() }
                held.settle()
                for prefix in ["connection urgent: ", "connection more: ", ""] {
                    let line = "info push: \(prefix)connected to broker"
                    #expect(trial.log.all.contains { $0.hasPrefix(line) })
                }
            }
            // Each connection has its own session under its own client id.
            try await broker.publish("{}", to: "urgent/away")
            let again = RecordingIntake()
            try await PushTrial.run(configuration, into: again) { trial in
                let away = try await trial.arrivals(1)[0].action()
                #expect(away.name == "away")
            }
            #expect(broker.log.contains(" as signalbox-test-urgent "))
        }
    }

    @Test func connectionNamesAreValidated() throws {
        var configuration = try MQTTPushConfiguration.test(port: 1, [try MQTTTopic("a/{action}")])
        func check(_ names: [String]) throws {
            let topics = [try MQTTTopic("b/{action}")]
            configuration.connections = names.map { MQTTConnection(name: $0, topics: topics) }
            try configuration.validate()
        }
        try check(["urgent", "a.B_9-"])
        for names in [[""], ["a b"], ["a", "a"], ["\u{E9}"], [String(repeating: "x", count: 65)]] {
            #expect(throws: MQTTPushError.self) { try check(names) }
        }
        #expect(throws: MQTTPushError.self) { try check((0...16).map { "c\($0)" }) }
        configuration.connections = [MQTTConnection(name: "none", topics: [])]
        #expect(throws: MQTTPushError.self) { try configuration.validate() }
    }

    @Test func oneProcessUsesSeveralBrokers() async throws {
        try await Broker.with { one in
            try await Broker.with { two in
                try await PushTrial.run(try configuration(one)) { first in
                    try await PushTrial.run(try configuration(two)) { second in
                        try await one.publish("{}", to: "push/one")
                        try await two.publish("{}", to: "push/two")
                        let brokers = [await first.arrivals(1)[0], await second.arrivals(1)[0]].map(\.pushFacts?.broker)
                        #expect(brokers == [one, two].map { "127.0.0.1:\($0.port)" })
                        #expect(try await second.arrivals(1)[0].action().name == "two")
                    }
                }
            }
        }
    }
}
