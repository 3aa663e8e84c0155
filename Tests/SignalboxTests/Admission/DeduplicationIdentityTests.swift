import Signalbox
import SignalboxCore
import SignalboxTesting
import Synchronization
import Testing

/// The rules that decide whether two messages are the same, and for which origins.
@Suite(.timeLimit(.minutes(10))) struct DeduplicationIdentityTests {
    /// The other message differs in its body or in its action.
    @Test(arguments: [message("work", id: "a", body: "[]"), message("play", id: "a")])
    func reusingAnIDForADifferentMessageIsAConflict(_ other: String) async throws {
        let supervisor = Supervisor.make()
        let (gate, calls, sink) = (Gate(), CallCounter(), RecordingSink())
        for action: ActionName in ["work", "play"] {
            try supervisor.register(
                Registration(action, as: RawBody.self, from: .source("push")) { _, context in
                    calls.note(context)
                    await gate.pass()
                }
            )
        }
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            #expect(intake.submit(CallCounter.one(0), to: sink) == 1)
            await gate.untilArrived(1)
            #expect(intake.submit(CallCounter.one(1, other), to: sink) == 1)
            #expect(sink.outcomes.mapValues { $0.map(reason) } == [1: ["idConflict"]])
            #expect(intake.submit(CallCounter.one(2), to: sink) == 1)
            gate.open()
            await sink.untilSettled(3)
            #expect(intake.submit(CallCounter.one(3, other), to: sink) == 1)
        }
        let words = (0..<4).map { sink.outcomes[$0]?.map(reason) }
        #expect(words == [["handled"], ["idConflict"], ["handled"], ["idConflict"]])
        #expect(calls["a"] == 1)
        #expect(supervisor.deadLetters.letters.map { $0.original.text } == [other, other])
    }

    @Test func aDuplicateFromARefusedOriginIsRefused() async throws {
        let supervisor = Supervisor.make()
        let calls = CallCounter()
        let trusted = AccessRule("label trusted") { ($0.facts as? TestFacts)?.label == "trusted" }
        try supervisor.register(
            Registration("work", as: Empty.self, from: trusted) { _, context in
                calls.note(context)
                return "secret"
            }
        )
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        let text = [message("work", id: "a")]
        try await supervisor.whileRunning {
            #expect(await intake.deliver(arrivals(label: "stranger", text)).map(reason) == ["sourceNotAllowed"])
            #expect(await intake.deliver(arrivals(label: "trusted", text)) == [.handled(reply: Bytes(#""secret""#))])
            #expect(await intake.deliver(arrivals(label: "stranger", text)).map(reason) == ["sourceNotAllowed"])
            #expect(await intake.deliver(arrivals(label: "trusted", text)) == [.handled(reply: Bytes(#""secret""#))])
        }
        #expect(calls["a"] == 1)
        #expect(supervisor.deadLetters.total == 2)
    }

    @Test func aRefusedArrivalDoesNotFreeTheIDOfARunningOne() async throws {
        let supervisor = Supervisor.make()
        let (gate, calls, sink) = (Gate(), CallCounter(), RecordingSink())
        let trusted = AccessRule("label trusted") { ($0.facts as? TestFacts)?.label == "trusted" }
        try supervisor.register(
            Registration("work", as: Empty.self, from: trusted) { _, context in
                calls.note(context)
                await gate.pass()
            }
        )
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        let text = [message("work", id: "a")]
        try await supervisor.whileRunning {
            #expect(intake.submit(arrivals(label: "trusted", text), to: sink) == 1)
            await gate.untilArrived(1)
            #expect(intake.submit(arrivals(label: "stranger", firstToken: 1, text), to: sink) == 1)
            #expect(intake.submit(arrivals(label: "trusted", firstToken: 2, text), to: sink) == 1)
            gate.open()
            await sink.untilSettled(3)
        }
        #expect(calls["a"] == 1)
    }

    @Test(arguments: [
        (AdapterFeatures.stableIDs, DeduplicationPolicy.automatic, 1), (.replies, .automatic, 2),
        (.stableIDs, .never, 2),
        (.replies, .within(DeduplicationLimits()), 1),
    ])
    func thePolicyDecidesWhetherDuplicatesAreDetected(
        _ features: AdapterFeatures,
        _ policy: DeduplicationPolicy,
        _ expected: Int
    ) async throws {
        let supervisor = Supervisor.make()
        let calls = CallCounter()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, context in
                _ = calls.note(context)
            }
        )
        let intake = try supervisor.intake(for: "push", features: features, deduplication: policy)
        try await supervisor.whileRunning {
            for token in 0..<2 {
                #expect(await intake.deliver(CallCounter.one(UInt64(token))).map(reason) == ["handled"])
            }
        }
        #expect(calls["a"] == expected)
    }

    @Test func idsAssignedBySignalboxAreNeverDuplicates() async throws {
        let supervisor = Supervisor.make()
        let count = Atomic(0)
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in
                count.wrappingAdd(1, ordering: .relaxed)
            }
        )
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning { _ = await intake.deliver(arrivals([message("work"), message("work")])) }
        let calls = count.load(ordering: .relaxed)
        #expect(calls == 2)
    }

    @Test func idsAreScopedToTheirSource() async throws {
        let supervisor = Supervisor.make()
        let calls = CallCounter()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .any([.source("push"), .source("chat")])) { _, context in
                _ = calls.note(context)
            }
        )
        let push = try supervisor.intake(for: "push", features: .stableIDs)
        let chat = try supervisor.intake(for: "chat", features: .stableIDs)
        try await supervisor.whileRunning {
            _ = await push.deliver(CallCounter.one(0))
            _ = await chat.deliver(arrivals(from: "chat", [message("work", id: "a")]))
        }
        #expect(calls["a"] == 2)
    }

    @Test func anIDExpiresAfterTheTimeLimit() async throws {
        let clock = ManualClock()
        let supervisor = Supervisor.make(clock: clock)
        let calls = CallCounter()
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, context in _ = calls.note(context) }
        )
        let limits = DeduplicationLimits(time: .seconds(1))
        let intake = try supervisor.intake(for: "push", deduplication: .within(limits))
        try await supervisor.whileRunning {
            _ = await intake.deliver(CallCounter.one(0))
            await clock.tick(9)
            _ = await intake.deliver(CallCounter.one(1))
            #expect(calls["a"] == 1)
            await clock.tick(1)
            _ = await intake.deliver(CallCounter.one(2))
            #expect(calls["a"] == 2)
        }
    }

    @Test func observersSeeWhetherAnOutcomeIsADuplicate() async throws {
        let reported = Mutex<[String]>([])
        let supervisor = Supervisor.make { configuration in
            configuration.onOutcome = { settled in
                reported.withLock {
                    $0.append("\(settled.arrival.token) \(settled.isDuplicate) \(settled.plugin?.text ?? "")")
                }
            }
        }
        try supervisor.register(Registration("work", as: Empty.self, from: .source("push")) { _, _ in })
        let intake = try supervisor.intake(for: "push", features: .stableIDs)
        try await supervisor.whileRunning {
            for token in 0..<2 { _ = await intake.deliver(CallCounter.one(UInt64(token))) }
        }
        #expect(reported.withLock { $0 } == ["0 false work", "1 true work"])
    }

    @Test func duplicatesCountTowardsTheWindow() async throws {
        let supervisor = Supervisor.make()
        let (gate, sink) = (Gate(), RecordingSink())
        try supervisor.register(
            Registration("work", as: Empty.self, from: .source("push")) { _, _ in await gate.pass() }
        )
        let intake = try supervisor.intake(for: "push", features: .stableIDs, window: WindowLimits(arrivals: 2))
        try await supervisor.whileRunning {
            #expect(intake.submit(CallCounter.one(0), to: sink) == 1)
            #expect(intake.submit(CallCounter.one(1), to: sink) == 1)
            #expect(intake.submit(CallCounter.one(2), to: sink) == 0)
            gate.open()
            await sink.untilSettled(2)
            try await intake.room()
            #expect(intake.submit(CallCounter.one(2), to: sink) == 1)
        }
    }
}

