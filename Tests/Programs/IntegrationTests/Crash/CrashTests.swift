import BrokerKit
import Foundation
import Testing

@Suite struct CrashTests {
    /// A client that acknowledges a message before the program handles it loses this message. Here the acknowledgement
    /// leaves only after the plugin has returned.
    @Test(.timeLimit(.minutes(10)))
    func aMessageInFlightIsRedeliveredAfterACrash() async throws {
        try await Workspace.with { workspace in
            let hanging = try workspace.configuration(
                "hanging",
                plugins: workspace.plugin("work", use: "suspend", more: "timeout: 60s")
            )
            let first = try await workspace.run(hanging)
            try await workspace.broker.publish(#"{"order":42}"#, to: "push/kiosk/work")
            try await first.errors.untilLine(containing: "'suspend' never returns")
            first.signal(SIGKILL)
            #expect(await first.unexpectedEnd(-SIGKILL) == nil)

            let log = workspace.file("actions.jsonl").path
            let working = try workspace.configuration(
                "working",
                plugins: workspace.plugin("work", use: "file", more: "path: \(log)")
            )
            let second = try await workspace.run(working)
            try await second.output.untilLine(containing: "handled")
            second.signal(SIGTERM)
            #expect(await second.unexpectedEnd() == nil)
            let lines = try workspace.lines(of: "actions.jsonl")
            #expect(lines.count == 1)
            #expect(lines.first?.contains(#""order":42"#) == true)
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func aHandledMessageIsNotRedelivered() async throws {
        try await Workspace.with { workspace in
            let log = workspace.file("actions.jsonl").path
            let configuration = try workspace.configuration(
                "working",
                plugins: workspace.plugin("work", use: "file", more: "path: \(log)")
            )
            let first = try await workspace.run(configuration)
            try await workspace.broker.publish(#"{"order":1}"#, to: "push/kiosk/work")
            try await first.output.untilLine(containing: "handled")
            first.signal(SIGTERM)
            #expect(await first.unexpectedEnd() == nil)
            let second = try await workspace.run(configuration)
            try await workspace.broker.publish(#"{"order":2}"#, to: "push/kiosk/work")
            try await second.output.untilLine(containing: "handled")
            second.signal(SIGTERM)
            #expect(await second.unexpectedEnd() == nil)
            await second.untilRead()
            #expect(second.output.lines.count == 1)
            #expect(try workspace.lines(of: "actions.jsonl").count == 2)
        }
    }
}

@Suite struct AcknowledgedMessageTests {
    /// SIGNALBOX_RESTART_MESSAGES raises the count for manual runs: 100000 takes some minutes.
    private static var count: Int {
        ProcessInfo.processInfo.environment["SIGNALBOX_RESTART_MESSAGES"].flatMap { Int($0) } ?? 20_000
    }

    @Test(.timeLimit(.minutes(10)))
    func acknowledgedMessagesAreHandledAcrossABrokerRestart() async throws {
        let options = BrokerOptions(lines: ["max_inflight_messages 1000", "set_tcp_nodelay true"])
        try await Workspace.with(options) { workspace in
            let log = workspace.file("handled.jsonl").path
            let plugins = [
                workspace.plugin("log", use: "file", more: "path: \(log)"), workspace.plugin("sentinel", use: "print"),
            ]
            let configuration = try workspace.configuration("restart", plugins: plugins.joined(separator: "\n"))
            let run = try await workspace.run(configuration, outcomes: false)
            let half = AcknowledgedMessageTests.count / 2
            #expect(try await publisher(workspace, first: 1, count: half).status() == 0)
            let second = try publisher(workspace, first: half + 1, count: AcknowledgedMessageTests.count - half)
            await workspace.broker.stop()
            try await workspace.broker.restart()
            #expect(await second.status() == 0)
            // The broker sends in order: when this message arrives, the others have arrived, and a stop waits for them.
            try await workspace.broker.publish("{}", to: "push/numbers/sentinel")
            try await run.output.untilLine(containing: "sentinel")
            run.signal(SIGTERM)
            #expect(await run.unexpectedEnd() == nil)
            let acknowledged = Set(try workspace.lines(of: "sent-1.txt") + workspace.lines(of: "sent-\(half + 1).txt"))
            let handled = try numbers(in: workspace)
            #expect(acknowledged.count == AcknowledgedMessageTests.count)
            #expect(acknowledged.isSubset(of: Set(handled)))
            let again = handled.count - Set(handled).count
            print(
                "broker restart: \(acknowledged.count) acknowledged, \(handled.count) handled, \(again) of them redelivered"
            )
        }
    }

    private func publisher(_ workspace: Workspace, first: Int, count: Int) throws -> RunningProgram {
        try workspace.publisher(to: "push/numbers/log", payload: #"{"number":"{n}"}"#, first: first, count: count)
    }

    private func numbers(in workspace: Workspace) throws -> [String] {
        try workspace.lines(of: "handled.jsonl").compactMap { line in
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return (object?["body"] as? [String: Any])?["number"] as? String
        }
    }
}

/// Three real processes share one subscription. Each has a session and its own fixed client id.
@Suite struct ScaleOutTests {
    private static let names = ["worker-1", "worker-2", "worker-3"]

    @Test(.timeLimit(.minutes(10)))
    func restartingAKilledWorkerLosesNoMessage() async throws {
        try await Workspace.with { workspace in
            let first = try await started(workspace, Self.names[0])
            let second = try await started(workspace, Self.names[1], ["--die", "plugin", "--die-at", "50"])
            let third = try await started(workspace, Self.names[2])
            #expect(try await workspace.publisher(to: "crash/log", first: 1, count: 1_000).status() == 0)
            #expect(await second.status() == -SIGKILL)
            // Messages for the group reach the other workers or wait for the absent one; no other client gets them.
            #expect(try await workspace.publisher(to: "crash/log", first: 1_001, count: 1_000).status() == 0)
            let again = try await started(workspace, Self.names[1])
            #expect(try await workspace.publisher(to: "crash/log", first: 2_001, count: 1_000).status() == 0)
            for (name, worker) in zip(Self.names, [first, again, third]) { try await end(workspace, name, worker) }
            var handled: Set<String> = []
            for name in Self.names {
                let lines = try workspace.lines(of: "\(name).txt")
                #expect(!lines.isEmpty, "\(name) has had no part of the work")
                handled.formUnion(lines)
            }
            #expect(handled == Set((1...3_000).map(String.init)))
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func noMessageWaitsForAWorkerThatUnsubscribed() async throws {
        try await Workspace.with { workspace in
            let first = try await started(workspace, Self.names[0])
            let second = try await started(workspace, Self.names[1])
            let third = try await started(workspace, Self.names[2])
            let publisher = try workspace.publisher(to: "crash/log", first: 1, count: 2_000)
            try await third.leave()
            // The marker arrives behind the messages that the broker already had for this worker.
            try await end(workspace, Self.names[2], third)
            #expect(await publisher.status() == 0)
            #expect(try await workspace.publisher(to: "crash/log", first: 2_001, count: 100).status() == 0)
            for (name, worker) in zip(Self.names, [first, second]) { try await end(workspace, name, worker) }
            let handled = try Self.names.flatMap { try workspace.lines(of: "\($0).txt") }
            #expect(Set(handled) == Set((1...2_100).map(String.init)))
        }
    }

    private func started(_ workspace: Workspace, _ name: String, _ more: [String] = []) async throws -> CommandProcess {
        try await CommandProcess.subscribedWorker(
            [
                "--broker", workspace.broker.url, "--client-id", name, "--filter", "$share/workers/crash/{action}",
                "--own",
                "own/\(name)/{action}", "--log", workspace.file("\(name).txt").path,
            ] + more
        )
    }

    /// Ends a worker after all messages that the broker has for it.
    private func end(_ workspace: Workspace, _ name: String, _ worker: CommandProcess) async throws {
        #expect(try await workspace.publisher(to: "own/\(name)/marker", first: 0, count: 1).status() == 0)
        #expect(await worker.status() == 0)
    }
}
