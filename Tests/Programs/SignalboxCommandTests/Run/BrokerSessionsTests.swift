import MQTTPush
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

/// Which client unsubscribes from what a new configuration leaves out.
@Suite struct BrokerSessionsTests {
    /// Returns a configuration with a source for each broker, id and topics. A source has further keys of `mqtt`.
    private func configuration(
        _ sources: (broker: String, id: String, topics: [String])...,
        keys: String = ""
    ) throws -> RunConfiguration {
        let lines = sources.enumerated().map { index, source in
            let patterns = source.topics.map { "{ pattern: '\($0)' }" }.joined(separator: ", ")
            let mqtt = "broker: '\(source.broker)', client_id: \(source.id), topics: [ \(patterns) ]\(keys)"
            return "  s\(index): { mqtt: { \(mqtt) } }"
        }
        let rules = sources.indices.map { "{ source: s\($0) }" }.joined(separator: ", ")
        return try ConfigurationFixture.read(
            """
            sources:
            \(lines.joined(separator: "\n"))
            plugins:
              - { action: a, use: print, from: [ \(rules) ] }
            """
        )
    }

    private func formerFilters(
        _ sessions: BrokerSessions,
        in configuration: RunConfiguration,
        source index: Int = 0
    ) throws -> [String] {
        let push = try #require(configuration.sources[index].kind.mqtt).push(in: configuration)
        return sessions.formerTopics(of: push).map(\.pattern.filter.text)
    }

    /// If the broker is away during one reload, the next one must still unsubscribe. A broker that gets TLS has another port.
    @Test func theTopicsOfEarlierConfigurationsAreRemembered() throws {
        var sessions = BrokerSessions(try configuration(("mqtt://h", "i", ["a/{action}", "b/{action}"])))
        let second = try configuration(("mqtt://h", "i", ["b/{action}"]))
        #expect(try formerFilters(sessions, in: second) == ["a/+"])
        #expect(sessions.change(to: second).isEmpty)
        let third = try configuration(("mqtts://H:9999", "i", ["c/{action}"]))
        #expect(try formerFilters(sessions, in: third) == ["a/+", "b/+"])
        #expect(sessions.change(to: third).isEmpty)
        let fourth = try configuration(("mqtt://h", "i", ["a/{action}"]))
        #expect(try formerFilters(sessions, in: fourth) == ["b/+", "c/+"])
    }

    @Test func theNewestThousandFormerTopicsAreKept() throws {
        let topics = { (name: String) in (0..<600).map { "\(name)/\($0)/{action}" } }
        var sessions = BrokerSessions(try configuration(("mqtt://h", "i", topics("a"))))
        let second = try configuration(("mqtt://h", "i", topics("b")))
        #expect(sessions.change(to: second).isEmpty)
        let third = try configuration(("mqtt://h", "i", ["c/{action}"]))
        let former = try formerFilters(sessions, in: third)
        #expect(former.count == 1_000 && former.first == "a/200/+" && former.last == "b/599/+")
    }

    @Test func aSessionWithAnotherClientIDIsAbandoned() throws {
        var sessions = BrokerSessions(try configuration(("mqtt://h", "i", ["a/{action}"])))
        let next = try configuration(("mqtt://h", "j", ["a/{action}"]))
        #expect(try formerFilters(sessions, in: next).isEmpty)
        let abandoned = sessions.change(to: next)
        #expect(abandoned.map(\.push.broker.host) == ["h"] && abandoned.map(\.isIDInUse) == [false])
        #expect(abandoned.first?.topics.map(\.pattern.filter.text) == ["a/+"])
        #expect(sessions.change(to: next).isEmpty)
    }

    @Test func oneClientIDAtTwoBrokersHasTwoSessions() throws {
        let sessions = BrokerSessions(
            try configuration(("mqtt://h", "i", ["a/{action}", "b/{action}"]), ("mqtt://other", "i", ["y/{action}"]))
        )
        let next = try configuration(("mqtt://h", "i", ["a/{action}"]), ("mqtt://other", "i", ["y/{action}"]))
        #expect(try formerFilters(sessions, in: next) == ["b/+"])
        #expect(try formerFilters(sessions, in: next, source: 1).isEmpty)
    }

    /// Connecting with an id that is in use could end the connection of the running client.
    @Test(arguments: ["mqtt://other", "mqtt://h:1999"])
    func aSessionAtAnotherBrokerIsOnlyReported(broker: String) throws {
        var sessions = BrokerSessions(try configuration(("mqtt://h", "i", ["a/{action}"])))
        let abandoned = sessions.change(to: try configuration((broker, "i", ["a/{action}"])))
        #expect(abandoned.map(\.isIDInUse) == [true])
    }

    /// The brokers of a list share their sessions.
    @Test(arguments: [
        ("[mqtt://h, mqtt://other]", true), ("[mqtt://other, mqtt://g]", true), ("[mqtt://other, mqtt://third]", false),
        ("ws://g/mqtt", true), ("unix:/s", false),
    ])
    func aListHasTheSessionOfEachOfItsBrokers(broker: String, isKept: Bool) throws {
        let read = { (broker: String) in
            try ConfigurationFixture.read(
                """
                sources: { s0: { mqtt: { broker: \(broker), client_id: i, topics: [ 'a/{action}' ] } } }
                plugins: [ { action: a, use: print, from: [s0] } ]
                """
            )
        }
        var sessions = BrokerSessions(try read("[mqtt://h, mqtt://g]"))
        #expect(sessions.change(to: try read(broker)).isEmpty == isKept)
    }

    @Test func theIDOfAPublisherIsInUse() throws {
        var sessions = BrokerSessions(try configuration(("mqtt://h", "i", ["a/{action}"])))
        let keys = ", publishing: { client_id: i, send_topic: 'out/{action}/{id}' }"
        let abandoned = sessions.change(to: try configuration(("mqtt://h", "j", ["a/{action}"]), keys: keys))
        #expect(abandoned.map(\.isIDInUse) == [true])
    }

    /// The source's CONNECT ends its former session.
    @Test func aSourceWithoutASessionAbandonsNone() throws {
        var sessions = BrokerSessions(try configuration(("mqtt://h", "i", ["a/{action}"])))
        let next = try configuration(("mqtt://h", "i", ["b/{action}"]), keys: ", session_expiry: 0s, clean_start: true")
        #expect(sessions.change(to: next).isEmpty)
    }
}
