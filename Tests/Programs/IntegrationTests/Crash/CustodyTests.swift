import BrokerKit
import Foundation
import Testing

/// A plugin that holds one message of many. Only this message and its acknowledgement wait, and those behind it.
@Suite struct CustodyTests {
    private static let count = 250
    private static let held = 125

    /// The log of this broker has a line for each packet.
    private static let options = BrokerOptions(lines: ["max_inflight_messages 1000", "log_type all"])

    @Test(.timeLimit(.minutes(10)))
    func theOthersAreHandledAndTheAcknowledgementsStopBeforeAHeldMessage() async throws {
        try await Workspace.with(Self.options) { workspace in
            let holding = ["--hold-message", "\(Self.held)", "--report-at", "\(Self.count - 1)"]
            let first = try await CommandProcess.subscribedWorker(arguments(workspace) + holding)
            let publisher = try workspace.publisher(to: "crash/log", first: 1, count: Self.count)
            #expect(await publisher.status() == 0)
            try await first.output.untilLine(containing: "handled \(Self.count - 1)")
            let others = (1...Self.count).filter { $0 != Self.held }
            #expect(Set(try numbers(workspace)) == Set(others))
            // The identifiers of a new session begin with 1 and follow the order of the messages.
            while !Task.isCancelled, try acknowledgements(workspace).count < Self.held - 1 { await Task.yield() }
            first.signal(SIGKILL)
            #expect(await first.status() == -SIGKILL)
            #expect(try acknowledgements(workspace) == Array(1..<Self.held))

            // The broker has kept the held message and all behind it, and redelivers nothing else.
            let second = try await CommandProcess.subscribedWorker(arguments(workspace))
            #expect(try await workspace.publisher(to: "crash/marker", first: 0, count: 1).status() == 0)
            #expect(await second.status() == 0)
            let redelivered = try numbers(workspace).dropFirst(others.count)
            #expect(redelivered.sorted() == Array(Self.held...Self.count))
        }
    }

    private func arguments(_ workspace: Workspace) -> [String] {
        [
            "--broker", workspace.broker.url, "--client-id", "custody", "--window", "\(Self.count)", "--concurrent",
            "4", "--log", workspace.file("handled.txt").path,
        ]
    }

    /// The numbers of the handled messages, in the order in which they were handled.
    private func numbers(_ workspace: Workspace) throws -> [Int] {
        try workspace.lines(of: "handled.txt").compactMap { Int($0) }
    }

    /// The packet identifiers that the broker has received acknowledgements for, in their order.
    private func acknowledgements(_ workspace: Workspace) throws -> [Int] {
        workspace.broker.log.split(separator: "\n").compactMap { line in
            let parts = line.components(separatedBy: "Received PUBACK from custody (Mid: ")
            return parts.count == 2 ? Int(parts[1].prefix { $0.isNumber }) : nil
        }
    }
}
