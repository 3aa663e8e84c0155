import ArgumentParser
import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// `subscribe --unsubscribe`.
@Suite(.timeLimit(.minutes(10))) struct UnsubscribeTests {
    private func subscribe(_ broker: Broker, _ arguments: String...) async throws -> CommandProcess.Finished {
        try await CommandProcess.run(["subscribe", broker.url, "--id", "worker-2"] + arguments)
    }

    /// Makes the session of the client `worker-2`.
    private func makeSession(_ broker: Broker, topics: [String]) async throws {
        let process = try CommandProcess(
            ["subscribe", broker.url, "--id", "worker-2", "--keep-session", "--log-level", "info"]
                + topics.flatMap { ["-t", $0] }
        )
        #expect(await process.errors.line(with: "subscribed to") != nil)
        process.signal(SIGTERM)
        await process.ends()
    }

    @Test func aSharedSubscriptionEndsAndItsMessagesStay() async throws {
        try await Broker.with { broker in
            try await makeSession(broker, topics: ["$share/g/orders/{id}", "news"])
            try await broker.publish("1", to: "orders/a")
            let ended = try await subscribe(broker, "--unsubscribe", "-t", "orders/{id}", "--share", "g")
            #expect(ended.status == 0 && ended.output.isEmpty)
            #expect(
                ended.errors == [
                    #"signalbox: unsubscribed from 1 topic filter; the broker keeps the session "worker-2" and its waiting messages for 1h"#
                ]
            )
            try await broker.publish("2", to: "orders/a")
            try await broker.publish("3", to: "news")
            let waiting = try await subscribe(broker, "--keep-session", "-t", "news", "-v", "-C", "2", "-W", "5m")
            #expect(waiting.output == ["orders/a 1", "news 3"])
        }
    }

    @Test(arguments: [[], ["--v311"]])
    func withoutATopicTheSessionEnds(options: [String]) async throws {
        try await Broker.with { broker in
            try await makeSession(broker, topics: ["news"])
            let end = ["subscribe", broker.url, "--id", "worker-2", "--unsubscribe"] + options
            let ended = try await CommandProcess.run(end)
            #expect(ended.status == 0)
            #expect(
                ended.errors == [
                    #"signalbox: the session "worker-2" has ended, and its waiting messages are gone"#
                ]
            )
            let missing = try await CommandProcess.run(end)
            #expect(missing.status == CommandStatus.notAsExpected.rawValue)
            #expect(missing.errors == [#"signalbox: the broker has no session "worker-2": check --id"#])
        }
    }

    @Test func anUnreachableBrokerIsReported() async throws {
        let (socket, port) = try LoopbackPort.refusing()
        defer { close(socket) }
        let end = ["subscribe", "mqtt://127.0.0.1:\(port)", "--id", "worker-2", "--unsubscribe"]
        let refused = try await CommandProcess.run(end)
        #expect(refused.status == CommandStatus.unavailable.rawValue && refused.errors.count == 1)
        let late = try await CommandProcess.run(end + ["--retry", "--timeout", "1s", "--log-level", "critical"])
        #expect(late.status == CommandStatus.timeout.rawValue)
        #expect(
            late.errors == [
                "signalbox: timed out: the broker has not confirmed the end of the session's messages"
            ]
        )
    }

    @Test(arguments: [
        [], ["--id", "i", "-C", "1"], ["--id", "i", "--keep-session"], ["--id", "i", "--retained-only"],
        ["--id", "i", "--raw"], ["--id", "i", "--session-expiry", "1h", "--v311"], ["--id", "i", "--will-topic", "t"],
    ])
    func conflictingOptionsAreRefused(options: [String]) {
        #expect(throws: (any Error).self) {
            try SignalboxTool.parseAsRoot(["subscribe", "mqtt://127.0.0.1", "--unsubscribe"] + options)
        }
    }
}
