import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import Signalbox

@Suite(.timeLimit(.minutes(5))) struct PushAdapterTests {
    private struct Order: Codable, Sendable {
        let count: Int
    }

    private let shop = PushAdapter(source: "shop")

    private func reason(_ outcome: Outcome) -> String { "\(outcome.name) \(outcome.code)" }

    @Test func aCallerReceivesTheOutcomeOfItsMessage() async throws {
        let supervisor = Supervisor.make()
        try supervisor.add(shop)
        try supervisor.register(
            Registration("order", as: Order.self, from: .source("shop")) { order, context in
                Order(count: order.count * (context.id.text == "o-1" ? 10 : 2))
            }
        )
        try await supervisor.whileRunning {
            let body = Bytes(#"{"count":2}"#)
            #expect(await shop.submit("order", body: body) == .handled(reply: Bytes(#"{"count":4}"#)))
            #expect(
                await shop.submit("order", id: ActionID("o-1"), body: body) == .handled(reply: Bytes(#"{"count":20}"#))
            )
            let encoded = try await shop.submit("order", encoding: Order(count: 3))
            #expect(encoded == .handled(reply: Bytes(#"{"count":6}"#)))
            let raw = await shop.submit(raw: Bytes(#"{"action":"order","id":"o-1","body":{"count":1}}"#))
            #expect(raw == .handled(reply: Bytes(#"{"count":10}"#)))
            #expect(reason(await shop.submit("order")) == "rejected invalidBody")
            #expect(reason(await shop.submit("order", body: Bytes("{"))) == "rejected malformed")
            #expect(reason(await shop.submit("wave")) == "rejected unknownAction")
            #expect(reason(await shop.submit(raw: Bytes("order"))) == "rejected malformed")
        }
        #expect(supervisor.report.total.handled == 4 && supervisor.report.total.rejected == 4)
        #expect(supervisor.report.unsettled == 0)
    }

    @Test func textAndEventsAreReadByTheirOwnRules() async throws {
        let supervisor = Supervisor.make()
        try supervisor.add(shop)
        try supervisor.register(
            Registration("note", as: String.self, from: .source("shop")) { text, _ in text.count }
        )
        try await supervisor.whileRunning {
            let text = await shop.submit(PushMessage("note", body: Bytes("four"), payload: .text))
            #expect(text == .handled(reply: Bytes("4")))
            let event = #"{"specversion":"1.0","id":"e-1","source":"/shop","type":"note","data":"five!"}"#
            let answer = await shop.submit(PushMessage(raw: Bytes(event), envelope: .cloudEvents))
            #expect(answer == .handled(reply: Bytes("5")))
        }
    }

    @Test func aBodyCannotNameAnotherActionOrID() async throws {
        let supervisor = Supervisor.make()
        let calls = EventList<String>()
        try supervisor.add(shop)
        for action: ActionName in ["order", "delete"] {
            try supervisor.register(
                Registration(action, as: RawBody.self, from: .source("shop")) { _, context in
                    calls.append("\(action) \(context.id)")
                }
            )
        }
        try await supervisor.whileRunning {
            let body = #"{"action":"delete","id":"o-2","body":{}}"#
            #expect(await shop.submit("order", id: ActionID("o-1"), body: Bytes(body)) == .handled(reply: nil))
            let injected = await shop.submit("order", id: ActionID("o-1"), body: Bytes(#"null,"action":"delete""#))
            #expect(reason(injected) == "rejected malformed")
        }
        #expect(calls.all == ["order o-1"])
    }

    @Test func factsDecideWhoMayCallAPlugin() async throws {
        let supervisor = Supervisor.make()
        try supervisor.add(shop)
        try supervisor.register(
            Registration("order", as: RawBody.self, from: .caller(principal: "ada", source: "shop")) { _, _ in }
        )
        try supervisor.register(
            Registration("list", as: RawBody.self, from: .caller(authenticated: true)) { _, context in
                (context.origin.facts as? CallerFacts)?.peer
            }
        )
        try await supervisor.whileRunning {
            let (ada, bob) = (CallerFacts(peer: "::1", principal: "ada"), CallerFacts(principal: "bob"))
            #expect(await shop.submit("order", facts: ada) == .handled(reply: nil))
            #expect(reason(await shop.submit("order", facts: bob)) == "rejected sourceNotAllowed")
            #expect(reason(await shop.submit("order")) == "rejected sourceNotAllowed")
            #expect(await shop.submit("list", facts: ada) == .handled(reply: Bytes(#""::1""#)))
            #expect(await shop.submit("list", facts: bob) == .handled(reply: Bytes("null")))
            #expect(reason(await shop.submit("list")) == "rejected sourceNotAllowed")
        }
    }

    @Test func successiveMessagesOfOneCallerShareAnOrigin() async throws {
        let origins = EventList<ObjectIdentifier>()
        let supervisor = Supervisor.make { $0.onOutcome = { origins.append(ObjectIdentifier($0.arrival.origin)) } }
        try supervisor.add(shop)
        for principal in ["ada", "ada", "bob"] {
            await shop.post(PushMessage("order"), facts: CallerFacts(principal: principal))
        }
        try await supervisor.whileRunning { _ = await shop.submit("order") }
        let seen = origins.all
        #expect(seen.count == 4 && seen[0] == seen[1] && Set(seen).count == 3)
    }

    @Test func aTraceContextComesFromTheFacts() async throws {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let traces = EventList<TraceContext?>()
        let supervisor = Supervisor.make { $0.onOutcome = { traces.append($0.arrival.traceContext) } }
        try supervisor.add(shop)
        try await supervisor.whileRunning {
            _ = await shop.submit("order", facts: CallerFacts(traceparent: parent, tracestate: "a=1"))
            _ = await shop.submit("order", facts: CallerFacts(traceparent: "00-0-0-01"))
        }
        #expect(traces.all == [TraceContext(parent: parent, state: "a=1"), nil])
    }

    @Test func pluginsHaveTheSenderOfAMessageIfTheSourcePushes() async throws {
        for features: AdapterFeatures in [.replies, [.replies, .pushes]] {
            let shop = PushAdapter(source: "shop", features: features)
            let supervisor = Supervisor.make()
            let sender = RecordingSender()
            try supervisor.add(shop)
            try supervisor.register(
                Registration("hello", as: RawBody.self, from: .source("shop")) { _, context in
                    try context.sender?.send("welcome", "you")
                }
            )
            try await supervisor.whileRunning { _ = await shop.submit("hello", sender: sender) }
            #expect(sender.sent.map(\.action) == (features.contains(.pushes) ? ["welcome"] : []))
        }
    }

    @Test func aMessageIsNotHandledAfterItsDeadline() async throws {
        let supervisor = Supervisor.make()
        try supervisor.add(shop)
        try supervisor.register(Registration("order", as: RawBody.self, from: .source("shop")) { _, _ in })
        try await supervisor.whileRunning {
            #expect(reason(await shop.submit("order", deadline: .now - .seconds(1))) == "rejected expired")
            #expect(await shop.submit("order", deadline: .now + .seconds(600)) == .handled(reply: nil))
        }
    }

    @Test func theOrderOfEachCallerIsKept() async throws {
        let shop = PushAdapter(source: "shop", queueLimit: 5, batchLimit: 3)
        let supervisor = Supervisor.make()
        let calls = EventList<[Int]>()
        try supervisor.add(shop, window: WindowLimits(arrivals: 4))
        try supervisor.register(
            Registration("order", as: [Int].self, from: .source("shop")) { number, _ in calls.append(number) }
        )
        try await supervisor.whileRunning {
            let outcomes = try await withThrowingTaskGroup(of: [Outcome].self) { group in
                for caller in 0..<8 {
                    group.addTask {
                        var submissions: [PushSubmission] = []
                        for number in 0..<50 {
                            submissions.append(await shop.post(try PushMessage("order", encoding: [caller, number])))
                        }
                        var outcomes: [Outcome] = []
                        for submission in submissions { outcomes.append(await submission.outcome) }
                        return outcomes
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(outcomes.count == 400 && Set(outcomes) == [.handled(reply: nil)])
        }
        #expect(calls.all.count == 400)
        for caller in 0..<8 {
            #expect(calls.all.filter { $0[0] == caller }.map { $0[1] } == Array(0..<50))
        }
    }

    @Test func custodyIsTakenUnlessAMessageIsAbandoned() async throws {
        let supervisor = Supervisor.make()
        try supervisor.add(shop)
        try supervisor.register(Registration("order", as: RawBody.self, from: .source("shop")) { _, _ in })
        try await supervisor.whileRunning {
            for action: ActionName in ["order", "wave"] {
                let submission = await shop.post(PushMessage(action))
                #expect(await submission.isInCustody)
                _ = await submission.outcome
                #expect(await submission.isInCustody)
            }
        }
        let late = await shop.post(PushMessage("order"))
        #expect(await late.isInCustody == false)
        #expect(late.currentOutcome == .abandoned(.drain))
    }
}

/// Messages that are stored and read again.
@Suite struct PushRestoringTests {
    private let shop = PushAdapter(source: "shop")

    /// Returns the arrivals that a supervisor settled, as a store keeps and restores them.
    private func restored(_ messages: [PushMessage], facts: CallerFacts) async throws -> [Arrival] {
        let settled = EventList<Arrival>()
        let supervisor = Supervisor.make { $0.onOutcome = { settled.append($0.arrival) } }
        try supervisor.add(shop)
        try await supervisor.whileRunning {
            for message in messages { _ = await shop.submit(message, facts: facts) }
        }
        let now = WallTime(seconds: 2_000)
        let stored = settled.all.map { StoredMessage($0, facts: StoredMessage.facts(of: $0.origin.facts), at: now) }
        return shop.restore(stored, at: now)
    }

    @Test func storedMessagesAreReadAsTheyWereSubmitted() async throws {
        let facts = CallerFacts(peer: "::1", principal: "ada", traceparent: "00-1")
        let messages = [
            PushMessage("order", id: ActionID("o-1"), body: Bytes(#"{"count":2}"#)), PushMessage("order"),
            PushMessage("note", body: Bytes("text"), payload: .text),
            PushMessage(raw: Bytes(#"{"action":"order","id":"o-2","body":1}"#)),
            PushMessage(
                raw: Bytes(#"{"specversion":"1.0","id":"e-1","source":"/","type":"note"}"#),
                envelope: .cloudEvents
            ),
        ]
        let arrivals = try await restored(messages, facts: facts)
        let actions = try arrivals.map { try $0.reading.get() }
        #expect(actions.map(\.name) == ["order", "order", "note", "order", "note"])
        #expect(actions.map { $0.hasID } == [true, false, false, true, true])
        #expect([0, 3, 4].map { actions[$0].id.text } == ["o-1", "o-2", "e-1"])
        #expect(arrivals.map(\.token) == [0, 1, 2, 3, 4])
        for arrival in arrivals {
            #expect(arrival.origin.facts as? CallerFacts == CallerFacts(peer: "::1", principal: "ada"))
        }
    }

    /// Such a body might be readable with other limits, and would then name its own action.
    @Test func anUnreadableBodyIsNeverReadAsAnEnvelope() async throws {
        let deep =
            #"{"action":"delete","body":"# + String(repeating: "[", count: 70) + String(repeating: "]", count: 70) + "}"
        let arrivals = try await restored([PushMessage("order", body: Bytes(deep))], facts: CallerFacts())
        guard case .failure(let rejection) = arrivals.first?.reading else {
            Issue.record("the body was read")
            return
        }
        #expect(rejection.reason == .malformed)
    }
}

extension Action {
    fileprivate var hasID: Bool { idKey != .assigned }
}
