import BrokerKit
import Foundation
import MQTTPush
import SignalboxCore
import SignalboxRoutes
import Testing

@testable import SignalboxCommand

/// The subscriptions in the broker's sessions, when a reload changes the topics.
@Suite(.timeLimit(.minutes(10)))
struct ReloadSessionTests {
    /// A message that waited for the removed topic is still read, and later ones do not reach the session.
    @Test func aRemovedTopicIsUnsubscribed() async throws {
        let configuration = { (broker: Broker) in
            ReloadConfiguration(broker: broker.url).with { $0.topics.append("{ pattern: 'gone/{action}' }") }
        }
        try await ReloadTrial.with(configuration) { trial, first in
            let fewer = first.with { $0.topics.removeLast() }
            _ = try await trial.reload(fewer.text, until: "configuration reloaded", and: "subscribed to 1 topic filter")
            try await trial.broker.publish("{}", to: "gone/log")
            try await trial.broker.publish("{\"number\":\"1\"}", to: "push/numbers/log")
            try await trial.untilHandled(1, "\"topic\":\"push/numbers/log\"")
            // The session would also deliver what came while the program was stopped.
            let end = await trial.end()
            #expect(end.errors.last?.contains("handled 1, rejected 0, failed 0, abandoned 0") == true)
            try await trial.broker.publish("{}", to: "gone/log")
            let subscribe = [
                "subscribe", trial.broker.url, "--id", "reload-test", "--keep-session", "-t", "last", "-v",
            ]
            let process = try CommandProcess(subscribe + ["--count", "1", "--log-level", "info"])
            #expect(await process.errors.line(with: "session resumed") != nil)
            try await trial.broker.publish("{}", to: "last")
            #expect(await process.output.rest() == ["last {}"])
        }
    }

    @Test func aSessionThatCannotBeReachedIsReportedWithTheCommand() async throws {
        let (socket, port) = try LoopbackPort.refusing()
        defer { close(socket) }
        try await ReloadTrial.with({ ReloadConfiguration(broker: $0.url) }) { trial, first in
            let more = first.with { configuration in
                configuration.sources = [
                    """
                      away:
                        mqtt: { broker: 'mqtt://127.0.0.1:\(port)', client_id: away, topics: [ { pattern: 'a/{action}' } ] }
                    """
                ]
            }
            try await trial.reload(more.text, until: "configuration reloaded")
            let line = try await trial.reload(first.text, until: "keeps its subscriptions")
            let command = "signalbox subscribe mqtt://127.0.0.1:\(port) --id 'away' --unsubscribe -t 'a/+'"
            #expect(
                line.contains(command) && line.contains("clientID=away") && line.contains("cannot reach"),
                "\(line)"
            )
            #expect(await trial.end().status == 0)
        }
    }

    // MARK: - What is unsubscribed by whom

    private func configuration(_ broker: String, _ id: String, _ topics: String...) throws -> RunConfiguration {
        let patterns = topics.map { "{ pattern: '\($0)' }" }.joined(separator: ", ")
        return try ConfigurationFixture.read(
            """
            sources:
              push: { mqtt: { broker: '\(broker)', client_id: \(id), topics: [ \(patterns) ] } }
            plugins:
              - { action: a, use: print, from: [ { source: push } ] }
            """
        )
    }

    private func push(of configuration: RunConfiguration) throws -> MQTTPushConfiguration {
        try #require(configuration.sources.first?.kind.mqtt).push(in: configuration)
    }

    private func formerFilters(_ sessions: BrokerSessions, in configuration: RunConfiguration) throws -> [String] {
        sessions.formerTopics(of: try push(of: configuration)).map(\.pattern.filter.text)
    }

    /// If the broker is away during one reload, the next one must still unsubscribe.
    @Test func theTopicsOfEarlierConfigurationsAreRemembered() throws {
        var sessions = BrokerSessions(try configuration("mqtt://h", "i", "a/{action}", "b/{action}"))
        let second = try configuration("mqtt://h", "i", "b/{action}")
        #expect(try formerFilters(sessions, in: second) == ["a/+"])
        #expect(sessions.change(to: second).isEmpty)
        let third = try configuration("mqtts://H:9999", "i", "c/{action}")
        #expect(Set(try formerFilters(sessions, in: third)) == ["a/+", "b/+"])
        #expect(sessions.change(to: third).isEmpty)
        let fourth = try configuration("mqtt://h", "i", "a/{action}")
        #expect(Set(try formerFilters(sessions, in: fourth)) == ["b/+", "c/+"])
    }

    @Test func aSessionWithAnotherClientIDIsAbandoned() throws {
        var sessions = BrokerSessions(try configuration("mqtt://h", "i", "a/{action}"))
        let next = try configuration("mqtt://h", "j", "a/{action}")
        #expect(try formerFilters(sessions, in: next).isEmpty)
        let abandoned = sessions.change(to: next)
        #expect(abandoned.map(\.push.broker.host) == ["h"] && abandoned.map(\.isIDInUse) == [false])
        #expect(abandoned.first?.topics.map(\.pattern.filter.text) == ["a/+"])
        #expect(sessions.change(to: next).isEmpty)
    }

    /// Connecting with an id that is in use could end the connection of the running source.
    @Test func aSessionAtAnotherBrokerIsOnlyReported() throws {
        var sessions = BrokerSessions(try configuration("mqtt://h", "i", "a/{action}"))
        let abandoned = sessions.change(to: try configuration("mqtt://other", "i", "a/{action}"))
        #expect(abandoned.map(\.isIDInUse) == [true])
    }
}
