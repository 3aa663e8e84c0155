import BrokerKit
import MQTTPush
import SignalboxCore
import SignalboxTesting
import Testing

/// What becomes of a call when the connection to the broker breaks before its answer.
@Suite(.timeLimit(.minutes(10)))
struct RequestLossTests {
    /// Holds the first message, and echoes all that come after.
    private static func holdingFirst() -> RecordingIntake {
        let seen = EventList<Void>()
        return RecordingIntake { taken in
            let isFirst = seen.all.isEmpty
            seen.append(())
            if !isFirst { taken.echo() }
        }
    }

    @Test func aCallIsAnsweredAlthoughTheBrokerIsRestarted() async throws {
        try await Broker.with { broker in
            let intake = Self.holdingFirst()
            try await PushTrial.run(try .answeringTwice(broker), into: intake) { receiving in
                await receiving.hears("subscribed to", times: 2)
                try await PublisherTrial.run(.test(port: broker.port)) { trial in
                    async let call = trial.ask("1", "open/echo/1")
                    let held = await intake.taken.first(1)[0]
                    await broker.stop()
                    try await broker.restart()
                    // Asked only when the answers' topic is subscribed to again.
                    let other = try await trial.ask("2", "urgent/echo/2")
                    held.echo()
                    let answer = try await call
                    #expect(other == "2" && answer == "1")
                }
            }
        }
    }

    @Test func anAnswerThatCameWhileNobodyListenedIsLostAndItsCallIsNotSentAgain() async throws {
        try await Broker.with { broker in
            let relay = try Relay()
            defer { relay.close() }
            relay.forward(to: UInt16(broker.port))
            let intake = Self.holdingFirst()
            let answers = [try MQTTTopic("signalbox/replies/#", payload: .bytes, action: "answer")]
            try await PushTrial.run(try .test(broker, answers, clientID: "witness")) { witness in
                try await PushTrial.run(try .answeringTwice(broker), into: intake) { receiving in
                    await receiving.hears("subscribed to", times: 2)
                    try await PublisherTrial.run(.test(port: Int(relay.port))) { trial in
                        let call = Task { await publishError { _ = try await trial.ask("1", "open/echo/1") } }
                        let held = await intake.taken.first(1)[0]
                        // What the broker has acknowledged is not asked again.
                        while !Task.isCancelled, trial.publisher.counts.published == 0 { await Task.yield() }
                        relay.cut()
                        held.echo()
                        _ = await witness.arrivals(1)
                        relay.mend()
                        let other = try await trial.ask("2", "urgent/echo/2")
                        #expect(other == "2")
                        call.cancel()
                        let error = await call.value
                        #expect(error?.code == .cancelled && error?.detail.contains("may have been published") == true)
                        let counts = trial.publisher.counts
                        #expect(counts.replies == 1 && counts.lateReplies == 0 && counts.sentAgain == 0)
                        #expect(intake.taken.all.count == 2)
                    }
                }
            }
        }
    }
}
