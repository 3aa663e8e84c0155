import BrokerKit
import MQTTPush
import SignalboxCore
import SignalboxTesting
import Testing

@Suite(.timeLimit(.minutes(10)))
struct HostileBrokerTests {
    /// Runs a source against a broker that plays `script` first and then behaves.
    private func survive(
        _ script: FakeBroker.Script,
        saying text: String,
        _ check: (PushTrial) -> Void = { _ in }
    ) async throws {
        let broker = try FakeBroker([script, FakeAnswers.welcome])
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        try await PushTrial.run(configuration, subscribed: false) { trial in
            await trial.hears(text)
            await trial.hears("subscribed to 1 topic filters")
            check(trial)
        }
    }

    @Test func noiseInsteadOfAGreetingIsALostConnection() async throws {
        try await survive([[0x00, 0x02, 0x13, 0x37]], saying: "was lost")
    }

    @Test func aPacketWithALengthWithoutEndIsALostConnection() async throws {
        let endless: [UInt8] = [0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        try await survive([FakeAnswers.connected, FakeAnswers.granted + endless], saying: "was lost")
    }

    @Test func aMessageOfQoS2IsNotTaken() async throws {
        let message = FakeAnswers.message("{}", to: "push/log", qos: 2)
        let release: [UInt8] = [0x62, 0x02, 0x00, 0x01]
        try await survive(
            [FakeAnswers.connected, FakeAnswers.granted + message + release],
            saying: "sent what MQTT forbids"
        ) { #expect($0.intake.taken.all.isEmpty) }
    }

    @Test func moreCodesThanFiltersAreNotRead() async throws {
        let many: [UInt8] = [0x90, 0x23, 0x00, 0x01, 0x00] + [UInt8](repeating: 0x01, count: 32)
        let broker = try FakeBroker([[FakeAnswers.connected, many]])
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        try await PushTrial.run(configuration, subscribed: false) { trial in
            await trial.hears("subscribed to 1 topic filters")
        }
    }

    @Test func aRefusedFilterIsNamed() async throws {
        let refused: [UInt8] = [0x90, 0x04, 0x00, 0x01, 0x00, 0x87]
        let broker = try FakeBroker([[FakeAnswers.connected, refused]])
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        try await PushTrial.run(configuration, subscribed: false) { trial in
            let line = await trial.hears("refused the subscription")
            #expect(line.contains("\"push/+\": not authorized (135)") && line.hasPrefix("error "))
        }
    }

    @Test func aMessageNobodySubscribedToIsARejectedArrival() async throws {
        let message = FakeAnswers.message("{}", to: "other/topic", qos: 0)
        let broker = try FakeBroker([[FakeAnswers.connected, FakeAnswers.granted + message]])
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        try await PushTrial.run(configuration) { trial in
            let arrival = await trial.arrivals(1)[0]
            #expect(arrival.rejection?.reason == .malformed && arrival.original == Bytes("{}"))
            await trial.hears("sent 1 messages that nobody subscribed to")
        }
    }

    @Test func aClientWhoseIdIsTakenOverSaysSoAndWaits() async throws {
        let goodbye: [UInt8] = [0xE0, 0x02, 0x8E, 0x00]
        try await survive(
            [FakeAnswers.connected, FakeAnswers.granted + goodbye],
            saying: "error source push: broker 127.0.0.1:"
        ) { trial in
            #expect(trial.log.all.contains { $0.contains("(142). Another client uses the same client id") })
        }
    }
}