/// CloudEvents 1.0: "Producers MUST ensure that source + id is unique for each distinct event."
@Suite struct DuplicateEventTests {
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

    /// - Returns: The number of the plugin's calls, and the outcomes.
    private static func send(_ messages: [(text: String, envelope: Envelope)]) async throws -> (Int, [String]) {
        let supervisor = Supervisor.make()
        let calls = Atomic(0)
        try supervisor.register(
            Registration("work", as: RawBody.self, from: .source("push")) { _, _ in
                calls.wrappingAdd(1, ordering: .relaxed)
            }
        )
        let intake = try supervisor.intake(for: "push", deduplication: .within(DeduplicationLimits()))
        var outcomes: [String] = []
        try await supervisor.whileRunning {
            for message in messages {
                outcomes += await intake.deliver(batch(message.text, message.envelope)).map(reason)
            }
        }
        return (calls.load(ordering: .relaxed), outcomes)
    }

    @Test func theSameIDFromAnotherProducerIsADifferentEvent() async throws {
        let events = ["/shop/orders", "/shop/payments", "/shop/orders2"].map { Self.event($0) }
        let (calls, outcomes) = try await Self.send(events.map { ($0, .cloudEvents) })
        #expect(calls == 3 && outcomes == ["handled", "handled", "handled"])
    }

    @Test func sourceAndIDIdentifyAnEventRegardlessOfEscapes() async throws {
        let events = [Self.event("/shop"), Self.event("/shop"), Self.event(#"\/sho\u0070"#)]
        let (calls, outcomes) = try await Self.send(events.map { ($0, .cloudEvents) })
        #expect(calls == 1 && outcomes == ["handled", "handled", "handled"])
    }

    @Test func differentDataForTheSameEventIsAConflict() async throws {
        let events = [Self.event("/shop"), Self.event("/shop", data: "2"), Self.event("/other", data: "2")]
        let (calls, outcomes) = try await Self.send(events.map { ($0, .cloudEvents) })
        #expect(calls == 2 && outcomes == ["handled", "idConflict", "handled"])
    }

    @Test func sourceAndIDAreComparedSeparately() async throws {
        let events = [Self.event("/s1", id: "1"), Self.event("/s", id: "11"), Self.event("/s11", id: "1")]
        let (calls, _) = try await Self.send(events.map { ($0, .cloudEvents) })
        #expect(calls == 3)
    }

    @Test func otherEnvelopesIgnoreAMemberNamedSource() async throws {
        let texts = ["/a", "/b"].map { #"{"action":"work","id":"1","source":"\#($0)","body":1}"# }
        let (calls, _) = try await Self.send(texts.map { ($0, .standard) })
        #expect(calls == 1)
        let mixed: [(String, Envelope)] = [(texts[0], .standard), (Self.event("/a"), .cloudEvents)]
        #expect(try await Self.send(mixed).0 == 2)
    }

    @Test func anIDFromTheTopicDoesNotHideTheEventSource() async throws {
        let named = RouteNaming(action: nil, id: ActionID("t"), captures: [.init(name: "source", value: "x")])
        let envelope = Envelope.route(named, payload: .cloudEvents)
        let (calls, _) = try await Self.send(["/a", "/b", "/a"].map { (Self.event($0), envelope) })
        #expect(calls == 2)
    }
}
