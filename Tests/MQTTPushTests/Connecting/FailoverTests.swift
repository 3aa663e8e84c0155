import BrokerKit
import Foundation
import Logging
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import TestSupport
import Testing

@testable import MQTTPush

@Suite(.timeLimit(.minutes(10)))
struct FailoverTests {
    private static func topics() throws -> [MQTTTopic] { [try MQTTTopic("push/{action}")] }

    private func configuration(_ ports: [Int]) throws -> MQTTPushConfiguration {
        var configuration = try MQTTPushConfiguration.test(port: ports[0], Self.topics())
        configuration.furtherBrokers = try ports.dropFirst().map { try MQTTBroker(host: "127.0.0.1", port: $0) }
        // A test that waits between the brokers of a round does not end in time.
        if ports.count > 1 { configuration.reconnect.slow = .seconds(3_600) ... .seconds(3_600) }
        return configuration
    }

    @Test func aLostBrokerIsReplacedByTheNextAndTheFactsNameIt() async throws {
        try await Broker.with { first in
            try await Broker.with { second in
                var configuration = try configuration([first.port, second.port])
                configuration.announcesConnections = true
                try await PushTrial.run(configuration) { trial in
                    try await first.publish("{}", to: "push/log")
                    #expect(await trial.arrivals(1)[0].pushFacts?.broker == "127.0.0.1:\(first.port)")
                    await first.kill()
                    await trial.waitForLog("subscribed to", times: 2)
                    // The second broker has no session of this client, which the program learns.
                    let lost = await trial.arrivals(2)[1]
                    #expect(lost.pushFacts?.broker == "127.0.0.1:\(second.port)")
                    try await second.publish("{}", to: "push/log")
                    #expect(await trial.arrivals(3)[2].pushFacts?.broker == "127.0.0.1:\(second.port)")
                    #expect(await trial.waitForLog("lost the session").contains("broker 127.0.0.1:\(second.port) lost"))
                    // The first broker comes back, and is used again when the second one is lost.
                    try await first.restart()
                    await second.kill()
                    await trial.waitForLog("subscribed to", times: 3)
                    #expect(
                        trial.log.all.last { $0.contains("connected to broker") }?.contains("\(first.port)") == true
                    )
                }
            }
        }
    }

    @Test func aPublisherUsesTheListToo() async throws {
        try await Broker.with { broker in
            let closed = try FakeBroker([])
            closed.close()
            var publisher = try MQTTPublisherConfiguration.test(port: closed.port)
            publisher.furtherBrokers = [try MQTTBroker(host: "127.0.0.1", port: broker.port)]
            // The first connection need not be one to the first broker.
            publisher.firstConnectionMustSucceed = true
            try await PushTrial.run(try .test(broker, Self.topics())) { receiving in
                try await PublisherTrial.run(publisher) { trial in
                    try await trial.publisher.publish(MQTTMessage("{}", to: "push/log"))
                    #expect(await receiving.arrivals(1).count == 1)
                }
            }
        }
    }

    @Test func aRequiredFirstConnectionFailsOnceEachBrokerWasTried() async throws {
        let refusing = try [0x86, 0x87].map { try FakeBroker([[[0x20, 0x03, 0x00, $0, 0x00]]]) }
        defer { for broker in refusing { broker.close() } }
        var configuration = try configuration(refusing.map(\.port))
        configuration.firstConnectionMustSucceed = true
        let log = EventList<String>()
        let adapter = try MQTTPushAdapter(configuration, logger: Logger(label: "push") { _ in RecordingLog(log) })
        let error = await #expect(throws: MQTTPushError.self) { try await adapter.run(into: RecordingIntake()) }
        // Of two errors of the configuration, the first one is reported.
        #expect(error?.code == .badCredentials && error?.detail.contains("\(refusing[0].port)") == true)
        let lines = log.all.filter { $0.contains("trying broker 127.0.0.1:\(refusing[1].port) at once") }
        #expect(lines.count == 1 && lines[0].contains("bad user name or password (134)"))
    }

    /// A CONNACK or DISCONNECT with a server reference.
    private func reference(_ type: UInt8, _ code: UInt8, _ text: String) -> [UInt8] {
        let property: [UInt8] = [0x1C, 0, UInt8(text.utf8.count)] + Array(text.utf8)
        let body = (type == 0x20 ? [0, code] : [code]) + [UInt8(property.count)] + property
        return [type, UInt8(body.count)] + body
    }

    @Test(arguments: [(UInt8(0x20), UInt8(0x9C)), (0x20, 0x9D), (0xE0, 0x9C), (0xE0, 0x9D)])
    func aServerReferenceIsFollowedToAListedBroker(type: UInt8, code: UInt8) async throws {
        let unused = try FakeBroker([[FakeAnswers.connected]])
        defer { unused.close() }
        try await Broker.with { broker in
            let answer = reference(type, code, "elsewhere.example 127.0.0.1:\(broker.port)")
            let referring = try FakeBroker([
                type == 0x20 ? [answer] : [FakeAnswers.connected, FakeAnswers.granted + answer]
            ])
            defer { referring.close() }
            let configuration = try configuration([referring.port, unused.port, broker.port])
            try await PushTrial.run(configuration, subscribed: false) { trial in
                let line = await trial.waitForLog("at once")
                #expect(line.contains("trying broker 127.0.0.1:\(broker.port) at once"))
                try await broker.publish("{}", to: "push/log", retain: true)
                #expect(await trial.arrivals(1).count == 1)
                #expect(!trial.log.all.contains { $0.contains("elsewhere.example") })
            }
        }
    }

    @Test func aServerReferenceToAnotherServerIsNotFollowed() async throws {
        try await Broker.with { other in
            let referring = try FakeBroker(
                Array(repeating: [reference(0x20, 0x9D, "127.0.0.1:\(other.port)")], count: 3)
            )
            defer { referring.close() }
            try await PushTrial.run(try configuration([referring.port]), subscribed: false) { trial in
                let line = await trial.waitForLog("server moved (157)")
                #expect(line.contains("The broker has moved: change its address in the configuration"))
                #expect(line.contains("names the server \"127.0.0.1:\(other.port)\", which is not in the list"))
                await trial.waitForLog("connection to broker 127.0.0.1:\(referring.port) lost")
                #expect(!other.log.contains("signalbox-test"))
            }
        }
    }

    @Test func theReasonOfAWrongConfigurationOutweighsAnother() async throws {
        let refusing = try FakeBroker([[[0x20, 0x03, 0x00, 0x86, 0x00]]])
        defer { refusing.close() }
        let closed = try FakeBroker([])
        closed.close()
        var configuration = try configuration([refusing.port, closed.port])
        configuration.firstConnectionMustSucceed = true
        let adapter = try MQTTPushAdapter(
            configuration,
            logger: Logger(label: "push") { _ in SwiftLogNoOpLogHandler() }
        )
        let error = await #expect(throws: MQTTPushError.self) { try await adapter.run(into: RecordingIntake()) }
        #expect(error?.code == .badCredentials)
    }

    @Test func shuffledClientsSpreadOverTheBrokers() async throws {
        let brokers = try (0..<2).map { _ in try FakeBroker(Array(repeating: FakeAnswers.welcome, count: 64)) }
        defer { for broker in brokers { broker.close() } }
        var configuration = try configuration(brokers.map(\.port))
        configuration.brokerOrder = .shuffled
        var used: Set<String> = []
        // By chance, one broker would be used for all of 64 clients in one of 2^63 runs.
        for _ in 0..<64 where used.count < 2 {
            try await PushTrial.run(configuration) { trial in
                used.formUnion(trial.log.all.filter { $0.contains("connected to broker") })
            }
        }
        #expect(used.count == 2)
    }
}
