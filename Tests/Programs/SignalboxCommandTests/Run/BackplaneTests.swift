import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// Chats of several programs with the key `backplane`.
@Suite(.timeLimit(.minutes(10))) struct BackplaneTests {
    private static func say(_ text: String) -> String { #"{"action":"say","body":{"text":"\#(text)"}}"# }

    @Test(arguments: ["", ", version: 3.1.1"])
    func aBroadcastReachesTheClientsOfAllProgramsOnce(_ version: String) async throws {
        try await BackplaneTrial.with(3, source: version) { trial in
            var clients: [CommandProcess] = []
            for node in trial.nodes { clients.append(try await node.client()) }
            // The answer and the broadcast arrive on different connections of the program, in any order.
            let sender = try await trial.nodes[0].client()
            try sender.type(#"{"action":"say","id":"1","body":{"text":"first","n":1.50}}"#)
            let answer = #"{"id":"1","outcome":"handled","reply":{"published":true}}"#
            #expect(await sender.output.line(with: "outcome") == answer)
            try clients[1].type(BackplaneTests.say("second"))
            let first = #"{"action":"say","body":{"text":"first","n":1.50}}"#
            for client in clients {
                // A doubled message would be the next one.
                #expect(try await client.lines(2, with: "say") == [first, BackplaneTests.say("second")])
            }
        }
    }

    @Test func allClientsSeeTheBroadcastsOfATagInOneOrder() async throws {
        try await BackplaneTrial.with(3) { trial in
            var clients: [CommandProcess] = []
            for node in trial.nodes { clients.append(try await node.client()) }
            let count = 60
            for number in 0..<count {
                try clients[0].type(BackplaneTests.say("a \(number)"))
                try clients[1].type(BackplaneTests.say("b \(number)"))
            }
            let expected = try await clients[0].lines(2 * count, with: "say")
            #expect(Set(expected).count == 2 * count)
            for sender in ["a", "b"] {
                let own = expected.filter { $0.contains("\"\(sender) ") }
                #expect(own == (0..<count).map { BackplaneTests.say("\(sender) \($0)") })
            }
            for client in clients.dropFirst() {
                #expect(try await client.lines(2 * count, with: "say") == expected)
            }
        }
    }

    /// A tag can have characters that a level of a topic cannot.
    @Test(arguments: ["a/b+c#d", "$SYS", "Köln %20", "."])
    func aTagIsOneLevelOfTheTopic(_ tag: String) async throws {
        try await BackplaneTrial.with(2) { trial in
            let (sender, member) = (try await trial.nodes[0].client(), try await trial.nodes[1].client())
            try member.type(#"{"action":"enter","id":"e","body":{"tag":"\#(tag)"}}"#)
            #expect(await member.output.line(with: #""id":"e""#)?.contains("handled") == true)
            try sender.type(#"{"action":"whisper","id":"w","body":{"tag":"\#(tag)"}}"#)
            #expect(await member.output.line(with: "whisper") == #"{"action":"whisper","body":{"tag":"\#(tag)"}}"#)
            #expect(await sender.output.line(with: #""id":"w""#)?.contains("handled") == true)
            // The sender has no such tag.
            #expect(!sender.output.lines.contains { $0.contains(#""action":"whisper""#) })
        }
    }

    @Test func aKilledProgramDisturbsNoOther() async throws {
        try await BackplaneTrial.with(3) { trial in
            let (first, second) = (try await trial.nodes[0].client(), try await trial.nodes[1].client())
            let lost = try await trial.nodes[2].client()
            trial.nodes[2].process.signal(SIGKILL)
            _ = await trial.nodes[2].process.status()
            _ = await lost.status()
            try first.type(BackplaneTests.say("still here"))
            #expect(await second.output.line(with: "say") == BackplaneTests.say("still here"))
            // The client comes back at another program.
            let returned = try await trial.nodes[1].client()
            try returned.type(BackplaneTests.say("back"))
            for client in [first, second, returned] {
                #expect(await client.output.line(with: "back") == BackplaneTests.say("back"))
            }
        }
    }

    @Test func aMalformedBroadcastIsRejectedAndCounted() async throws {
        try await BackplaneTrial.with(1) { trial in
            let (node, client) = (trial.nodes[0], try await trial.nodes[0].client())
            let topic = "signalbox/backplane/chat"
            let wrong = [
                (#"{"nothing":1}"#, "\(topic)/lobby", "invalidBody"), ("no JSON", "\(topic)/lobby", "malformed"),
                (#"{"action":"signalbox.closed"}"#, "\(topic)/lobby", "invalidBody"),
                (#"{"action":"say"}"#, "\(topic)/%zz", "invalidBody"), ("", "\(topic)/lobby", "invalidBody"),
                (#"{"action":"say"}"#, "\(topic)/%6Cobby", "invalidBody"),
                (#"{"action":"say","id":"\#(String(repeating: "i", count: 129))"}"#, "\(topic)/lobby", "invalidBody"),
            ]
            for (payload, topic, reason) in wrong {
                try await trial.broker.publish(payload, to: topic)
                let outcome = try #require(await node.process.output.line(with: #""source":"chat-backplane""#))
                #expect(outcome.contains(#""outcome":"rejected","reason":"\#(reason)""#), "\(payload): \(outcome)")
            }
            // A program of another kind may broadcast too, even without an id, but leaves nothing at the broker.
            try await trial.broker.publish(#"{"action":"say","body":0}"#, to: "\(topic)/lobby", retain: true)
            #expect(await client.output.line(with: "say") == #"{"action":"say","body":0}"#)
            for _ in 0..<2 {
                try await trial.broker.publish(#"{"action":"say","id":"x","body":1}"#, to: "\(topic)/lobby")
            }
            try client.type(BackplaneTests.say("end"))
            #expect(
                try await client.lines(2, with: "say") == [#"{"action":"say","body":1}"#, BackplaneTests.say("end")]
            )
            node.process.signal(SIGTERM)
            #expect(
                await node.process.errors.line(with: "signalbox: handled")?.contains("rejected \(wrong.count)") == true
            )
            await node.process.ends()
        }
    }

    @Test func aBroadcastThatTheBrokerDoesNotTakeReachesNoOne() async throws {
        try await BackplaneTrial.with(2, timeout: "1s") { trial in
            let (first, second) = (try await trial.nodes[0].client(), try await trial.nodes[1].client())
            await trial.broker.stop()
            try first.type(#"{"action":"say","id":"lost","body":{"text":"lost"}}"#)
            let answer = try #require(await first.output.line(with: #""id":"lost""#))
            #expect(answer.contains(#""outcome":"failed""#), "\(answer)")
            let outcome = try #require(await trial.nodes[0].process.output.line(with: #""id":"lost""#))
            #expect(outcome.contains("not published to"), "\(outcome)")
            try await trial.broker.restart()
            for node in trial.nodes {
                _ = try await BackplaneTrial.node(
                    node.process,
                    in: trial.broker.folder,
                    until: ["chat-backplane: subscribed to", "publisher: connected to"],
                    url: node.url
                )
            }
            try first.type(BackplaneTests.say("found"))
            for client in [first, second] {
                #expect(await client.output.line(with: #""action":"say""#) == BackplaneTests.say("found"))
            }
        }
    }

    @Test func aReloadAddsAndRemovesTheBackplane() async throws {
        try await Broker.with { broker in
            try await TemporaryFolder.with { folder in
                let file = "node.yaml"
                let words = ["push: subscribed to", "publisher: connected to", "listening on ws://"]
                let without = BackplaneTrial.configuration(broker, "node", chat: "")
                var node = try await BackplaneTrial.start(without, file, in: folder, until: words)
                for (text, reply) in [
                    (BackplaneTrial.configuration(broker, "node"), #"{"published":true}"#),
                    (without, #"{"refused":0,"sent":1}"#),
                ] {
                    try ChatTrial.write(text, to: file, in: folder)
                    node.process.signal(SIGHUP)
                    let subscribed = text == without ? [] : ["chat-backplane: subscribed to"]
                    let all = ["configuration reloaded", "listening on ws://"] + subscribed
                    node = try await BackplaneTrial.node(node.process, in: folder, until: all)
                    let client = try await node.client()
                    try client.type(#"{"action":"say","id":"1","body":0}"#)
                    let answer = try #require(await client.output.line(with: "outcome"))
                    #expect(answer == #"{"id":"1","outcome":"handled","reply":\#(reply)}"#)
                }
                node.process.signal(SIGTERM)
                await node.process.ends()
            }
        }
    }
}

@Suite struct BackplaneLevelTests {
    @Test(arguments: [
        ("lobby", "lobby"), ("a b", "a%20b"), ("ä/#+", "%C3%A4%2F%23%2B"), ("%", "%25"), ("-._~", "-._~"),
    ])
    func aTagHasOneLevel(_ tag: String, _ level: String) {
        #expect(TagLevel.level(of: tag) == level)
        #expect(TagLevel.tag(of: level[...]) == tag)
    }

    @Test(arguments: ["", "%", "%4", "%zz", "%2f", "%41", "a b", "%FF", "é", "a+b", String(repeating: "a", count: 129)])
    func anotherLevelHasNoTag(_ level: String) {
        #expect(TagLevel.tag(of: level[...]) == nil)
    }

    @Test func theOldestIDIsForgotten() {
        var ids = RecentIDs(limit: 2)
        let isNew = ["a", "b", "a", "b", "c", "b", "c", "a", "b"].map { ids.insert($0) }
        #expect(isNew == [true, true, false, false, true, false, false, true, true])
    }
}
