import BrokerKit
import Logging
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

/// MQTT 3.1.1 and 5, QoS 0 and 1, retained messages and shared subscriptions.
@Suite(.timeLimit(.minutes(10)))
struct VersionTests {
    private func configuration(
        _ broker: Broker,
        _ version: MQTTVersion,
        _ pattern: String = "push/{action}",
        clientID: String = "signalbox-test",
        _ change: (inout MQTTTopic) -> Void = { _ in }
    ) throws -> MQTTPushConfiguration {
        var topic = try MQTTTopic(pattern)
        change(&topic)
        var configuration = try MQTTPushConfiguration.test(broker, [topic], clientID: clientID)
        configuration.version = version
        return configuration
    }

    private func names(_ arrivals: [Arrival]) -> [String] {
        arrivals.map { (try? $0.reading.get().name.text) ?? "unreadable" }
    }

    @Test(arguments: MQTTVersion.allCases)
    func aSessionKeepsMessagesAndRedeliversUnacknowledgedOnes(version: MQTTVersion) async throws {
        try await Broker.with { broker in
            let configuration = try configuration(broker, version)
            try await PushTrial.run(configuration) { _ in }
            try await broker.publish("{}", to: "push/away")
            let intake = RecordingIntake.holding()
            try await PushTrial.run(configuration, into: intake, subscribed: false) { trial in
                await intake.taken.first(1)[0].abandon()
                await trial.waitForLog("abandoned; the connection")
                let again = await intake.taken.first(2)[1]
                #expect(again.name == "away" && again.arrival.pushFacts?.qos == 1)
                again.settle()
            }
            try await PushTrial.run(configuration) { trial in
                try await broker.publish("{}", to: "push/last")
                #expect(names(await trial.arrivals(1)) == ["last"])
            }
        }
    }

    @Test(arguments: MQTTVersion.allCases)
    func theSubscriptionRequestsTheTopicsQoS(version: MQTTVersion) async throws {
        try await Broker.with { broker in
            var configuration = try configuration(broker, version, "fast/{action}") { $0.qos = .atMostOnce }
            configuration.topics.append(try MQTTTopic("sure/{action}"))
            try await PushTrial.run(configuration) { trial in
                #expect(await trial.waitForLog("subscribed to").contains("2 topic filters"))
                try await broker.publish("{}", to: "fast/a")
                try await broker.publish("{}", to: "sure/b")
                let arrivals = await trial.arrivals(2)
                #expect(arrivals.map(\.pushFacts?.qos) == [0, 1])
                #expect(!trial.log.all.contains { $0.contains("grants only") })
            }
        }
    }

    @Test func aLowerQoSThanRequestedIsLogged() async throws {
        let zero: [UInt8] = [0x90, 0x04, 0x00, 0x01, 0x00, 0x00]
        for qos in MQTTQoS.allCases {
            let broker = try FakeBroker([[FakeAnswers.connected, zero]])
            defer { broker.close() }
            var topic = try MQTTTopic("push/{action}")
            topic.qos = qos
            try await PushTrial.run(try .test(port: broker.port, [topic])) { trial in
                let isLogged = trial.log.all.contains { $0.contains("grants only QoS 0 for \"push/+\"") }
                #expect(isLogged == (qos == .atLeastOnce))
            }
        }
    }

    @Test(arguments: MQTTVersion.allCases)
    func retainedMessagesArriveUnlessIgnored(version: MQTTVersion) async throws {
        try await Broker.with { broker in
            try await broker.publish("{}", to: "push/stored", retain: true)
            try await PushTrial.run(try configuration(broker, version)) { trial in
                #expect(names(await trial.arrivals(1)) == ["stored"])
            }
            let ignoring = try configuration(broker, version, clientID: "other") { $0.retained = .ignore }
            try await PushTrial.run(ignoring) { trial in
                try await broker.publish("{}", to: "push/live", retain: true)
                #expect(names(await trial.arrivals(1)) == ["live"])
                // A broker that speaks MQTT 5 withholds them itself.
                if version == .v311 {
                    _ = await trial.waitForLog("1 retained message was dropped")
                } else {
                    #expect(!trial.log.all.contains { $0.contains("retained messages were dropped") })
                }
            }
            // Dropped messages were acknowledged, so they are not redelivered.
            try await PushTrial.run(ignoring) { trial in
                try await broker.publish("{}", to: "push/again")
                #expect(names(await trial.arrivals(1)) == ["again"])
            }
        }
    }

