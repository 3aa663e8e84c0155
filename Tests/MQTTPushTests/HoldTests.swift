import BrokerKit
import MQTTPush
import SignalboxCore
import SignalboxTesting
import Testing

/// A plugin that takes three times the keepalive: the broker must not take the connection for dead.
@Suite(.timeLimit(.minutes(10)))
struct HoldTests {
    private func hold(_ broker: Broker, _ configuration: MQTTPushConfiguration) async throws {
        var configuration = configuration
        configuration.keepalive = .seconds(10)
        configuration.holdLimit = .seconds(3_600)
        let intake = RecordingIntake.holding()
        try await PushTrial.run(configuration, into: intake) { trial in
            try await broker.publish("{}", to: "push/slow")
            let slow = await intake.taken.first(1)[0]
            // The work of the plugin: its length is what this is about. A broker waits for one and a half keepalives.
            try await Task.sleep(for: .seconds(30))
            slow.settle()
            try await broker.publish("{}", to: "push/next")
            let next = await intake.taken.first(2)[1]
            #expect(next.name == "next")
            next.settle()
            #expect(trial.log.all.count { $0.contains("subscribed to") } == 1)
            #expect(!trial.log.all.contains { $0.contains("was lost") || $0.contains("ended the connection") })
        }
        #expect(!broker.log.contains("exceeded timeout"))
    }

    @Test func aLongHoldKeepsAPlainConnection() async throws {
        try await Broker.with { broker in
            try await hold(broker, try .test(broker, [try MQTTTopic("push/{action}")]))
        }
    }

    @Test func aLongHoldKeepsAConnectionOverTLS() async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        var options = BrokerOptions()
        options.security = .tls(authority)
        try await Broker.with(options) { broker in
            try await hold(broker, try .secure(broker, .tls(.authority(file: authority.authorityFile))))
        }
    }
}
