import ArgumentParser
import BrokerKit
import Foundation
import Testing

@testable import SignalboxCommand

/// The options of a will.
@Suite(.timeLimit(.minutes(10))) struct BrokerWillTests {
    @Test func theBrokerPublishesTheWillOfAKilledSubscriber() async throws {
        try await Broker.with { broker in
            let watch = try await BrokerTrial.subscriber(broker.url, "-t", "state", "--raw", "--count", "1")
            let will = ["--will-topic", "state", "--will-body", "gone", "--will-retain"]
            let process = try CommandProcess(["subscribe", broker.url, "-t", "x", "--log-level", "info"] + will)
            #expect(await process.errors.line(with: "subscribed to") != nil)
            process.signal(SIGKILL)
            #expect(await watch.output.rest() == ["gone"])
            await watch.ends()
            let later = try await CommandProcess.run(["subscribe", broker.url, "-t", "state", "--raw", "--count", "1"])
            #expect(later.output == ["gone"])
        }
    }

    /// The broker waits for a second, and then publishes the will with its properties.
    @Test func aWillHasADelayAndProperties() async throws {
        try await Broker.with { broker in
            let watch = try await BrokerTrial.subscriber(
                broker.url,
                "-t",
                "state",
                "--count",
                "1",
                "-F",
                "%p %P %C %R %D %E"
            )
            let will = [
                "--will-topic", "state", "--will-body", "gone", "--will-delay", "1s", "--will-expiry", "90m",
                "--will-content-type", "text/plain", "--will-response-topic", "back", "--will-correlation-data", "id",
                "--will-property", "a=b", "--will-text",
            ]
            let session = ["--id", "willing", "--keep-session", "--log-level", "info"]
            let process = try CommandProcess(["subscribe", broker.url, "-t", "x"] + session + will)
            #expect(await process.errors.line(with: "subscribed to") != nil)
            process.signal(SIGKILL)
            let line = await watch.output.rest().first ?? ""
            #expect(line.hasPrefix("gone a:b text/plain back id "), "\(line)")
            await watch.ends()
        }
    }

    /// The client that deletes retained messages has no will, so the delay is not its concern.
    @Test func aWillMayHaveADelayWhileRetainedMessagesAreDeleted() async throws {
        try await Broker.with { broker in
            try await broker.publish("old", to: "x", retain: true)
            let options = ["--remove-retained", "--count", "1", "--raw", "--id", "willing", "--keep-session"]
            let session = ["--will-topic", "state", "--will-delay", "1s"]
            let finished = try await CommandProcess.run(["subscribe", broker.url, "-t", "x"] + options + session)
            #expect(finished.status == 0 && finished.output == ["old"], "\(finished)")
        }
    }

    @Test(arguments: [
        (["--will-retain"], "add --will-topic"), (["--will-topic", "a/+"], "the will's topic"),
        (["--will-text"], "--will-text requires a will; add --will-topic"),
        (["--will-delay", "5s"], "--will-delay requires a will; add --will-topic"),
        (["--will-topic", "a", "--will-delay", "5s"], "--will-delay requires a session"),
        (
            ["--will-topic", "a", "--will-delay", "5s", "--id", "i", "--keep-session", "--v311"],
            "--will-delay requires MQTT 5"
        ),
        (["--will-topic", "a", "--will-property", "a=b", "--v311"], "--will-property requires MQTT 5; remove --v311"),
        (["--will-topic", "a", "--will-expiry", "1s", "--v311"], "--will-expiry requires MQTT 5; remove --v311"),
        (["--will-topic", "a", "--will-text", "--v311"], "--will-text requires MQTT 5; remove --v311"),
        (["--will-topic", "a", "--will-delay", "500ms"], "--will-delay must be a whole number of seconds"),
        (["--will-topic", "a", "--will-property", "a"], "expected NAME=VALUE"),
        (["--will-topic", "a", "--will-response-topic", "a/#"], "the will: the response topic"),
        (["--will-topic", "a\u{1}"], "--will-topic has control characters"),
    ])
    func wrongCombinationsAreRefused(_ arguments: [String], _ advice: String) {
        #expect {
            _ = try SignalboxTool.parseAsRoot(["subscribe", "mqtt://h", "-t", "x"] + arguments)
        } throws: {
            SignalboxTool.message(for: $0).contains(advice)
        }
    }
}
