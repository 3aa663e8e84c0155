import BrokerKit
import Foundation
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
                        mqtt:
                          broker: ['mqtt://127.0.0.1:\(port)', 'ws://127.0.0.1:\(port)/m']
                          client_id: away
                          topics: [ { pattern: 'a/{action}' } ]
                    """
                ]
            }
            try await trial.reload(more.text, until: "configuration reloaded")
            let line = try await trial.reload(first.text, until: "keeps its subscriptions")
            let command = """
                signalbox subscribe 'mqtt://127.0.0.1:\(port)' 'ws://127.0.0.1:\(port)/m' --id 'away' --unsubscribe \
                -t 'a/+' --session-expiry 1h
                """
            #expect(
                line.contains(command) && line.contains("source=away") && line.contains("cannot reach"),
                "\(line)"
            )
            #expect(await trial.end().status == 0)
        }
    }
}
