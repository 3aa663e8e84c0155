import Logging
import Signalbox
import SignalboxCore
import SignalboxTesting
import TestSupport
import Testing

@testable import WebSocketChat

/// Calls over real connections, in both directions.
@Suite(.timeLimit(.minutes(10))) struct CallTests {
    private static let long: Duration = .seconds(600)

    /// Returns the id of a call and checks its other members.
    private func id(of text: String, _ action: String, _ body: String) throws -> String {
        let start = #"{"action":"\#(action)","id":""#
        let end = #"","body":\#(body)}"#
        try #require(text.hasPrefix(start) && text.hasSuffix(end), "\(text)")
        return String(text.dropFirst(start.count).dropLast(end.count))
    }

    private static func code(_ body: () async throws -> Void) async -> ChatCallError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? ChatCallError)?.code
        }
    }

    private static var supervisor: Supervisor {
        Supervisor(configuration: .patient, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Runs a server and a feed that is connected to it. Both double numbers.
    ///
    /// - Parameter body: Receives the server's connection to the feed.
    private func connected(_ body: (ChatConnection, WebSocketServer, WebSocketFeed) async throws -> Void) async throws {
        let opened = EventList<ChatConnection>()
        try await ServerTrial.supervised {
            $0.announcesConnections = true
        } register: { supervisor in
            try supervisor.register(
                Registration("double", as: Int.self, from: .source("chat")) { number, _ in number * 2 }
            )
            try supervisor.register(
                Registration(.chatConnected, as: RawBody.self, from: .source("chat")) { _, context in
                    if let chat = context.chat { opened.append(chat) }
                }
            )
        } _: { trial, _ in
            let url = try WebSocketURL("ws://127.0.0.1:\(trial.port)/")
            let configuration = try WebSocketFeedConfiguration.test(trial.port) {
                $0.url = url
                $0.answers = true
            }
            let feed = try WebSocketFeed(configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let feeds = Self.supervisor
            try feeds.register(Registration("double", as: Int.self, from: .source("feed")) { number, _ in number * 2 })
            try feeds.register(Registration("fail", as: RawBody.self, from: .source("feed")) { _, _ in throw Broken() })
            try feeds.add(feed)
            try await feeds.whileRunning { try await body(await opened.first(1)[0], trial.server, feed) }
        }
    }

    @Test func aServerAndAFeedAskEachOther() async throws {
        try await connected { client, server, feed in
            #expect(try await client.call("double", 21, returning: Int.self, timeout: Self.long) == 42)
            let connection = try #require(feed.connection)
            #expect(try await connection.call("double", 4, returning: Int.self, timeout: Self.long) == 8)
            // Many calls at a time, both ways; each gets its own reply.
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<60 {
                    let peer = number % 2 == 0 ? client : connection
                    group.addTask {
                        try await peer.call("double", number, returning: Int.self, timeout: Self.long) == 2 * number
                    }
                }
                for try await isRight in group { #expect(isRight) }
            }
            #expect(server.counts.lateAnswers == 0 && feed.counts.lateAnswers == 0)
        }
    }

    @Test func aPeersRefusalIsAnError() async throws {
        try await connected { client, _, _ in
            let outcomes = EventList<String>()
            let calls: [(ActionName, String)] = [("none", "1"), ("double", #""x""#), ("fail", "1")]
            for (action, body) in calls {
                do throws(ChatCallError) {
                    _ = try await client.call(action, json: Bytes(body), timeout: Self.long)
                } catch {
                    outcomes.append("\(error.code) \(error.outcome ?? "") \(error.detail.split(separator: ":")[1])")
                }
            }
            let expected = [
                #"refused rejected  "unknownAction""#, #"refused rejected  "invalidBody""#,
                #"refused failed  "threw""#,
            ]
            #expect(outcomes.all == expected)
        }
    }

    /// A page needs three members for an answer. The plugin asks the connection that called it.
    @Test func aPluginAsksTheClientThatCalledIt() async throws {
        try await ServerTrial.supervised { _ in
        } register: { supervisor in
            try supervisor.register(
                Registration("order", as: Int.self, from: .source("chat")) { dish, context in
                    guard let chat = context.chat else { throw Broken() }
                    return try await chat.call("confirm", dish, returning: Bool.self, timeout: Self.long)
                }
            )
        } _: { trial, _ in
            try await ChatClients.with { clients in
                let page = try await clients.open(trial.port)
                page.send(#"{"action":"order","id":"o1","body":7}"#)
                let call = try id(of: await page.texts(1)[0], "confirm", "7")
                page.send(#"[{"id":"\#(call)","outcome":"handled","reply":true}]"#)
                #expect(await page.texts(2)[1] == #"{"id":"o1","outcome":"handled","reply":true}"#)
                page.send(#"{"id":"\#(call)","outcome":"handled","reply":true}"#)
                page.send(#"{"action":"none","id":"last"}"#)
                await page.texts(3)
                // The second answer to the same call is a message, and no late answer.
                #expect(trial.server.counts.lateAnswers == 0)
            }
        }
    }

    /// With a window of 1, the plugin's message takes the only place, so the answer cannot be read.
    @Test func aCallFromTheLastPlaceOfTheWindowTimesOut() async throws {
        try await ServerTrial.supervised {
            $0.connectionWindow = 1
        } register: { supervisor in
            try supervisor.register(
                Registration("order", as: Int.self, from: .source("chat")) { dish, context in
                    guard let chat = context.chat else { throw Broken() }
                    let timeout: Duration = .milliseconds(300)
                    return await Self.code { try await chat.call("confirm", dish, timeout: timeout) }?.rawValue
                }
            )
        } _: { trial, _ in
            try await ChatClients.with { clients in
                let page = try await clients.open(trial.port)
                page.send(#"{"action":"order","id":"o1","body":7}"#)
                let call = try id(of: await page.texts(1)[0], "confirm", "7")
                page.send(#"{"id":"\#(call)","outcome":"handled","reply":true}"#)
                page.send(#"{"action":"none","id":"last"}"#)
                let answers = await page.texts(3)
                #expect(answers[1] == #"{"id":"o1","outcome":"handled","reply":"timeout"}"#)
                #expect(answers[2].hasPrefix(#"{"id":"last","outcome":"rejected""#))
                #expect(trial.server.counts.lateAnswers == 1)
            }
        }
    }

    @Test func theEndOfAConnectionEndsItsCallsOnly() async throws {
        let intake = FakeIntake.handling()
        try await ServerTrial.with(intake: intake) { trial in
            try await ChatClients.with { clients in
                let (one, other) = (try await clients.open(trial.port), try await clients.open(trial.port))
                var chats: [ChatConnection] = []
                for client in [one, other] {
                    client.send(#"{"action":"hello"}"#)
                    await intake.untilTaken(chats.count + 1)
                    chats.append(try #require(intake.taken[chats.count].arrival.sender as? ChatConnection))
                }
                let (first, second) = (chats[0], chats[1])
                async let cut = Self.code { try await first.call("show", 1, timeout: Self.long) }
                async let kept = second.call("show", 1, returning: Int.self, timeout: Self.long)
                let call = try id(of: await other.texts(1)[0], "show", "1")
                await one.texts(1)
                one.close()
                #expect(await cut == .closed)
                #expect(await Self.code { try await first.call("show", 1, timeout: Self.long) } == .closed)
                other.send(#"{"id":"\#(call)","outcome":"handled","reply":5}"#)
                #expect(try await kept == 5)
            }
        }
    }

    /// The plugin waits for an answer that cannot arrive anymore, so the stop would otherwise take the call's timeout.
    @Test func aStopEndsTheCallsBeforeItWaitsForPlugins() async throws {
        let codes = EventList<String?>()
        let intake = FakeIntake { taken in
            Task {
                guard let chat = taken.arrival.sender as? ChatConnection else { return }
                codes.append(await Self.code { try await chat.call("show", 1, timeout: Self.long) }?.rawValue)
                taken.settle()
            }
        }
        try await ChatClients.with { clients in
            let client = try await ServerTrial.with(intake: intake) { trial in
                let client = try await clients.open(trial.port)
                client.send(#"{"action":"wait","id":"1"}"#)
                await client.texts(1)
                return client
            }
            #expect(codes.all == ["closed"])
            #expect(await client.texts(2)[1] == #"{"id":"1","outcome":"handled"}"#)
        }
    }

    @Test func aFeedsCallsEndWithItsConnectionAndAreNotRepeated() async throws {
        var server = try await TransportTrial.server()
        let trial = try FeedTrial(.test(server.transport.port) { $0.announcesConnections = true })
        var open: Task<ChatCallError.Code?, Never>?
        try await trial.whileRunning {
            let old = try await server.opened().0
            let first = try #require(await trial.intake.taken.first(1)[0].arrival.sender as? ChatConnection)
            async let lost = Self.code { try await first.call("ask", 1, timeout: Self.long) }
            let call = try id(of: String(decoding: try await server.message(), as: UTF8.self), "ask", "1")
            server.transport.perform(.close(.normal, reason: ""), on: old)
            #expect(await lost == .closed)
            _ = try await server.ended(of: old)
            let new = try await server.opened().0
            let next = try #require(await trial.intake.taken.first(3)[2].arrival.sender as? ChatConnection)
            async let reply = next.call("ask", 2, returning: Int.self, timeout: Self.long)
            let nextCall = try id(of: String(decoding: try await server.message(), as: UTF8.self), "ask", "2")
            // An answer to the old connection's call is a message on the new one.
            server.send(#"{"id":"\#(call)","outcome":"handled","reply":1}"#, on: new)
            server.send(#"{"id":"\#(nextCall)","outcome":"handled","reply":2}"#, on: new)
            #expect(try await reply == 2)
            #expect(await trial.names(4)[3] == "malformed")
            #expect(trial.feed.counts.lateAnswers == 0)
            open = Task { await Self.code { try await next.call("ask", 3, timeout: Self.long) } }
            _ = try await server.message()
        }
        // The stop has ended the call that was open.
        #expect(await open?.value == .closed)
        await server.stop()
    }
}

private struct Broken: Error {}
