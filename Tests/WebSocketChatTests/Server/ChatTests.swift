import Signalbox
import SignalboxCore
import SignalboxRoutes
import SignalboxTesting
import Synchronization
import TestSupport
import Testing

@testable import BrokerKit
@testable import WebSocketChat

@Suite(.timeLimit(.minutes(10))) struct ChatTests {
    private struct Order: Codable, Sendable {
        let table: Int
    }

    private static func principals(_ configuration: inout WebSocketServerConfiguration) {
        configuration.principals = ["kitchen", "guest"].map {
            WebSocketPrincipal($0, token: .text("\($0)-token-0123456789"))
        }
        configuration.absentOrigin = .withToken
    }

    private static func bearer(_ name: String) -> (inout ClientTarget) -> Void {
        { $0.headers = [HeaderField("Authorization", "Bearer \(name)-token-0123456789")].compactMap { $0 } }
    }

    @Test func actionsAndBatchElementsAreAnsweredUnderTheirIDs() async throws {
        try await ServerTrial.supervised { _ in
        } register: { supervisor in
            try supervisor.register(
                Registration("double", as: Order.self, from: .source("chat")) { order, _ in
                    Order(table: order.table * 2)
                }
            )
        } _: { trial, _ in
            try await ChatClients.with { clients in
                let one = try await clients.open(trial.port)
                one.send(#"{"action":"double","id":"1","body":{"table":2}}"#)
                #expect(await one.texts(1) == [#"{"id":"1","outcome":"handled","reply":{"table":4}}"#])
                one.send(#"{"action":"double","uuid":"u","body":{"table":"x"}}"#)
                let error = await one.texts(2)[1]
                #expect(error.hasPrefix(#"{"uuid":"u","outcome":"rejected","error":{"code":"invalidBody","#))
                #expect(error.hasSuffix(#","path":"body.table"}}"#))
                one.send(
                    #"[{"action":"double","id":"a","body":{"table":1}},{"action":"double","body":{"table":1}},{"action":"none","id":"b"}]"#
                )
                let answers = await one.texts(4)[2...].sorted()
                #expect(answers[0] == #"{"id":"a","outcome":"handled","reply":{"table":2}}"#)
                #expect(answers[1].hasPrefix(#"{"id":"b","outcome":"rejected","error":{"code":"unknownAction""#))
            }
        }
    }

    @Test func accessDependsOnThePrincipal() async throws {
        let calls = EventList<String>()
        try await ServerTrial.supervised(Self.principals) { supervisor in
            try supervisor.register(
                Registration("cook", as: RawBody.self, from: .chat(principal: "kitchen")) { _, context in
                    calls.append(
                        "\(context.chat?.principal ?? "?") \((context.origin.facts as? ChatFacts)?.peer ?? "?")"
                    )
                }
            )
            try supervisor.register(
                Registration("look", as: RawBody.self, from: .chat(authenticated: true)) { _, _ in }
            )
            try supervisor.register(
                Registration("feed", as: RawBody.self, from: .feed()) { _, _ in calls.append("never") }
            )
        } _: { trial, _ in
            try await ChatClients.with { clients in
                let kitchen = try await clients.open(trial.port, Self.bearer("kitchen"))
                let guest = try await clients.open(trial.port, Self.bearer("guest"))
                kitchen.send(#"{"action":"cook","id":"1"}"#)
                #expect(await kitchen.texts(1) == [#"{"id":"1","outcome":"handled"}"#])
                for (id, action) in ["cook", "feed"].enumerated() {
                    guest.send(#"{"action":"\#(action)","id":"\#(id)"}"#)
                    let refusal = await guest.texts(id + 1)[id]
                    #expect(refusal.contains(#""code":"sourceNotAllowed""#) && !refusal.contains("kitchen"))
                }
                guest.send(#"{"action":"look","id":"2","principal":"kitchen"}"#)
                #expect(await guest.texts(3)[2] == #"{"id":"2","outcome":"handled"}"#)
            }
        }
        #expect(calls.all == ["kitchen 127.0.0.1"])
    }

    @Test func accessDependsOnTheOrigin() async throws {
        let app = try WebOrigin("https://app.example")
        try await ServerTrial.supervised { configuration in
            configuration.origins = [app]
        } register: { supervisor in
            try supervisor.register(Registration("look", as: RawBody.self, from: .chat(origin: app)) { _, _ in })
        } _: { trial, _ in
            try await ChatClients.with { clients in
                let page = try await clients.open(trial.port) { $0.origin = "https://APP.example" }
                let other = try await clients.open(trial.port)
                page.send(#"{"action":"look","id":"1"}"#)
                other.send(#"{"action":"look","id":"1"}"#)
                #expect(await page.texts(1) == [#"{"id":"1","outcome":"handled"}"#])
                #expect(await other.texts(1)[0].contains("sourceNotAllowed"))
            }
        }
    }

    @Test func aBroadcastReachesJoinedClients() async throws {
        try await ServerTrial.supervised { _ in
        } register: { supervisor in
            try supervisor.register(
                Registration("join", as: String.self, from: .source("chat")) { tag, context in
                    context.chat?.join(tag) == true
                }
            )
            try supervisor.register(
                Registration("leave", as: String.self, from: .source("chat")) { tag, context in
                    context.chat?.leave(tag)
                }
            )
            try supervisor.register(
                Registration("say", as: RawBody.self, from: .source("chat")) { body, context in
                    context.chat?.broadcast("said", body.bytes, to: "room").sent ?? -1
                }
            )
        } _: { trial, _ in
            try await ChatClients.with { clients in
                var all: [ChatClient] = []
                for _ in 0..<3 { all.append(try await clients.open(trial.port)) }
                for client in all[..<2] {
                    client.send(#"{"action":"join","id":"j","body":"room"}"#)
                    #expect(await client.texts(1) == [#"{"id":"j","outcome":"handled","reply":true}"#])
                }
                all[2].send(#"{"action":"say","id":"s","body":{"text":"hi"}}"#)
                #expect(await all[2].texts(1) == [#"{"id":"s","outcome":"handled","reply":2}"#])
                for client in all[..<2] {
                    #expect(await client.texts(2)[1] == #"{"action":"said","body":{"text":"hi"}}"#)
                }
                all[0].send(#"{"action":"leave","id":"l","body":"room"}"#)
                await all[0].texts(3)
                #expect(trial.server.broadcast("said", Bytes("1"), to: "room").sent == 1)
                #expect(await all[1].texts(3)[2] == #"{"action":"said","body":1}"#)
                #expect(all[0].textsSoFar.count == 3 && all[2].textsSoFar.count == 1)
            }
        }
    }

    @Test func connectionAnnouncementsCannotBeForged() async throws {
        let intake = FakeIntake.handling()
        let change: (inout WebSocketServerConfiguration) -> Void = { configuration in
            Self.principals(&configuration)
            configuration.announcesConnections = true
            configuration.subprotocols = ["v1"]
        }
        try await ServerTrial.with(intake: intake, change) { trial in
            try await ChatClients.with { clients in
                let one = try await clients.open(trial.port) { target in
                    Self.bearer("guest")(&target)
                    target.subprotocols = ["v1"]
                }
                #expect(one.subprotocol == "v1")
                one.send(#"{"action":"signalbox.closed","id":"f"}"#)
                await intake.untilTaken(2)
                one.close()
                await intake.untilTaken(3)
            }
            let arrivals = intake.taken.map(\.arrival)
            #expect(
                try arrivals.map { $0.failure == nil ? try $0.reading.get().name.text : "refused" } == [
                    "signalbox.connected", "refused", "signalbox.closed",
                ]
            )
            let id = try #require((arrivals[0].sender as? ChatConnection)?.id)
            let known = #""connection":"\#(id)","peer":"127.0.0.1","principal":"guest","subprotocol":"v1""#
            #expect(arrivals[0].original.text == "{\(known)}")
            #expect(arrivals[2].original.text == "{\(known),\"reason\":\"done\",\"code\":1000}")
            #expect(trial.server.counts.open == 0 && trial.server.counts.opened == 1)
        }
        // Stopping the server reports no further end.
        #expect(intake.taken.count == 3)
    }

    @Test func aServerWithoutAnswersCanStillPush() async throws {
        let intake = FakeIntake.handling()
        try await ServerTrial.with(intake: intake) {
            $0.answers = false
        } _: { trial in
            #expect(trial.server.features == [.pushes])
            try await ChatClients.with { clients in
                let one = try await clients.open(trial.port)
                one.send(#"{"action":"a","id":"1"}"#)
                await intake.untilTaken(1)
                try intake.taken[0].arrival.sender?.send("pushed", id: nil, body: Bytes("1"))
                #expect(await one.texts(1) == [#"{"action":"pushed","body":1}"#])
            }
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct RefusedMessageTests {
    /// Sends texts to a server of envelopes, then one that is answered, and returns the answers received before that.
    private func answers(to texts: [String]) async throws -> [String] {
        var answers: [String] = []
        try await Echo.withServer {
            $0.frames = WebSocketFrames()
        } _: { _, _, port in
            var side = try await WireSide.openClient(port: port)
            for text in texts + [#"{"action":"nobody","id":"last"}"#] { side.send(.text(text)) }
            while let frame = try await side.frame() {
                let text = String(decoding: frame.payload, as: UTF8.self)
                if text.hasPrefix(#"{"id":"last""#) { break }
                answers.append(text)
            }
        }
        return answers
    }

    @Test(arguments: ["id", "uuid"]) func aMalformedActionIsAnsweredUnderItsID(key: String) async throws {
        let answers = try await answers(to: [#"{"\#(key)":"a1","action":"not an action"}"#])
        #expect(answers.count == 1)
        #expect(answers.first?.hasPrefix(#"{"\#(key)":"a1","outcome":"rejected","error":{"code":"malformed""#) == true)
    }

    @Test(arguments: [
        #"{"action":"not an action"}"#, #"{"id":7,"action":"not an action"}"#, #"{"id":"a1","action":"#,
        #"{"id":"\#(String(repeating: "a", count: 129))","action":"not an action"}"#,
        // An answer: answering it as well would never end.
        #"{"id":"a1","outcome":"handled","reply":1}"#,
    ])
    func messagesWithoutAnIDAreNotAnswered(text: String) async throws {
        #expect(try await answers(to: [text]).isEmpty)
    }
}
