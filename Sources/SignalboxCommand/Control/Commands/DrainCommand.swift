import ArgumentParser
import Synchronization

/// The command `signalbox drain`.
struct DrainCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Ends a running program as SIGTERM does, and waits until it has ended.",
        usage: "signalbox drain [<options>]",
        discussion: """
            The program accepts nothing new, and running and waiting calls finish within 'drain_limit'. One JSON object: \
            isDrained, isClean, the number of arrivals with each outcome, unsettled, deadLetters and notReturned.

            With --leave-groups, a worker that goes for good first gives back its shared subscriptions \
            ($share/GROUP/FILTER), and handles what the broker has already assigned to it, for at most 'drain_limit'. \
            Keep another worker: the messages of a group without workers are lost. The JSON object then also has groups, \
            each with its source and state: left, messagesLeft or subscribed.

            EXAMPLES
              signalbox drain --config signalbox.yaml
              signalbox drain --leave-groups

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed, .protocolBroken,
                .refused, .drainIncomplete,
            ], of: "drain"))
            """
    )

    @OptionGroup var program: ControlArguments

    @Flag(help: "First give back the shared subscriptions of MQTT sources to the other workers.")
    var leaveGroups = false

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        let client = try program.client()
        try client.send(.drain(leavesGroups: leaveGroups))
        let unsettled = Atomic<Int>(0)
        let text: @Sendable () -> String = { "draining, \(unsettled.load(ordering: .relaxed)) unsettled" }
        return try await ProgressLine().during(text) { () async -> Result<CommandStatus, any Error> in
            do { return .success(try await wait(for: client, unsettled)) } catch { return .failure(error) }
        }.get()
    }

    private func wait(for client: ControlClient, _ unsettled: borrowing Atomic<Int>) async throws -> CommandStatus {
        while let line = try await client.next() {
            let progress: Progress = try ControlClient.decoded(line)
            unsettled.store(progress.unsettled, ordering: .relaxed)
            guard progress.isDrained else { continue }
            try await StandardOutput().write(line)
            // An older program does not know the request, and a signal may have ended this one first.
            let isLeft = !leaveGroups || progress.groups?.allSatisfy { $0.state == "left" } ?? false
            return progress.isClean ?? true && isLeft ? .done : .drainIncomplete
        }
        throw client.ended
    }

    private struct Progress: Decodable {
        let isDrained: Bool
        let isClean: Bool?
        let unsettled: Int
        let groups: [Group]?

        struct Group: Decodable {
            let state: String
        }
    }
}
