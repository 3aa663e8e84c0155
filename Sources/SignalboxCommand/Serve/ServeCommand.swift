import ArgumentParser
import Logging

/// `signalbox serve --config FILE`.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Runs a configuration that has a WebSocket server, and says where it listens.",
        discussion: """
            What 'run' does, and one line on stderr for each source of kind 'chat' when it listens: \
            listening on ws://127.0.0.1:8080/ (source chat). It does not begin without such a source, and ends when one \
            cannot listen. By default only this machine can reach a chat; docs/configuration.md says who may connect.

            EXAMPLE
              signalbox serve --config examples/tour/chat.yaml --port 8080

            \(CommandStatus.help([
                .done, .usage, .invalidConfiguration, .unreadableFile, .unavailable, .cannotListen,
                .outputFailed, .drainIncomplete, .deadLettersLost, .interrupted, .terminated,
            ]))
            """
    )

    @Option(help: ArgumentHelp("The configuration, a YAML file.", valueName: "file"))
    var config: String

    @Option(help: "Listen on this numeric address, whatever the one chat of the configuration says.")
    var address: String?

    @Option(help: "Listen on this port, whatever the one chat of the configuration says; 0 for any that is free.")
    var port: UInt16?

    @Flag(help: "Write what became of each arrival to stdout, one JSON object a line, with the dead letters.")
    var outcomes = false

    @Option(help: "What is told on stderr: \(LogChoice.allCases.map(\.rawValue).joined(separator: ", ")).")
    var logLevel = LogChoice.info

    func run() async throws {
        let request = ServeRequest(address: address, port: port)
        let status = await RunProgram.status(
            file: config,
            outcomes: outcomes,
            serving: request,
            logger: logLevel.logger
        )
        throw status.code
    }
}
