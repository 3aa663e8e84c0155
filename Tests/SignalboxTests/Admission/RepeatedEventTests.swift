import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

/// CloudEvents 1.0: "Producers MUST ensure that source + id is unique for each distinct event."
@Suite struct RepeatedEventTests {
    private static func event(_ source: String, id: String = "1", data: String = "1") -> String {
        #"{"specversion":"1.0","id":"\#(id)","source":"\#(source)","type":"work","data":\#(data)}"#
    }

    private static func batch(_ text: String, _ envelope: Envelope) -> [Arrival] {
        var batch = ArrivalBatch(pool: ArrivalPool())
        let origin = Origin(source: "push", facts: TestFacts())
        Array(text.utf8).withUnsafeBytes { bytes in
            batch.append(bytes, token: 0, origin: origin, receivedAt: WallTime(seconds: 0), envelope: envelope)
        }
        return batch.take()
    }

    /// - Returns: how often the plugin was called, and the outcomes.
    private static func send(_ messages: [(text: String, envelope: Envelope)]) async throws -> (Int, [String]) {
        let supervisor = Supervisor.make()
        let calls = Atomic(0)
        try supervisor.register("work", as: RawBody.self, from: .source("push")) { _, _ in
            calls.wrappingAdd(1, ordering: .relaxed)
        }
        let intake = try supervisor.intake(for: "push", repeats: .within(RepeatLimits()))
        var outcomes: [String] = []
        try await supervisor.whileRunning {
            for message in messages {
                outcomes += await intake.deliver(batch(message.text, message.envelope)).map(reason)
            }
        }
        return (calls.load(ordering: .relaxed), outcomes)
    }

    @Test func theSameIDOfAnotherProducerIsAnotherEvent() async throws {
        let events = ["/shop/orders", "/shop/payments", "/shop/orders2"].map { Self.event($0) }
        let (calls, outcomes) = try await Self.send(events.map { ($0, .cloudEvents) })
        #expect(calls == 3 && outcomes == ["handled", "handled", "handled"])
    }

    @Test func theSameSourceAndIDAreTheSameEventHoweverTheyAreWritten() async throws {
        let events = [Self.event("/shop"), Self.event("/shop"), Self.event(#"\/sho\u0070"#)]
        let (calls, outcomes) = try await Self.send(events.map { ($0, .cloudEvents) })
        #expect(calls == 1 && outcomes == ["handled", "handled", "handled"])
    }

    @Test func otherDataUnderTheSameSourceAndIDIsAConflict() async throws {
        let events = [Self.event("/shop"), Self.event("/shop", data: "2"), Self.event("/other", data: "2")]
        let (calls, outcomes) = try await Self.send(events.map { ($0, .cloudEvents) })
        #expect(calls == 2 && outcomes == ["handled", "idConflict", "handled"])
    }

    @Test func sourceAndIDDoNotRunTogether() async throws {
        let events = [Self.event("/s1", id: "1"), Self.event("/s", id: "11"), Self.event("/s11", id: "1")]
        let (calls, _) = try await Self.send(events.map { ($0, .cloudEvents) })
        #expect(calls == 3)
    }

    @Test func amongOtherEnvelopesAMemberSourceDoesNotCount() async throws {
        let texts = ["/a", "/b"].map { #"{"action":"work","id":"1","source":"\#($0)","body":1}"# }
        let (calls, _) = try await Self.send(texts.map { ($0, .standard) })
        #expect(calls == 1)
        let mixed: [(String, Envelope)] = [(texts[0], .standard), (Self.event("/a"), .cloudEvents)]
        #expect(try await Self.send(mixed).0 == 2)
    }

    @Test func aTopicThatNamesTheIDDoesNotHideTheSource() async throws {
        let named = RouteNaming(action: nil, id: ActionID("t"), captures: [.init(name: "source", value: "x")])
        let envelope = Envelope.route(named, payload: .cloudEvents)
        let (calls, _) = try await Self.send(["/a", "/b", "/a"].map { (Self.event($0), envelope) })
        #expect(calls == 2)
    }
}