    @Test(arguments: [
        (1, 132, "does not support this version"), (2, 133, "Check the client id"), (3, 136, ""),
        (4, 134, "Check username and password"), (5, 135, "Check username and password"), (77, 128, ""),
    ])
    func mqtt311ReturnCodesAreTranslated(code: UInt8, reason: Int32, advice: String) async throws {
        #expect(ReasonCode(returnCode: Int32(code)).rawValue == reason)
        let broker = try FakeBroker([[[0x20, 0x02, 0x00, code]]])
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        configuration.version = .v311
        try await PushTrial.run(configuration, subscribed: false) { trial in
            let line = await trial.waitForLog("refused the connection")
            #expect(line.contains("(\(reason))") && line.contains(advice), "\(line)")
        }
    }

    @Test func aRefusedLoginIsReported() async throws {
        try await Broker.with(BrokerOptions(users: ["anna": "right"])) { broker in
            for version in MQTTVersion.allCases {
                var configuration = try configuration(broker, version)
                configuration.username = .text("anna")
                configuration.password = .text("wrong")
                configuration.firstConnectionMustSucceed = true
                let quiet = Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
                let adapter = try MQTTPushAdapter(configuration, logger: quiet)
                let error = await #expect(throws: MQTTPushError.self) {
                    try await adapter.run(into: RecordingIntake())
                }
                // mosquitto does not report whether the password was wrong.
                #expect(error?.code == .notAuthorized)
            }
        }
    }

    @Test func mqtt311RefusesACleanStartThatKeepsASession() throws {
        var configuration = try MQTTPushConfiguration.test(port: 1, [try MQTTTopic("a/{action}")])
        configuration.version = .v311
        try configuration.validate()
        configuration.cleanStart = true
        #expect(throws: MQTTPushError.self) { try configuration.validate() }
    }

    @Test(arguments: MQTTVersion.allCases)
    func aSharedSubscriptionDeliversEachMessageToOneMember(version: MQTTVersion) async throws {
        try await Broker.with { broker in
            let pattern = "$share/workers/push/{action}"
            let intake = RecordingIntake()
            try await PushTrial.run(try configuration(broker, version, pattern, clientID: "one"), into: intake) { _ in
                let two = try configuration(broker, version, pattern, clientID: "two")
                try await PushTrial.run(two, into: intake) { _ in
                    try await broker.publish(lines: (0..<20).map { "\($0)" }, to: "push/job")
                    let taken = await intake.taken.first(20)
                    #expect(Set(taken.map(\.text)).count == 20)
                    #expect(taken.allSatisfy { $0.arrival.pushFacts?.topic == "push/job" && $0.name == "job" })
                }
            }
        }
    }

    @Test(arguments: MQTTVersion.allCases)
    func aWildcardDoesNotMatchSysTopics(version: MQTTVersion) async throws {
        try await Broker.with { broker in
            func topic(_ topic: inout MQTTTopic) {
                topic.action = "any"
                topic.payload = .text
            }
            let own = try configuration(broker, version, "$SYS/#", clientID: "own", topic)
            try await PushTrial.run(own) { trial in
                let arrivals = await trial.arrivals(10)
                #expect(arrivals.allSatisfy { $0.pushFacts?.topic.hasPrefix("$SYS/broker/") == true })
            }
            try await PushTrial.run(try configuration(broker, version, "#", topic)) { trial in
                try await broker.publish("1", to: "plain")
                #expect(await trial.arrivals(1)[0].pushFacts?.topic == "plain")
            }
        }
    }

    @Test func aWillIsPublishedAfterALostConnectionAndNotAfterDisconnect() async throws {
        try await Broker.with { broker in
            let relay = try Relay()
            defer { relay.close() }
            relay.forward(to: UInt16(broker.port))
            for version in MQTTVersion.allCases {
                var willSource = try MQTTPushConfiguration.test(
                    port: Int(relay.port),
                    [try MQTTTopic("push/{action}")],
                    clientID: "willSource"
                )
                willSource.version = version
                willSource.will = MQTTWill(topic: "wills/gone", payload: Array("\"bye\"".utf8))
                let willReceiverConfiguration = try configuration(
                    broker,
                    version,
                    "wills/{action}",
                    clientID: "willReceiver-\(version)"
                )
                try await PushTrial.run(willReceiverConfiguration) { willReceiver in
                    try await PushTrial.run(willSource) { _ in }
                    try await broker.publish("{}", to: "wills/none")
                    try await PushTrial.run(willSource) { trial in
                        relay.cut()
                        let arrivals = await willReceiver.arrivals(2)
                        #expect(names(arrivals) == ["none", "gone"])
                        #expect(arrivals[1].pushFacts?.qos == 1)
                        relay.mend()
                        // A stop before the second subscription would skip the DISCONNECT and cause another will.
                        await trial.waitForLog("subscribed to", times: 2)
                    }
                }
            }
        }
    }
}
