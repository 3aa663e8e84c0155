import BrokerKit
import MQTTPush
import SignalboxCore
import SignalboxTesting
import Testing

/// A publisher's connection over TLS, and what is said when there is none.
@Suite(.timeLimit(.minutes(10)))
struct PublisherSecurityTests {
    /// Runs `body` with a broker that wants a client certificate, and the authority of both.
    private func withBroker(_ body: (Broker, TestAuthority) async throws -> Void) async throws {
        let authority = try await TestAuthority()
        defer { authority.remove() }
        try await authority.makeClientFiles("kiosk")
        var options = BrokerOptions()
        options.security = .mutual(authority)
        try await Broker.with(options) { broker in try await body(broker, authority) }
    }

    private func configuration(_ port: Int, _ security: MQTTSecurity) throws -> MQTTPublisherConfiguration {
        var configuration = try MQTTPublisherConfiguration.test(port: port)
        configuration.broker = try MQTTBroker(host: "localhost", port: port, usesTLS: true)
        configuration.security = security
        configuration.reconnect = .toldApart
        return configuration
    }

    @Test func aPublisherAloneSpeaksTLS() async throws {
        try await withBroker { broker, authority in
            let receiving = try MQTTPushConfiguration.test(port: broker.openPort, [try MQTTTopic("open/{action}")])
            try await PushTrial.run(receiving) { receiving in
                let configuration = try configuration(broker.port, authority.security(client: "kiosk"))
                try await PublisherTrial.run(configuration) { trial in
                    // Also a message that is longer than a record of TLS.
                    let texts = ["1", "\"\(String(repeating: "x", count: 40_000))\""]
                    for text in texts { try await trial.publisher.publish(MQTTMessage(text, to: "open/log")) }
                    #expect(await receiving.arrivals(2).map { String(decoding: $0.original, as: UTF8.self) } == texts)
                    #expect(trial.publisher.counts.published == 2 && trial.publisher.counts.sentAgain == 0)
                }
            }
        }
    }

    @Test func aCertificateThatTheBrokerDoesNotTakeIsToldAndTriedAgainSlowly() async throws {
        try await withBroker { broker, authority in
            let other = try await TestAuthority()
            defer { other.remove() }
            try await other.makeClientFiles("stranger")
            let stranger = MQTTIdentity(
                certificateFile: other.path("stranger.pem"),
                keyFile: other.path("stranger.key")
            )
            let cases: [(MQTTIdentity?, String)] = [
                (stranger, "refused the client certificate"), (nil, "asks for a client certificate"),
            ]
            for (identity, text) in cases {
                let security = MQTTSecurity.tls(.authority(file: authority.authorityFile), identity: identity)
                let configuration = try configuration(broker.port, security)
                try await PublisherTrial.run(configuration, connected: false) { trial in
                    let line = await trial.log.line(containing: "next try in 3000.0 s")
                    #expect(line.contains(text) && line.hasPrefix("error "), "\(line)")
                }
            }
        }
    }

    @Test func aConnectionThatBreaksBetweenHandshakeAndGreetingIsTriedAgainSoon() async throws {
        try await withBroker { broker, authority in
            let relay = try Relay()
            defer { relay.close() }
            relay.forward(to: UInt16(broker.port))
            relay.withholdAnswers(afterRecords: 1)
            let configuration = try configuration(Int(relay.port), authority.security(client: "kiosk"))
            try await PublisherTrial.run(configuration, connected: false) { trial in
                try await relay.breakHandshaken()
                let line = await trial.log.line(containing: "next try in ")
                #expect(line.contains("was lost") && line.contains("check that the broker trusts it"), "\(line)")
                #expect(line.hasPrefix("warning ") && !line.contains("3000"), "\(line)")
                try await trial.publisher.publish(MQTTMessage("", to: "a"))
            }
        }
    }
}
