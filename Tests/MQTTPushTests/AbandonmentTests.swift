import BrokerKit
import MQTTPush
import SignalboxCore
import SignalboxTesting
import Testing

/// A connection that is dropped because messages were abandoned says goodbye, so the broker does not publish its will.
@Suite(.timeLimit(.minutes(10)))
struct AbandonmentTests {
    /// Abandons a message once, and checks that no will is published before the message comes again.
    private func abandon(_ broker: Broker, _ configuration: MQTTPushConfiguration) async throws {
        var mortal = configuration
        mortal.will = MQTTWill(topic: "wills/gone", payload: Array("\"bye\"".utf8))
        // The broker has read the goodbye, or has missed it, before the source connects again.
        mortal.farewellTimeout = .seconds(300)
        let heirs = try MQTTPushConfiguration.test(
            port: broker.openPort,
            [try MQTTTopic("wills/{action}")],
            clientID: "heir"
        )
        try await PushTrial.run(heirs) { heir in
            let intake = RecordingIntake.holding()
            try await PushTrial.run(mortal, into: intake) { _ in
                try await broker.publish("{}", to: "push/work")
                await intake.taken.first(1)[0].abandon()
                let again = await intake.taken.first(2)[1]
                #expect(again.name == "work")
                // A will of the first connection would have come before it.
                try await broker.publish("{}", to: "wills/none")
                #expect(try await heir.arrivals(1)[0].action().name == "none")
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
