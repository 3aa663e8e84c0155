import BrokerKit
import MQTTPush
import SignalboxCore
import SignalboxTesting
import Testing

/// A broker plays what MQTT forbids, packet by packet: the callbacks survive, the connection ends or goes on, and what
/// came before and comes after is a message like any other.
@Suite(.timeLimit(.minutes(10)))
struct HostilePacketTests {
    private static func message(_ payload: String) -> [UInt8] {
        FakeAnswers.message(payload, to: "push/log", qos: 0)
    }

    /// What a good connection answers after the hostile one.
    private static let recovery = [FakeAnswers.connected, FakeAnswers.granted + message("3")]

    private func run(
        _ scripts: [FakeBroker.Script],
        hangUps: Int = 0,
        _ body: (PushTrial) async throws -> Void
    ) async throws {
        let broker = try FakeBroker(scripts, hangUps: hangUps)
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        // After some of them nothing comes any more.
        configuration.answerTimeout = .seconds(10)
        try await PushTrial.run(configuration, subscribed: false, body)
    }

    /// The payloads that arrived until one of the two that end a script did: behind the packet, or from the good connection.
    private func payloads(_ trial: PushTrial) async -> [String] {
        await trial.intake.taken.wait { ["2", "3"].contains($0.last?.text) }.map(\.text)
    }

    @Test(arguments: HostilePacket.greetings)
    func aGreetingThatIsNoneEndsTheConnection(_ packet: HostilePacket) async throws {
        let isGreeting = packet.answer == .takes
        let script = [
            packet.bytes + (isGreeting ? [] : FakeAnswers.connected), FakeAnswers.granted + Self.message("2"),
        ]
        try await run([script, Self.recovery]) { trial in
            #expect(await payloads(trial) == [packet.answer == .drops ? "3" : "2"])
        }
    }

    @Test(arguments: HostilePacket.others + HostilePacket.messages)
    func whatABrokerMayNotSendLosesNoMessageBeforeIt(_ packet: HostilePacket) async throws {
        let behind = Self.message("1") + packet.bytes + Self.message("2")
        try await run([[FakeAnswers.connected, FakeAnswers.granted + behind], Self.recovery]) { trial in
            switch packet.answer {
            case .drops: #expect(await payloads(trial) == ["1", "3"])
            case .ignores: #expect(await payloads(trial) == ["1", "2"])
            case .takes: #expect(await payloads(trial) == ["1", "", "2"])
            }
        }
    }

    @Test func aMessageMayComeBeforeItsSubscriptionIsAcknowledged() async throws {
        let early = Self.message("1") + FakeAnswers.granted + Self.message("2")
        try await run([[FakeAnswers.connected, early]]) { trial in
            #expect(await payloads(trial) == ["1", "2"])
        }
    }

    /// MQTT would have the connection ended, and the message would come again for ever (MQTT 5.0, 3.1.2.11.4).
    @Test func aMessageOverTheLimitThatTheBrokerWasToldIsARejectedArrival() async throws {
        let payload = [UInt8](repeating: 0x20, count: 5_000)
        let rest = [0x00, 0x08] + Array("push/log".utf8) + [0x00] + payload
        let large = [0x30, UInt8(rest.count & 0x7F | 0x80), UInt8(rest.count >> 7)] + rest
        let broker = try FakeBroker([[FakeAnswers.connected, FakeAnswers.granted + large + Self.message("2")]])
        defer { broker.close() }
        var configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        configuration.limits = MessageLimits(bytes: 1_000)
        #expect(configuration.packetLimit == 4_000)
        try await PushTrial.run(configuration, subscribed: false) { trial in
            let arrivals = await trial.arrivals(2)
            #expect(arrivals[0].rejection?.reason == .malformed && arrivals[0].originalLength == 5_000)
            #expect(arrivals[1].rejection == nil)
        }
    }
}
