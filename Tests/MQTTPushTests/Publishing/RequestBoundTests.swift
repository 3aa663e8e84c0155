import MQTTPush
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import BrokerKit

/// The limits on requests and replies, and the replies of a source with several connections.
@Suite(.timeLimit(.minutes(10)))
struct RequestBoundTests {
    @Test func theNumberOfWaitingRequestsIsLimited() async throws {
        try await Broker.with { broker in
            let intake = RecordingIntake.holding()
            try await PushTrial.run(try .answering(broker), into: intake) { _ in
                var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
                configuration.requestsInFlight = 2
                try await PublisherTrial.run(configuration) { trial in
                    async let first = trial.request("1", "open/echo/1")
                    async let second = trial.request("2", "open/echo/2")
                    while !Task.isCancelled, trial.publisher.counts.accepted < 2 { await Task.yield() }
                    let error = await publishError { _ = try await trial.request("3", "open/echo/3") }
                    #expect(error?.code == .queueFull && error?.detail.hasPrefix("2 requests wait") == true)
                    #expect(trial.publisher.counts.queueFull == 1)
                    // A plain publish does not count against the limit.
                    try await trial.publisher.publish(MQTTMessage("", to: "a"))
                    for index in 0..<2 { await intake.taken.first(index + 1)[index].echo() }
                    let answers = try await [first, second]
                    #expect(answers == ["1", "2"])
                    async let fourth = trial.request("4", "open/echo/4")
                    await intake.taken.first(3)[2].echo()
                    let last = try await fourth
                    #expect(last == "4")
                }
            }
        }
    }

    /// A broker reads slowly, so that a large message fills the output for a while.
    @Test func aFirstRequestBehindALargeMessageKeepsTheConnection() async throws {
        let host = try #require(RawHost())
        var configuration = try MQTTPublisherConfiguration.test(port: Int(host.port))
        configuration.queuedBytes = 64 * 1_024 * 1_024
        configuration.stopTimeout = .zero
        try await PublisherTrial.run(configuration, connected: false) { trial in
            let peer = try #require(await host.accept())
            _ = await peer.read { !$0.isEmpty }
            peer.write(FakeAnswers.connected)
            // More than both systems' buffers and the output's limit.
            let large = [UInt8](repeating: 0x20, count: 16 * 1_024 * 1_024)
            try trial.publisher.offer(MQTTMessage(large, to: "a"))
            var chunk = try await peer.chunk()
            let request = Task { try await trial.request("1", "open/echo/1") }
            while !Task.isCancelled, trial.publisher.counts.accepted < 2 { await Task.yield() }
            var count = chunk.count
            while count < large.count, !chunk.isEmpty {
                chunk = try await peer.chunk()
                count += chunk.count
            }
            #expect(count >= large.count)
            // Behind the message, which consists of spaces, are the SUBSCRIBE and then the request.
            if !chunk.suffix(100).contains(0x82) { chunk = try await peer.chunk() }
            let subscribe = chunk.drop { $0 != 0x82 }
            peer.write([0x90, 0x04] + subscribe.dropFirst(2).prefix(2) + [0x00, 0x01])
            let topic = Array("open/echo/1".utf8)
            #expect(await peer.read { $0.firstRange(of: topic) != nil }.firstRange(of: topic) != nil)
            request.cancel()
            _ = try? await request.value
        }
    }

    @Test func anOversizedReplyFailsOnlyItsCall() async throws {
        try await Broker.with { broker in
            let intake = RecordingIntake { $0.echo() }
            try await PushTrial.run(try .answering(broker), into: intake) { _ in
                var configuration = try MQTTPublisherConfiguration.test(port: broker.port)
                configuration.replyBytes = 200
                try await PublisherTrial.run(configuration) { trial in
                    let large = "\"\(String(repeating: "x", count: 200))\""
                    let error = await publishError { _ = try await trial.request(large, "open/echo/1") }
                    #expect(error?.code == .tooLarge && error?.detail.contains("raise replyBytes") == true)
                    let small = try await trial.request("2", "open/echo/2")
                    #expect(small == "2")
                    let counts = trial.publisher.counts
                    #expect(counts.published == 2 && counts.lateReplies == 0 && counts.unmatchedReplies == 0)
                }
            }
        }
    }

