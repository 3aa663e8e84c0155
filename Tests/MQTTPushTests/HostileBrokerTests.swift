import MQTTPush
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import BrokerKit

@Suite(.timeLimit(.minutes(10)))
struct HostileBrokerTests {
    /// Runs a source against a broker that plays `script` first and then behaves.
    private func checkSurvives(
        _ script: FakeBroker.Script,
        hangUps: Int = 0,
        logging text: String,
        _ check: (PushTrial) -> Void = { _ in }
    ) async throws {
        let broker = try FakeBroker([script, FakeAnswers.welcome], hangUps: hangUps)
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        try await PushTrial.run(configuration, subscribed: false) { trial in
            await trial.waitForLog(text)
            await trial.waitForLog("subscribed to 1 topic filter")
            check(trial)
        }
    }

    @Test func noiseInsteadOfConnackEndsTheConnection() async throws {
        try await checkSurvives([[0x00, 0x02, 0x13, 0x37]], logging: "violated the MQTT protocol")
    }

    @Test func aPacketWithAnUnterminatedLengthEndsTheConnection() async throws {
        let endless: [UInt8] = [0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        try await checkSurvives(
            [FakeAnswers.connected, FakeAnswers.granted + endless],
            logging: "violated the MQTT protocol"
        )
    }

    @Test func aQoS2MessageIsAProtocolError() async throws {
        let message = FakeAnswers.message("{}", to: "push/log", qos: 2)
        let release: [UInt8] = [0x62, 0x02, 0x00, 0x01]
        try await checkSurvives(
            [FakeAnswers.connected, FakeAnswers.granted + message + release],
            logging: "violated the MQTT protocol"
        ) { #expect($0.intake.taken.all.isEmpty) }
    }

    @Test func aSubackWithMoreCodesThanFiltersIsAProtocolError() async throws {
        let many: [UInt8] = [0x90, 0x23, 0x00, 0x01, 0x00] + [UInt8](repeating: 0x01, count: 32)
        try await checkSurvives([FakeAnswers.connected, many], logging: "violated the MQTT protocol")
    }

    @Test func aRefusedFilterIsLogged() async throws {
        let refused: [UInt8] = [0x90, 0x04, 0x00, 0x01, 0x00, 0x87]
        let broker = try FakeBroker([[FakeAnswers.connected, refused]])
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        try await PushTrial.run(configuration, subscribed: false) { trial in
            let line = await trial.waitForLog("refused the subscription")
            #expect(line.contains("\"push/+\": not authorized (135)") && line.hasPrefix("error "))
        }
    }

    @Test func aMessageOnAnUnsubscribedTopicIsARejectedArrival() async throws {
        let message = FakeAnswers.message("{}", to: "other/topic", qos: 0)
        let broker = try FakeBroker([[FakeAnswers.connected, FakeAnswers.granted + message]])
        defer { broker.close() }
        let configuration = try MQTTPushConfiguration.test(port: broker.port, [try MQTTTopic("push/{action}")])
        try await PushTrial.run(configuration) { trial in
            let arrival = await trial.arrivals(1)[0]
            #expect(arrival.rejection?.reason == .malformed && arrival.original == Bytes("{}"))
            await trial.waitForLog("sent 1 message without a subscription")
        }
    }

    @Test func aSessionTakeoverIsLoggedAndRetried() async throws {
        let disconnectCode: [UInt8] = [0xE0, 0x02, 0x8E, 0x00]
        try await checkSurvives(
            [FakeAnswers.connected, FakeAnswers.granted + disconnectCode],
            logging: "error push: broker 127.0.0.1:"
        ) { trial in
            #expect(trial.log.all.contains { $0.contains("(142). Another client uses the same client id") })
        }
    }

    /// While a message is in progress, the client reads nothing more.
    @Test func theReasonBehindUnreadMessagesIsLogged() async throws {
        let host = try #require(RawHost())
        var configuration = try MQTTPushConfiguration.test(port: Int(host.port), [try MQTTTopic("push/{action}")])
        configuration.receiveMaximum = 1
        try await PushTrial.run(configuration, into: .holding(), subscribed: false) { trial in
            let peer = try #require(await host.accept())
            _ = await peer.read { !$0.isEmpty }
            peer.write(FakeAnswers.connected)
            _ = await peer.read { !$0.isEmpty }
            let messages = (1...2).map { FakeAnswers.message("{}", to: "push/log", qos: 1, packet: $0) }
            peer.write(FakeAnswers.granted + messages.flatMap { $0 } + [0xE0, 0x02, 0x8E, 0x00])
            _ = await trial.arrivals(1)
            peer.finish()
            // The client has closed the connection before the message is settled.
            _ = await peer.read { _ in false }
            trial.intake.taken.all.first?.settle()
            #expect(await trial.waitForLog("retrying in").contains("closed the connection: session taken over (142)"))
            #expect(trial.intake.taken.all.count == 1)
        }
    }

    @Test func anHTTPServerIsNoBroker() async throws {
        try await checkSurvives(
            [Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)],
            hangUps: 1,
            logging: "lost ("
        )
    }

    /// The header may promise 256 MiB (MQTT 5.0, 2.1.4); only a few bytes follow.
    @Test func aTruncatedPacketOfMaximumLengthEndsWithItsConnection() async throws {
        let start: [UInt8] = [0x30, 0xFF, 0xFF, 0xFF, 0x7F, 0x00, 0x01, 0x61]
        try await checkSurvives([FakeAnswers.connected, FakeAnswers.granted + start], hangUps: 1, logging: "lost (")
    }
}
