import ArgumentParser
import Logging

/// `signalbox run CONFIG`.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Receives from the sources of a configuration and calls its plugins.",
        discussion: """
            Runs until SIGTERM or SIGINT, or until all sources have ended, then drains: what has begun or waits is finished within 'drain_limit', what \
            is left is not acknowledged and comes again. A second signal ends at once. \
            SIGHUP reads the configuration anew, while messages flow; when it is not right the old one goes on. \
            docs/configuration.md describes the file.

            EXAMPLE
              signalbox run examples/tour/signalbox.yaml --outcomes

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .cannotListen,
                .outputFailed, .drainIncomplete, .deadLettersLost, .interrupted, .terminated,
            ]))
            """
    )

    @Argument(help: ArgumentHelp("The configuration, a YAML file.", valueName: "config"))
    var file: String

    @Flag(help: "Write what became of each arrival to stdout, one JSON object a line, with the dead letters.")
    var outcomes = false

    @Option(help: "What is told on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.info

    func run() async throws {
        let status = await RunProgram.status(file: file, outcomes: outcomes, logger: logLevel.logger)
        throw status.code
    }
}