    @Test func eachConnectionAnswersItsOwnRequests() async throws {
        try await Broker.with { broker in
            let intake = RecordingIntake.holding()
            try await PushTrial.run(try .answeringTwice(broker), into: intake) { receiving in
                await receiving.waitForLog("subscribed to", times: 2)
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    async let plain = trial.request("1", "open/echo/1")
                    async let urgent = trial.request("2", "urgent/echo/2")
                    let both = await intake.taken.first(2)
                    // Each is the first of its connection, so only the connection distinguishes them.
                    #expect(Set(both.map(\.arrival.token)).count == 1)
                    for taken in both.reversed() { taken.echo() }
                    let answers = try await [plain, urgent]
                    #expect(answers == ["1", "2"])
                    #expect(trial.publisher.counts.replies == 2 && trial.publisher.counts.unmatchedReplies == 0)
                }
            }
        }
    }

    @Test func aRequestOverTheLimitIsHandledAndNotAnswered() async throws {
        try await Broker.with { broker in
            let intake = RecordingIntake.holding()
            var configuration = try MQTTPushConfiguration.answeringTwice(broker)
            configuration.publishing?.waitingReplies = 1
            try await PushTrial.run(configuration, into: intake) { receiving in
                await receiving.waitForLog("subscribed to", times: 2)
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    async let answered = trial.request("1", "open/echo/1")
                    let first = await intake.taken.first(1)[0]
                    let refused = Task { await publishError { _ = try await trial.request("2", "urgent/echo/2") } }
                    let second = await intake.taken.first(2)[1]
                    await receiving.waitForLog("too many requests wait for an outcome")
                    second.echo()
                    first.echo()
                    let answer = try await answered
                    #expect(answer == "1")
                    // The slot is free again. A reply to the second request would have arrived before this one.
                    async let third = trial.request("3", "urgent/echo/3")
                    await intake.taken.first(3)[2].echo()
                    let last = try await third
                    #expect(last == "3")
                    refused.cancel()
                    #expect(await refused.value?.code == .cancelled)
                    #expect(trial.publisher.counts.replies == 2 && trial.publisher.counts.lateReplies == 0)
                }
            }
        }
    }
}

/// Calls whose connection to the broker breaks before the reply arrives.
@Suite(.timeLimit(.minutes(10)))
struct RequestLossTests {
    /// Holds the first message and echoes all later ones.
    private static func holdingFirst() -> RecordingIntake {
        let seen = EventList<Void>()
        return RecordingIntake { taken in
            let isFirst = seen.all.isEmpty
            seen.append(())
            if !isFirst { taken.echo() }
        }
    }

    @Test func aCallIsAnsweredAfterABrokerRestart() async throws {
        try await Broker.with { broker in
            let intake = Self.holdingFirst()
            try await PushTrial.run(try .answeringTwice(broker), into: intake) { receiving in
                await receiving.waitForLog("subscribed to", times: 2)
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    async let call = trial.request("1", "open/echo/1")
                    let held = await intake.taken.first(1)[0]
                    await broker.stop()
                    try await broker.restart()
                    // This request is sent only after the client has subscribed to the reply topic again.
                    let other = try await trial.request("2", "urgent/echo/2")
                    held.echo()
                    let answer = try await call
                    #expect(other == "2" && answer == "1")
                }
            }
        }
    }

    @Test func aReplyDuringADisconnectionIsLostAndItsCallNotResent() async throws {
        try await Broker.with { broker in
            let relay = try Relay()
            defer { relay.close() }
            relay.forward(to: UInt16(broker.port))
            let intake = Self.holdingFirst()
            let answers = [try MQTTTopic("signalbox/replies/#", payload: .bytes, action: "answer")]
            try await PushTrial.run(try .test(broker, answers, clientID: "observer")) { observer in
                try await PushTrial.run(try .answeringTwice(broker), into: intake) { receiving in
                    await receiving.waitForLog("subscribed to", times: 2)
                    try await PublisherTrial.run(.test(port: Int(relay.port))) { trial in
                        let call = Task { await publishError { _ = try await trial.request("1", "open/echo/1") } }
                        let held = await intake.taken.first(1)[0]
                        // A message that the broker has acknowledged is not sent again.
                        while !Task.isCancelled, trial.publisher.counts.published == 0 { await Task.yield() }
                        relay.cut()
                        held.echo()
                        _ = await observer.arrivals(1)
                        relay.mend()
                        let other = try await trial.request("2", "urgent/echo/2")
                        #expect(other == "2")
                        call.cancel()
                        let error = await call.value
                        #expect(error?.code == .cancelled && error?.detail.contains("may have been published") == true)
                        let counts = trial.publisher.counts
                        #expect(counts.replies == 1 && counts.lateReplies == 0 && counts.resent == 0)
                        #expect(intake.taken.all.count == 2)
                    }
                }
            }
        }
    }
}
