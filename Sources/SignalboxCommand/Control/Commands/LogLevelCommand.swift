import ArgumentParser
import Logging

/// The command `signalbox log-level`.
struct LogLevelCommand: ReportingCommand {
    static let configuration = CommandConfiguration(
        commandName: "log-level",
        abstract: "Shows or changes the level of the lines that a running program logs.",
        usage: "signalbox log-level [<options>] [<level>]",
        discussion: """
            The change takes effect at once, and lasts until the program ends. One JSON object: logLevel, and after a change \
            the former level.

            EXAMPLES
              signalbox log-level
              signalbox log-level debug

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .outputFailed, .protocolBroken,
                .refused,
            ], of: "log-level"))
            """
    )

    @Argument(help: "The new level: \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")).")
    var level: Logger.Level?

    @OptionGroup var program: ControlArguments

    @OptionGroup(title: "Diagnostics")
    var diagnostics: DiagnosticArguments

    func perform() async throws -> CommandStatus {
        try await StandardOutput().write(
            try await program.client().ask(.logLevel(level), within: ControlClient.answerLimit)
        )
        return .done
    }
}
