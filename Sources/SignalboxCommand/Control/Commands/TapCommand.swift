import ArgumentParser
import Logging
import SignalboxCore
import Synchronization

/// The command `signalbox tap`.
struct TapCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "tap",
        abstract: "Shows the actions of a running program as they are settled.",
        usage: "signalbox tap [<options>]",
        discussion: """
            One JSON object per action: receivedAt, source, action, id, plugin, facts about the sender, outcome, reason, \
            detail, and seconds from the receipt to the outcome. The program never waits for this command. Actions for which \
            there is no time are left out: the next line has their number as 'skipped', and stderr says it at the end.

            EXAMPLES
              signalbox tap --outcome failed
              signalbox tap --source push --action payment --bodies -C 1

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
                .timeout, .protocolBroken,
            ], of: "tap"))
            """
    )

    @Option(help: ArgumentHelp("Only from this source.", valueName: "name"))
    var source: String?

    @Option(help: "Only this action.")
    var action: String?

    @Option(help: "Only with this outcome: \(TapSelection.outcomes.joined(separator: ", ")).")
    var outcome: String?

    @Option(help: "Only one in this many.")
    var sample = 1

    @Option(help: ArgumentHelp("At most this many a second.", valueName: "number"))
    var rate = 1_000

    @Flag(help: "Show the bodies, too.")
    var bodies = false

    @OptionGroup var limits: LimitArguments

    @OptionGroup var program: ControlArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws { _ = try selection() }

    func perform() async throws -> CommandStatus {
        let (client, output, selection) = (try program.client(), StandardOutput(), try selection())
        try client.send(.tap(selection))
        let progress = TapProgress()
        let status = try await ControlSession(output: output).run { [limits] in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await TapCommand.show(client, output, progress, limits.count) }
                if let timeout = limits.timeout {
                    group.addTask { if (try? await Task.sleep(for: timeout)) != nil { progress.expire() } }
                }
                try await group.next()
                group.cancelAll()
            }
        }
        return result(status, progress.state)
    }

    /// Shows lines until there are enough, or the program has ended.
    private static func show(
        _ client: ControlClient,
        _ output: StandardOutput,
        _ progress: TapProgress,
        _ count: Int?
    ) async throws {
        while let line = try await client.next() {
            try await output.write(line)
            let skipped = (try? ControlClient.decoded(line, as: Skipped.self))?.skipped ?? 0
            if progress.add(skipped: skipped) == count { return }
        }
    }

    private func result(_ status: CommandStatus, _ state: TapProgress.State) -> CommandStatus {
        if state.skipped > 0 {
            DiagnosticOutput.shared.report(
                "\(state.skipped) actions were left out, and \(state.shown) shown; narrow the selection or raise --rate",
                level: .warning
            )
        }
        guard limits.isSet, state.shown < limits.required else { return status }
        return state.isExpired ? .timeout : .notAsExpected
    }

    private struct Skipped: Decodable {
        let skipped: Int?
    }

    private func selection() throws -> TapSelection {
        var selection = TapSelection()
        selection.source = try source.map { name in try ValidationError.checked("--source") { try SourceName(name) } }
        selection.action = try action.map { name in try ValidationError.checked("--action") { try ActionName(name) } }
        selection.outcome = outcome
        guard outcome.map(TapSelection.outcomes.contains) ?? true else {
            throw ValidationError("--outcome is one of \(TapSelection.outcomes.joined(separator: ", "))")
        }
        (selection.sample, selection.rate, selection.showsBodies) = (sample, rate, bodies)
        guard TapSelection.samples.contains(sample) else {
            throw ValidationError("--sample must be from 1 to \(TapSelection.samples.upperBound)")
        }
        guard TapSelection.rates.contains(rate) else {
            throw ValidationError("--rate must be from 1 to \(TapSelection.rates.upperBound)")
        }
        return selection
    }
}

/// What a `tap` has shown so far. Safe to use from any thread.
private final class TapProgress: Sendable {
    struct State {
        var shown = 0
        var skipped = 0
        /// Whether `--timeout` has expired.
        var isExpired = false
    }

    private let mutex = Mutex(State())

    var state: State { mutex.withLock { $0 } }

    func expire() { mutex.withLock { $0.isExpired = true } }

    /// Counts an action that was shown.
    ///
    /// - Parameter skipped: The number of actions that were left out before it.
    /// - Returns: The number of actions that were shown.
    func add(skipped: Int) -> Int {
        mutex.withLock { state in
            state.shown += 1
            state.skipped += skipped
            return state.shown
        }
    }
}
