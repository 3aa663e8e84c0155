import ArgumentParser

/// The command `signalbox status`.
struct StatusCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Shows how a running program does: sources, plugins, dead letters, memory.",
        usage: "signalbox status [<options>]",
        discussion: """
            Asks the program through its control socket. Rates are averages over the last ten seconds, and durations those \
            of the last minute. The exit status says whether the program is ready: all sources are connected, no call is \
            stalled, and the store has room.

            EXAMPLES
              signalbox status
              signalbox status --config examples/durable/after.yaml --json
              signalbox status --watch

            \(CommandStatus.help([
                .done, .notAsExpected, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed,
                .protocolBroken,
            ], of: "status"))
            """
    )

    @Flag(help: "Show the status again and again, until a signal.")
    var watch = false

    @Option(
        help: ArgumentHelp("With --watch, the time between two: \(TimeoutOption.form).", valueName: "time"),
        transform: TimeoutOption.duration
    )
    var interval: Duration?

    @Flag(help: "JSON, also on a terminal.")
    var json = false

    @OptionGroup var program: ControlArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func validate() throws {
        guard interval == nil || watch else { throw ValidationError("--interval requires --watch") }
        guard interval.map({ $0 >= .milliseconds(100) }) ?? true else {
            throw ValidationError("--interval must be at least 100ms")
        }
    }

    func perform() async throws -> CommandStatus {
        let (client, output) = (try program.client(), StandardOutput())
        guard watch else {
            let line = try await client.ask(.status(history: false), within: ControlClient.answerLimit)
            let status: ProgramStatus = try ControlClient.decoded(line)
            try await output.write(json || !output.isTerminal ? line : StatusText(status).bytes)
            return status.isReady ? .done : .notAsExpected
        }
        return try await ControlSession(output: output).run { try await show(client, output) }
    }

    private func show(_ client: ControlClient, _ output: StandardOutput) async throws {
        let isText = output.isTerminal && !json
        while !Task.isCancelled {
            let line = try await client.ask(.status(history: false), within: ControlClient.answerLimit)
            let text = isText ? TerminalScreen.home + StatusText(try ControlClient.decoded(line)).bytes : line
            try await output.write(text)
            try? await Task.sleep(for: interval ?? .seconds(1))
        }
    }
}
