import BrokerKit
import MQTTPush
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

/// Every publish ends, and its result states whether the message may have been published.
@Suite(.timeLimit(.minutes(10)))
struct PublishCompletionTests {
    @Test func aPublishWithoutAConnectionTimesOut() async throws {
        var configuration = try MQTTPublisherConfiguration.test(port: 1)
        configuration.publishTimeout = .milliseconds(20)
        let trial = try PublisherTrial(configuration)
        let error = await publishError { try await trial.publisher.publish(MQTTMessage("", to: "a")) }
        #expect(error?.code == .timeout && error?.detail.contains("before the message was sent") == true)
        #expect(trial.publisher.counts.waiting == 0 && trial.publisher.counts.failed == 1)
    }

    @Test func anUnacknowledgedMessageIsResentOnANewConnection() async throws {
        // Under load, some attempts may not receive CONNACK in time.
        let broker = try FakeBroker(Array(repeating: [FakeAnswers.connected], count: 10_000))
        defer { broker.close() }
        var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
        configuration.answerTimeout = .seconds(1)
        configuration.stopTimeout = .zero
        try await PublisherTrial.run(configuration) { trial in
            try trial.publisher.offer(MQTTMessage("", to: "a"))
            _ = await trial.log.line(containing: "did not answer in time")
            while !Task.isCancelled, trial.publisher.counts.resent == 0 { await Task.yield() }
        }
    }

    @Test func aMessageAcknowledgedBeforeDisconnectIsNotResent() async throws {
        let acknowledged: [UInt8] = [0x40, 0x02, 0x00, 0x01]
        let shuttingDown: [UInt8] = [0xE0, 0x02, 0x8B, 0x00]
        let answers = [FakeAnswers.connected, acknowledged + shuttingDown]
        let broker = try FakeBroker([answers] + Array(repeating: [FakeAnswers.connected], count: 100))
        defer { broker.close() }
        var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
        configuration.stopTimeout = .zero
        try await PublisherTrial.run(configuration) { trial in
            try await trial.publisher.publish(MQTTMessage("", to: "a"))
            _ = await trial.log.line(containing: "closed the connection")
            _ = await trial.log.line(containing: "publisher: connected", times: 2)
            #expect(trial.publisher.counts.published == 1 && trial.publisher.counts.resent == 0)
        }
    }

    @Test func aCancelledPublishLeavesTheQueue() async throws {
        let trial = try PublisherTrial(.test(port: 1))
        let waiting = Task { await publishError { try await trial.publisher.publish(MQTTMessage("", to: "a")) } }
        waiting.cancel()
        #expect(await waiting.value?.code == .cancelled)
        #expect(trial.publisher.counts.waiting == 0)
    }

    @Test func aStopFailsMessagesThatCannotBeSent() async throws {
        let trial = try PublisherTrial(.test(port: 1))
        let waiting = Task { await publishError { try await trial.publisher.publish(MQTTMessage("", to: "a")) } }
        let running = Task { try await trial.publisher.run() }
        _ = await trial.log.line(containing: "retrying in")
        try trial.publisher.offer(MQTTMessage("", to: "b"))
        while !Task.isCancelled, trial.publisher.counts.waiting < 2 { await Task.yield() }
        running.cancel()
        try await running.value
        #expect(await waiting.value?.code == .stopped)
        #expect(trial.publisher.counts.stopped == 2 && trial.publisher.counts.waiting == 0)
        let late = await publishError { try trial.publisher.offer(MQTTMessage("", to: "c")) }
        #expect(late?.code == .stopped)
    }

    @Test func aStopSendsQueuedMessages() async throws {
        try await Broker.with { broker in
            try await PushTrial.run(try .test(broker, [try MQTTTopic("open/{action}")])) { receiving in
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    for _ in 0..<300 { try trial.publisher.offer(MQTTMessage("{}", to: "open/log")) }
                }
                #expect(await receiving.arrivals(300).count == 300)
            }
        }
    }

    @Test func aPublisherRunsAgainButNotConcurrently() async throws {
        try await Broker.with { broker in
            let trial = try PublisherTrial(.test(port: broker.port))
            for number in 1...2 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await trial.publisher.run() }
                    _ = await trial.log.line(containing: "publisher: connected", times: number)
                    await #expect(throws: MQTTPushError.self) { try await trial.publisher.run() }
                    try await trial.publisher.publish(MQTTMessage("", to: "a"))
                    group.cancelAll()
                    try await group.waitForAll()
                }
            }
            #expect(trial.publisher.counts.published == 2)
        }
    }

    @Test func anExpiredMessageIsNotSent() async throws {
        try await Broker.with { broker in
            let trial = try PublisherTrial(.test(port: broker.port))
            var message = MQTTMessage("", to: "a")
            message.expiry = .nanoseconds(1)
            try trial.publisher.offer(message)
            let running = Task { try await trial.publisher.run() }
            _ = await trial.log.line(containing: "expired before it could be sent")
            running.cancel()
            try await running.value
            #expect(trial.publisher.counts.failed == 1 && trial.publisher.counts.published == 0)
        }
    }

    @Test func aFailedRequiredFirstConnectionEndsTheRun() async throws {
        var configuration = try MQTTPublisherConfiguration.test(port: 1)
        configuration.firstConnectionMustSucceed = true
        let trial = try PublisherTrial(configuration)
        await #expect(throws: MQTTPushError.self) { try await trial.publisher.run() }
    }

    @Test(arguments: MQTTVersion.allCases)
    func theReasonForARefusedConnectionIsLogged(version: MQTTVersion) async throws {
        try await Broker.with(BrokerOptions(users: ["alice": "right"])) { broker in
            var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
            configuration.version = version
            configuration.username = .text("alice")
            configuration.password = .text("wrong")
            try await PublisherTrial.run(configuration, connected: false) { trial in
                let line = await trial.log.line(containing: "refused the connection")
                #expect(line.contains("not authorized (135)") && line.hasPrefix("error "))
                #expect(!trial.log.all.contains { $0.contains("publisher: connected") || $0.contains("wrong") })
            }
        }
    }

    @Test func theRightPasswordIsAccepted() async throws {
        try await Broker.with(BrokerOptions(users: ["alice": "right"])) { broker in
            var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
            configuration.username = .text("alice")
            configuration.password = .text("right")
            try await PublisherTrial.run(configuration) { trial in
                try await trial.publisher.publish(MQTTMessage("", to: "a"))
            }
        }
    }
}

/// TLS connections of a publisher, and the errors when one fails.
@Suite(.timeLimit(.minutes(10)))
struct PublisherSecurityTests {
    /// Runs `body` with a broker that requires a client certificate, and with the authority of both sides.
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
        configuration.reconnect = .distinguishable
        return configuration
    }

    @Test func aPublisherUsesTLS() async throws {
        try await withBroker { broker, authority in
            let receiving = try MQTTPushConfiguration.test(port: broker.openPort, [try MQTTTopic("open/{action}")])
            try await PushTrial.run(receiving) { receiving in
                let configuration = try configuration(broker.port, authority.security(client: "kiosk"))
                try await PublisherTrial.run(configuration) { trial in
                    // One message is longer than a TLS record.
                    let texts = ["1", "\"\(String(repeating: "x", count: 40_000))\""]
                    for text in texts { try await trial.publisher.publish(MQTTMessage(text, to: "open/log")) }
                    #expect(await receiving.arrivals(2).map { String(decoding: $0.original, as: UTF8.self) } == texts)
                    #expect(trial.publisher.counts.published == 2 && trial.publisher.counts.resent == 0)
                }
            }
        }
    }

    @Test func aRefusedClientCertificateIsReportedAndRetriedSlowly() async throws {
        try await withBroker { broker, authority in
            let other = try await TestAuthority()
            defer { other.remove() }
            try await other.makeClientFiles("stranger")
            let stranger = MQTTIdentity(
                certificateFile: other.path("stranger.pem"),
                keyFile: other.path("stranger.key")
            )
            let cases: [(MQTTIdentity?, String)] = [
                (stranger, "refused the client certificate"), (nil, "requests a client certificate"),
            ]
            for (identity, text) in cases {
                let security = MQTTSecurity.tls(.authority(file: authority.authorityFile), identity: identity)
                let configuration = try configuration(broker.port, security)
                try await PublisherTrial.run(configuration, connected: false) { trial in
                    let line = await trial.log.line(containing: "retrying in 3000.0 s")
                    #expect(line.contains(text) && line.hasPrefix("error "), "\(line)")
                }
            }
        }
    }

    @Test func aConnectionThatBreaksBetweenHandshakeAndConnackIsRetriedSoon() async throws {
        try await withBroker { broker, authority in
            let relay = try Relay()
            defer { relay.close() }
            relay.forward(to: UInt16(broker.port))
            relay.withholdAnswers(afterRecords: 1)
            let configuration = try configuration(Int(relay.port), authority.security(client: "kiosk"))
            try await PublisherTrial.run(configuration, connected: false) { trial in
                try await relay.breakHandshaken()
                let line = await trial.log.line(containing: "retrying in ")
                #expect(line.contains(" lost (") && line.contains("check that the broker trusts it"), "\(line)")
                #expect(line.hasPrefix("warning ") && !line.contains("3000"), "\(line)")
                try await trial.publisher.publish(MQTTMessage("", to: "a"))
            }
        }
    }
}
